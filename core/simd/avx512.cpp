// The set of kernels for AVX-512 (F, BW, DQ, VL).
#include "simd/avx512.hpp"

#include "simd/avx2.hpp"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)

namespace {
#include "simd/loops.hpp"
#include "simd/series_loops.hpp"
}  // namespace

namespace splinear::simd {

const Kernels* avx512_kernels() {
    // What scatters to tables or fetches from them entry by entry gains nothing by longer vectors.
    static constexpr Kernels kernels{
        "avx512",      avx512::score,        avx512::add,          avx2::sum,        avx512::decide,
        avx512::norm,  avx512::min_products, avx512::hat_products, avx512::products, fourier_loops,
        hermite_loops, avx512::code_tile,    KnotForm::columns};
    return &kernels;
}

}  // namespace splinear::simd

#else

namespace splinear::simd {

const Kernels* avx512_kernels() { return nullptr; }

}  // namespace splinear::simd

#endif
