// The kernel of minima, K(x, y) = sum_j min(x_j, y_j), of all pairs of rows.
#pragma once

#include <cstddef>

#include "rows/matrix_view.hpp"

namespace splinear {

// Rows of X that are worked on together.
inline constexpr std::ptrdiff_t min_kernel_rows = 192;

// Writes the rows of K from `begin` on, min_kernel_rows of them or as many as there are, to out,
// which is all of K: X.n_rows x Y.n_rows, row by row.
template <class Real>
void fill_min_kernel(const MatrixView<Real>& X, const MatrixView<Real>& Y, std::ptrdiff_t begin,
                     int n_threads, double* out);

// The same for Y = X: of those rows what lies in and left of the block on the diagonal, and its
// mirror image. The calls for all rows, from the first on, fill K.
template <class Real>
void fill_min_kernel(const MatrixView<Real>& X, std::ptrdiff_t begin, int n_threads, double* out);

}  // namespace splinear
