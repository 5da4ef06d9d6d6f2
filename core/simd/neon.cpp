// The set of kernels for NEON, which every 64-bit ARM processor has.
#include "simd/neon.hpp"

#if defined(__aarch64__) && defined(__ARM_NEON)

namespace {
#include "simd/loops.hpp"
#include "simd/series_loops.hpp"
}  // namespace

namespace splinear::simd {

const Kernels* neon_kernels() {
    static constexpr Kernels kernels{
        "neon",          neon::score,   neon::add,          neon::sum,
        neon::decide,    norm_loops,    neon::min_products, neon::hat_products,
        neon::products,  fourier_loops, hermite_loops,      nullptr,
        KnotForm::fences};
    return &kernels;
}

}  // namespace splinear::simd

#else

namespace splinear::simd {

const Kernels* neon_kernels() { return nullptr; }

}  // namespace splinear::simd

#endif
