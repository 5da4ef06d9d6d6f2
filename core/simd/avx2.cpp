// The set of kernels for AVX2 and FMA.
#include "simd/avx2.hpp"

#if defined(__AVX2__) && defined(__FMA__)

namespace {
#include "simd/loops.hpp"
#include "simd/series_loops.hpp"
}  // namespace

namespace splinear::simd {

const Kernels* avx2_kernels() {
    static constexpr Kernels kernels{
        "avx2",        avx2::score,        avx2::add,          avx2::sum,      avx2::decide,
        norm_loops,    avx2::min_products, avx2::hat_products, avx2::products, fourier_loops,
        hermite_loops, avx2::code_tile,    KnotForm::sections};
    return &kernels;
}

}  // namespace splinear::simd

#else

namespace splinear::simd {

const Kernels* avx2_kernels() { return nullptr; }

}  // namespace splinear::simd

#endif
