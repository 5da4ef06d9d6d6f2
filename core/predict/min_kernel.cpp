#include "predict/min_kernel.hpp"

#include <algorithm>

#include "simd/minima.hpp"
#include "support/aligned.hpp"
#include "support/pieces.hpp"

namespace splinear {
namespace {

constexpr auto tile = static_cast<std::size_t>(min_kernel_rows);  // rows of X and of Y
constexpr std::size_t chunk = 128;  // features; a tile's values and sums fit the second cache
static_assert(chunk % simd::minima_depth == 0);

// Puts the values of the rows from `begin` and the features from `first` on to the places that
// place(row, feature) names.
template <class Real, class Place>
void read(const MatrixView<Real>& X, std::ptrdiff_t begin, std::ptrdiff_t first,
          AlignedDoubles& out, const Place& place) {
    const std::ptrdiff_t n_rows = std::min(min_kernel_rows, X.n_rows - begin);
    const auto n = std::min(static_cast<std::ptrdiff_t>(chunk), X.n_columns - first);
    std::fill(out.begin(), out.end(), 0.0);  // what is missing counts as 0 on both sides
    for (std::ptrdiff_t a = 0; a < n_rows; ++a)
        for (std::ptrdiff_t k = 0; k < n; ++k)
            out[place(static_cast<std::size_t>(a), static_cast<std::size_t>(k))] =
                X(begin + a, first + k);
}

// K for one tile of rows of X and one of Y.
class Tile {
public:
    template <class Real>
    Tile(const MatrixView<Real>& X, std::ptrdiff_t row, const MatrixView<Real>& Y,
         std::ptrdiff_t column)
        : row_(row),
          column_(column),
          n_rows_(std::min(min_kernel_rows, X.n_rows - row)),
          n_columns_(std::min(min_kernel_rows, Y.n_rows - column)),
          sums_(tile * tile) {
        AlignedDoubles x(tile * chunk);
        AlignedDoubles y(tile * chunk);
        for (std::ptrdiff_t first = 0; first < X.n_columns; first += chunk) {
            read(X, row, first, x, [](std::size_t a, std::size_t k) { return a * chunk + k; });
            read(Y, column, first, y, [](std::size_t b, std::size_t k) { return k * tile + b; });
            add(x, y, std::min(chunk, static_cast<std::size_t>(X.n_columns - first)));
        }
    }

    // Into a matrix of `width` columns.
    void store(double* out, std::ptrdiff_t width) const noexcept {
        for (std::ptrdiff_t a = 0; a < n_rows_; ++a)
            std::copy_n(&sums_[index(a, 0)], n_columns_, out + (row_ + a) * width + column_);
    }

    void store_mirrored(double* out, std::ptrdiff_t width) const noexcept {
        for (std::ptrdiff_t b = 0; b < n_columns_; ++b)
            for (std::ptrdiff_t a = 0; a < n_rows_; ++a)
                out[(column_ + b) * width + row_ + a] = sums_[index(a, b)];
    }

private:
    static std::size_t index(std::ptrdiff_t a, std::ptrdiff_t b) noexcept {
        return static_cast<std::size_t>(a * min_kernel_rows + b);
    }

    // A few features for all rows: their values of Y stay in the nearest cache.
    void add(const AlignedDoubles& x, const AlignedDoubles& y, std::size_t n) noexcept {
        const auto n_rows = static_cast<std::size_t>(n_rows_);
        for (std::size_t k = 0; k < n; k += simd::minima_depth)
            for (std::size_t a = 0; a < n_rows; ++a)
                simd::add_minima(&x[a * chunk + k], &y[k * tile], tile, &sums_[a * tile]);
    }

    std::ptrdiff_t row_;
    std::ptrdiff_t column_;
    std::ptrdiff_t n_rows_;
    std::ptrdiff_t n_columns_;
    AlignedDoubles sums_;
};

// task(column) for the tiles of the first `end` columns.
template <class Task>
void over_tiles(std::ptrdiff_t end, int n_threads, const Task& task) {
    parallel_pieces(0, end, min_kernel_rows, n_threads,
                    [&](std::ptrdiff_t column, std::ptrdiff_t) { task(column); });
}

}  // namespace

template <class Real>
void fill_min_kernel(const MatrixView<Real>& X, const MatrixView<Real>& Y, std::ptrdiff_t begin,
                     int n_threads, double* out) {
    over_tiles(Y.n_rows, n_threads,
               [&](std::ptrdiff_t column) { Tile(X, begin, Y, column).store(out, Y.n_rows); });
}

// Left of the diagonal: the mirror image then lies in rows that were written to before, so that new
// memory is asked for bit by bit and not all of it for the first rows.
template <class Real>
void fill_min_kernel(const MatrixView<Real>& X, std::ptrdiff_t begin, int n_threads, double* out) {
    over_tiles(begin + 1, n_threads, [&](std::ptrdiff_t column) {
        const Tile products(X, begin, X, column);
        products.store(out, X.n_rows);
        if (column != begin) products.store_mirrored(out, X.n_rows);
    });
}

template void fill_min_kernel<float>(const MatrixView<float>&, const MatrixView<float>&,
                                     std::ptrdiff_t, int, double*);
template void fill_min_kernel<double>(const MatrixView<double>&, const MatrixView<double>&,
                                      std::ptrdiff_t, int, double*);
template void fill_min_kernel<float>(const MatrixView<float>&, std::ptrdiff_t, int, double*);
template void fill_min_kernel<double>(const MatrixView<double>&, std::ptrdiff_t, int, double*);

}  // namespace splinear
