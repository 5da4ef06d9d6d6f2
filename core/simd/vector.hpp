// Vector operations in double precision.
#pragma once

#include <cstddef>

namespace splinear::simd {

// y += factor x. The same to the bit on every processor.
void axpy(double factor, const double* x, double* y, std::size_t n);

}  // namespace splinear::simd
