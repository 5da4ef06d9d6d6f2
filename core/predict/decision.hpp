// Scores of rows given by their values: what predict uses.
#pragma once

#include <cstdint>
#include <span>

#include "model/axis.hpp"
#include "model/basis/any.hpp"
#include "rows/matrix_view.hpp"
#include "rows/sparse_rows.hpp"

namespace splinear {

// out[i * n_outputs + k] = intercepts[k] + sum_j coef_kj' B(x_ij), x_ij being in column columns[j]
// of X; coef is n_outputs x n_features x (basis size + 1), and its last entry the value of a
// missing x_ij, a NaN. NaN for a row with an infinite value. B-splines of float32 values are scored
// in single precision, by vector instructions (see simd/); everything else, and rows with a NaN, in
// double precision. Throws std::invalid_argument for arrays of the wrong size.
template <class Real>
void decide(const AnyBasis& basis, const MatrixView<Real>& X, std::span<const std::int64_t> columns,
            const Axes& axes, std::span<const double> coef, std::span<const double> intercepts,
            int n_threads, double* out);

// The same for a sparse matrix. at_zero (n_outputs x n_features) holds the curves' values at zero,
// which a value that is stored replaces and the intercepts are to include already; empty: all are
// zero.
template <class Real>
void decide_sparse(const AnyBasis& basis, const SparseView<Real>& X, const Axes& axes,
                   std::span<const double> coef, std::span<const double> at_zero,
                   std::span<const double> intercepts, int n_threads, double* out);

}  // namespace splinear
