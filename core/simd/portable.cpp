#include "simd/kernels.hpp"

namespace {
#include "simd/loops.hpp"
#include "simd/series_loops.hpp"
}  // namespace

namespace splinear::simd {

const Kernels& portable_kernels() {
    static constexpr Kernels kernels{
        "portable",     score_loops,   add_loops,          sum_loops,
        decide_loops,   norm_loops,    min_products_loops, hat_products_loops,
        products_loops, fourier_loops, hermite_loops,      nullptr,
        false};
    return kernels;
}

}  // namespace splinear::simd
