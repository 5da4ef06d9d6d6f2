// A view of a strided matrix, and checks of row and column numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "simd/clones.hpp"
#include "support/checks.hpp"

namespace splinear {

// Strides are in elements.
template <class Real>
struct MatrixView {
    const Real* data;
    std::ptrdiff_t n_rows;
    std::ptrdiff_t n_columns;
    std::ptrdiff_t row_stride;
    std::ptrdiff_t column_stride;

    double operator()(std::ptrdiff_t row, std::ptrdiff_t column) const noexcept {
        return static_cast<double>(data[row * row_stride + column * column_stride]);
    }
};

// Prefetches some columns of the row that will be read a few rows after rows[i]: with rows in
// random order, every one would be a cache miss. Neighboring columns share cache lines. Always
// inlined, because the compiler would remove a call without visible effects.
template <class Real>
SPLINEAR_INLINE void ask_ahead([[maybe_unused]] const MatrixView<Real>& X,
                               [[maybe_unused]] std::span<const std::int64_t> rows,
                               [[maybe_unused]] std::size_t i,
                               [[maybe_unused]] std::span<const std::int64_t> columns) noexcept {
#ifdef __GNUC__
    constexpr std::size_t rows_ahead = 8;
    constexpr std::size_t per_line = 64 / sizeof(Real);
    if (i + rows_ahead >= rows.size()) return;
    const Real* row = X.data + rows[i + rows_ahead] * X.row_stride;
    for (std::size_t j = 0; j < columns.size(); j += per_line)
        __builtin_prefetch(row + columns[j] * X.column_stride);
    __builtin_prefetch(row + columns.back() * X.column_stride);
#endif
}

// Throws std::invalid_argument unless there is one column per feature, each less than n_columns.
inline void check_columns(std::span<const std::int64_t> columns, std::size_t n_features,
                          std::ptrdiff_t n_columns) {
    must_be("the number of columns, one per feature,", columns.size(), n_features);
    for (const std::int64_t column : columns)
        must_be_one_of("column", column, static_cast<std::size_t>(n_columns));
}

// Throws std::invalid_argument unless all row numbers are less than n_rows.
inline void check_rows(std::span<const std::int64_t> numbers, std::ptrdiff_t n_rows) {
    for (const std::int64_t i : numbers) must_be_one_of("row", i, static_cast<std::size_t>(n_rows));
}

}  // namespace splinear
