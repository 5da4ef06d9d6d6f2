#include "simd/kernels.hpp"

namespace {
#include "simd/loops.hpp"
}

namespace splinear::simd {

const Kernels& portable_kernels() {
    static constexpr Kernels kernels{"portable",   score_loops, add_loops,
                                     decide_loops, norm_loops,  min_products_loops};
    return kernels;
}

}  // namespace splinear::simd
