#include "simd/vector.hpp"

#include "simd/clones.hpp"

namespace splinear::simd {

SPLINEAR_CLONES void axpy(double factor, const double* x, double* y, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

}  // namespace splinear::simd
