// Surfaces over pairs of features: what primal methods do with them over all rows.
//
// A feature is a chain of nodes, and a row stands on it at a position: node k is position k, and
// between two nodes a value is interpolated. So a surface of n_first x n_second nodes is bilinear
// in every cell, and a row has at most four functions that are not zero:
//
//     f(p, q) = (1-a)(1-b) T[k,l] + (1-a)b T[k,l+1] + a(1-b) T[k+1,l] + ab T[k+1,l+1],
//
// (k, l) being the cell and (a, b) the place in it. A negative position is nowhere: such a row has
// no function of that surface. All sums are in double precision, surface by surface in the order of
// the rows, so that no result depends on the number of threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace splinear {

// One surface: two features by their numbers, and their nodes.
struct Surface {
    std::int64_t first, second;
    std::int64_t n_first, n_second;

    std::size_t size() const { return static_cast<std::size_t>(n_first * n_second); }
};

// Where the rows stand: (n_features, n_rows), row by row. In single precision for training, where
// there are many; in double for predictions, as a sum of terms may have to rise.
template <class Real>
struct Positions {
    std::span<const Real> values;
    std::size_t n_features, n_rows;

    const Real* of(std::int64_t feature) const {
        return values.data() + static_cast<std::size_t>(feature) * n_rows;
    }
};

// Neighbors of a node in a cell, by the distance of their numbers: 0, 1, n_second - 1, n_second,
// n_second + 1.
inline constexpr std::size_t n_surface_bands = 5;

// Surfaces over rows. Throws std::invalid_argument if a position lies outside of its nodes, if
// there is no such feature, or if a chain has fewer than two nodes.
template <class Real>
class SurfaceRows {
public:
    SurfaceRows(Positions<Real> positions, std::vector<Surface> surfaces);

    std::size_t n_rows() const { return positions_.n_rows; }
    std::size_t n_nodes() const { return offsets_.back(); }  // of all surfaces

    // The sum over surfaces for every row: n_outputs x n_rows. `tables` are n_outputs x n_nodes.
    std::vector<double> score(std::size_t n_outputs, std::span<const double> tables,
                              int n_threads) const;

    // sum_i r_i B_i for every row r of n_outputs x n_rows: n_outputs x n_nodes.
    std::vector<double> sum(std::size_t n_outputs, std::span<const double> r, int n_threads) const;

    // The blocks of sum_i h_i B_i B_i' on the diagonal, by bands: n_outputs x n_nodes x 5. Entry
    // [node, p] is that of the node and its neighbor p.
    std::vector<double> blocks(std::size_t n_outputs, std::span<const double> h,
                               int n_threads) const;

private:
    template <class Add>
    void for_each_surface(std::size_t n_outputs, int n_threads, const Add& add) const;

    Positions<Real> positions_;
    std::vector<Surface> surfaces_;
    std::vector<std::size_t> offsets_;  // of nodes, and their number at the end
};

extern template class SurfaceRows<float>;
extern template class SurfaceRows<double>;

}  // namespace splinear
