// A strided matrix that somebody else owns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "support/checks.hpp"

namespace splinear {

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

// Throws std::invalid_argument unless there is one column per feature, each of a matrix of
// n_columns.
inline void check_columns(std::span<const std::int64_t> columns, std::size_t n_features,
                          std::ptrdiff_t n_columns) {
    must_be("the number of columns, one per feature,", columns.size(), n_features);
    for (const std::int64_t column : columns)
        must_be_one_of("column", column, static_cast<std::size_t>(n_columns));
}

// Throws std::invalid_argument unless all of these are numbers of n_rows rows.
inline void check_rows(std::span<const std::int64_t> numbers, std::ptrdiff_t n_rows) {
    for (const std::int64_t i : numbers) must_be_one_of("row", i, static_cast<std::size_t>(n_rows));
}

}  // namespace splinear
