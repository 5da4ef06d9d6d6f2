// Surfaces over pairs of features: scores, sums and Hessian blocks over all rows.
//
// A feature is a chain of nodes. A row's value is a position on it: node k is at position k, and
// values between nodes are interpolated. A surface is a table T of n_first x n_second numbers,
// bilinear in every cell, so that a row has at most four nonzero functions:
//
//     f(p, q) = (1-a)(1-b) T[k,l] + (1-a)b T[k,l+1] + a(1-b) T[k+1,l] + ab T[k+1,l+1],
//
// where (k, l) is the cell of the positions (p, q) and (a, b) the fractions within it. A row with a
// negative position does not contribute to the surface. All sums are in double precision and, per
// surface, in the order of the rows, so that no result depends on n_threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace splinear {

struct Surface {
    std::int64_t first, second;      // indices of the two features
    std::int64_t n_first, n_second;  // their numbers of nodes

    std::size_t size() const { return static_cast<std::size_t>(n_first * n_second); }
};

// The positions of the rows, n_features x n_rows; not owned. Single precision for training, to save
// memory; double precision for predictions, where rounding could make a score that must be monotone
// decrease.
template <class Real>
struct Positions {
    std::span<const Real> values;
    std::size_t n_features, n_rows;

    const Real* of(std::int64_t feature) const {
        return values.data() + static_cast<std::size_t>(feature) * n_rows;
    }
};

// Bands of a surface's Hessian block: nodes that share a cell have indices that differ by 0, 1,
// n_second - 1, n_second or n_second + 1.
inline constexpr std::size_t n_surface_bands = 5;

// Surfaces over the same rows. Immutable, so that threads may share it.
template <class Real>
class SurfaceRows {
public:
    // Throws std::invalid_argument if a position is beyond the last node, a feature does not exist,
    // or a chain has fewer than two nodes.
    SurfaceRows(Positions<Real> positions, std::vector<Surface> surfaces);

    std::size_t n_rows() const { return positions_.n_rows; }
    std::size_t n_nodes() const { return offsets_.back(); }  // of all surfaces together

    // The sum of all surfaces at every row: n_outputs x n_rows. tables: n_outputs x n_nodes, the
    // surfaces one after the other.
    std::vector<double> score(std::size_t n_outputs, std::span<const double> tables,
                              int n_threads) const;

    // sum_i r_i B_i per output, where B_i are the functions of row i: n_outputs x n_nodes. r:
    // n_outputs x n_rows.
    std::vector<double> sum(std::size_t n_outputs, std::span<const double> r, int n_threads) const;

    // The diagonal blocks of sum_i h_i B_i B_i' per output, one per surface, as bands: n_outputs x
    // n_nodes x 5. Entry [node, p] is that of the node and its neighbor in band p. h: n_outputs x
    // n_rows.
    std::vector<double> blocks(std::size_t n_outputs, std::span<const double> h,
                               int n_threads) const;

private:
    template <class Add>
    void for_each_surface(std::size_t n_outputs, int n_threads, const Add& add) const;

    Positions<Real> positions_;
    std::vector<Surface> surfaces_;
    std::vector<std::size_t> offsets_;  // start of each surface's nodes, and their total number
};

extern template class SurfaceRows<float>;
extern template class SurfaceRows<double>;

}  // namespace splinear
