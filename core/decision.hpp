// Scores of rows given by their values: what predict uses.
#pragma once

#include "axis.hpp"
#include "basis/any.hpp"
#include "matrix_view.hpp"

namespace splinear {

// out[i] = intercept + sum_j coef_j' B(x_ij); coef is n_features x basis size. NaN for a row with a
// value that is not finite. B-splines of float32 values are scored in single precision, by vector
// instructions (see simd/); everything else in double precision.
template <class Real>
void decide(const AnyBasis& basis, const MatrixView<Real>& X, const Axes& axes, const double* coef,
            double intercept, int n_threads, double* out);

}  // namespace splinear
