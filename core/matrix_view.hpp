// A strided matrix that somebody else owns.
#pragma once

#include <cstddef>

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

}  // namespace splinear
