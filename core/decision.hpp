// Scores of rows given by their values: what predict uses.
#pragma once

#include <span>

#include "axis.hpp"
#include "basis/any.hpp"
#include "matrix_view.hpp"
#include "sparse_rows.hpp"

namespace splinear {

// out[i * n_outputs + k] = intercepts[k] + sum_j coef_kj' B(x_ij); coef is n_outputs x n_features x
// basis size. NaN for a row with a value that is not finite. B-splines of float32 values are scored
// in single precision, by vector instructions (see simd/); everything else in double precision.
template <class Real>
void decide(const AnyBasis& basis, const MatrixView<Real>& X, const Axes& axes,
            std::span<const double> coef, std::span<const double> intercepts, int n_threads,
            double* out);

// The same for a sparse matrix. at_zero (n_outputs x n_features) holds the curves' values at zero,
// which a non-zero value replaces and the intercepts are to include already; empty: all are zero.
template <class Real>
void decide_sparse(const AnyBasis& basis, const SparseView<Real>& X, const Axes& axes,
                   std::span<const double> coef, std::span<const double> at_zero,
                   std::span<const double> intercepts, int n_threads, double* out);

}  // namespace splinear
