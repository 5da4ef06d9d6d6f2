// The set of kernels for AVX-512 (F, BW, DQ, VL).
#include "simd/avx512.hpp"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)

namespace {
#include "simd/loops.hpp"
#include "simd/series_loops.hpp"
}  // namespace

namespace splinear::simd {

const Kernels* avx512_kernels() {
    static constexpr Kernels kernels{"avx512",       avx512::score, avx512::add,          sum_loops,
                                     avx512::decide, avx512::norm,  avx512::min_products, nullptr,
                                     nullptr,        fourier_loops, hermite_loops};
    return &kernels;
}

}  // namespace splinear::simd

#else

namespace splinear::simd {

const Kernels* avx512_kernels() { return nullptr; }

}  // namespace splinear::simd

#endif
