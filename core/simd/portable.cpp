#include "simd/kernels.hpp"

namespace {
#include "simd/loops.hpp"
#include "simd/series_loops.hpp"
// After what they use.
#include "simd/fence_loops.hpp"

void decide(const Shape& shape, const splinear::simd::BinMap& map, const float* tables,
            const float* const* x, std::size_t n_rows, float* out) {
    if (map.trees != nullptr) return decide_fences(shape, map, tables, x, n_rows, out);
    decide_loops(shape, map, tables, x, n_rows, out);
}

}  // namespace

namespace splinear::simd {

const Kernels& portable_kernels() {
    static constexpr Kernels kernels{
        "portable",    score_loops,        add_loops,          sum_loops,      decide,
        norm_loops,    min_products_loops, hat_products_loops, products_loops, fourier_loops,
        hermite_loops, code_tile_loops,    KnotForm::fences};
    return kernels;
}

}  // namespace splinear::simd
