// The plain loops, compiled for AVX2.
#include "simd/kernels.hpp"

#if defined(__AVX2__) && defined(__FMA__)

namespace {
#include "simd/loops.hpp"
#include "simd/series_loops.hpp"
}  // namespace

namespace splinear::simd {

const Kernels* avx2_kernels() {
    static constexpr Kernels kernels{
        "avx2",     score_loops,        add_loops,      sum_loops,     decide_loops,
        norm_loops, min_products_loops, products_loops, fourier_loops, hermite_loops};
    return &kernels;
}

}  // namespace splinear::simd

#else

namespace splinear::simd {

const Kernels* avx2_kernels() { return nullptr; }

}  // namespace splinear::simd

#endif
