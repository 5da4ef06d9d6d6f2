#include "simd/clones.hpp"
#include "simd/kernels.hpp"
#include "simd/knot_tree.hpp"

namespace {
#include "simd/loops.hpp"
#include "simd/series_loops.hpp"
// After what they use.
#include "simd/fence_loops.hpp"
#include "simd/tile_coding.hpp"
// After those.
#include "simd/fence_coding.hpp"

void decide(const Shape& shape, const splinear::simd::BinMap& map, const float* tables,
            const float* const* x, std::size_t n_rows, float* out) {
    if (shape.degree == 1) return decide_fences(shape, map, tables, x, n_rows, out);
    decide_loops(shape, map, tables, x, n_rows, out);
}

}  // namespace

namespace splinear::simd {

// As coding.cpp does for features without knots; codes are the same on every processor.
SPLINEAR_CLONES void code_tile(const CodeMap& map, std::size_t j, std::size_t n,
                               const float* const* x, std::uint16_t* const* out,
                               std::uint64_t* doubts) {
    code_tile_by<FenceCoding>(map, j, n, x, out, doubts);
}

const Kernels& portable_kernels() {
    static constexpr Kernels kernels{
        "portable",    score_loops,        add_loops,          sum_loops,      decide,
        norm_loops,    min_products_loops, hat_products_loops, products_loops, fourier_loops,
        hermite_loops, code_tile,          KnotForm::fences};
    return kernels;
}

}  // namespace splinear::simd
