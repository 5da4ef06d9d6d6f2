// Codes of values by AVX-512; lanes are rows.
#include "simd/avx512.hpp"
#include "simd/clones.hpp"
#include "simd/knot_tree.hpp"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)

#include <immintrin.h>

namespace {
#include "simd/avx512_knots.hpp"
#include "simd/tile_coding.hpp"

constexpr int n_vectors = n_coded / 16;

// Codes along a straight line, in double precision.
struct Line {
    __m512d prescale, lo, slope, rounding, last;
    __m512i nan;

    Line(const CodeMap& map, std::size_t j)
        : prescale(_mm512_set1_pd(map.prescale[j])),
          lo(_mm512_set1_pd(map.lo[j])),
          slope(_mm512_set1_pd(map.slope[j])),
          rounding(_mm512_set1_pd(map.rounding)),
          last(_mm512_set1_pd(map.last)),
          nan(_mm512_set1_epi32(map.nan)) {}

    // max() and min() give the second operand for a NaN.
    __m256i eight(__m256 x) const {
        const __m512d scaled = _mm512_mul_pd(_mm512_cvtps_pd(x), prescale);
        __m512d a = _mm512_mul_pd(_mm512_sub_pd(scaled, lo), slope);
        a = _mm512_add_pd(_mm512_max_pd(a, _mm512_setzero_pd()), rounding);
        return _mm512_cvttpd_epi32(_mm512_min_pd(a, last));
    }

    __m512i operator()(__m512 x) const {
        const __m256i low = eight(_mm512_castps512_ps256(x));
        const __m256i high = eight(_mm512_extractf32x8_ps(x, 1));
        const __m512i code = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
        return _mm512_mask_mov_epi32(code, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), nan);
    }
};

// Codes between knots, in single precision, and which of them that may have rounded otherwise than
// double precision would.
template <int Depth>
struct Knots {
    using Table = typename LeafTable<Depth>::Table;
    NodeTable<Depth> nodes;
    Table lower, per_unit, begin;
    __m512 first, last, rounding, doubt;
    __m512i nan;

    Knots(const CodeMap& map, const float* tree)
        : nodes(tree, map.depth),
          lower(tree + (1 << map.depth)),
          per_unit(tree + (2 << map.depth)),
          begin(tree + (3 << map.depth)),
          first(_mm512_set1_ps(tree[1 << map.depth])),
          last(_mm512_set1_ps(tree[0])),
          rounding(_mm512_set1_ps(static_cast<float>(map.rounding))),
          doubt(_mm512_set1_ps(map.doubt)),
          nan(_mm512_set1_epi32(map.nan)) {}

    __m512 inside(__m512 x) const { return _mm512_min_ps(_mm512_max_ps(x, first), last); }

    __m512i code(__m512 x, __m512 inside, __m512i leaf, __mmask16& doubtful) const {
        const __m512 from = _mm512_sub_ps(inside, lower[leaf]);
        const __m512 v = _mm512_add_ps(_mm512_mul_ps(from, per_unit[leaf]), rounding);
        const __m512 off = _mm512_abs_ps(_mm512_reduce_ps(v, _MM_FROUND_TO_NEAREST_INT));
        doubtful = _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(off, doubt, _CMP_LT_OQ), v,
                                           _mm512_set1_ps(0.25f), _CMP_GT_OQ);
        const __m512i code =
            _mm512_add_epi32(_mm512_castps_si512(begin[leaf]), _mm512_cvttps_epi32(v));
        return _mm512_mask_mov_epi32(code, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), nan);
    }
};

template <int Depth>
SPLINEAR_INLINE std::uint64_t code_between(const CodeMap& map, const float* tree, const float* x,
                                           __m512i out[n_vectors]) {
    const Knots<Depth> knots(map, tree);
    std::uint64_t doubts = 0;
    __m512 inside[n_vectors];
    __m512i leaf[n_vectors];
    for (int v = 0; v < n_vectors; ++v) inside[v] = knots.inside(_mm512_load_ps(x + 16 * v));
    knots.nodes.template descend<n_vectors>(inside, leaf);
    for (int v = 0; v < n_vectors; ++v) {
        __mmask16 doubtful;
        out[v] = knots.code(_mm512_load_ps(x + 16 * v), inside[v], leaf[v], doubtful);
        doubts |= static_cast<std::uint64_t>(doubtful) << (16 * v);
    }
    return doubts;
}

inline std::uint64_t code_column(const CodeMap& map, std::size_t j, const float* x,
                                 __m512i out[n_vectors]) {
    if (map.trees[j] != nullptr) {
        switch (map.depth) {
            case 4: return code_between<4>(map, map.trees[j], x, out);
            case 5: return code_between<5>(map, map.trees[j], x, out);
            case 6: return code_between<6>(map, map.trees[j], x, out);
            default: return code_between<deep>(map, map.trees[j], x, out);
        }
    }
    const Line line(map, j);
    for (int v = 0; v < n_vectors; ++v) out[v] = line(_mm512_load_ps(x + 16 * v));
    return 0;
}

inline __mmask32 there_are(std::size_t n) {
    return n >= tile ? ~__mmask32{0} : (__mmask32{1} << n) - 1;
}

struct Coding {
    static void load(const float* const* x, std::size_t j, std::size_t n, Columns& out) {
        for (int half = 0; half < tile; half += 16) {
            const auto have = static_cast<__mmask16>(there_are(n) >> half);
            for (int a = 0; a < n_coded; a += 16) {
                __m512i in[16];
                __m512i turned[16];
                for (int i = 0; i < 16; ++i)
                    in[i] = _mm512_maskz_loadu_epi32(have, x[a + i] + j + half);
                transpose(in, turned);
                for (int i = 0; i < 16; ++i) _mm512_store_si512(out.at[half + i] + a, turned[i]);
            }
        }
    }

    template <bool IsOdd>
    static std::uint64_t code(const CodeMap& map, std::size_t j, const float* x,
                              std::uint32_t* pairs) {
        __m512i codes[n_vectors];
        const std::uint64_t doubts = code_column(map, j, x, codes);
        for (int v = 0; v < n_vectors; ++v) {
            std::uint32_t* to = pairs + 16 * v;
            if constexpr (IsOdd)
                codes[v] = _mm512_or_si512(_mm512_load_si512(to), _mm512_slli_epi32(codes[v], 16));
            _mm512_store_si512(to, codes[v]);
        }
        return doubts;
    }

    static void store(const CodePairs& pairs, std::size_t n, std::uint16_t* const* out,
                      std::size_t j) {
        for (int a = 0; a < n_coded; a += 16) {
            __m512i in[16];
            __m512i turned[16];
            for (int i = 0; i < 16; ++i) in[i] = _mm512_load_si512(pairs.at[i] + a);
            transpose(in, turned);
            for (int i = 0; i < 16; ++i)
                _mm512_mask_storeu_epi16(out[a + i] + j, there_are(n), turned[i]);
        }
    }
};

}  // namespace

namespace splinear::simd::avx512 {

void code_tile(const CodeMap& map, std::size_t j, std::size_t n, const float* const* x,
               std::uint16_t* const* out, std::uint64_t* doubts) {
    code_tile_by<Coding>(map, j, n, x, out, doubts);
}

}  // namespace splinear::simd::avx512

#endif
