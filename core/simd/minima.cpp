#include "simd/minima.hpp"

#include "simd/clones.hpp"

namespace splinear::simd {

SPLINEAR_CLONES void add_minima(const double* x, const double* y, std::size_t n,
                                double* __restrict sum) {
    for (std::size_t b = 0; b < n; ++b) {
        double total = sum[b];
        for (std::size_t k = 0; k < minima_depth; ++k) {
            const double other = y[k * n + b];
            total += x[k] < other ? x[k] : other;
        }
        sum[b] = total;
    }
}

}  // namespace splinear::simd
