// Codes of values by AVX2; lanes are rows.
#include "simd/avx2.hpp"
#include "simd/clones.hpp"
#include "simd/knot_tree.hpp"

#if defined(__AVX2__)

#include <immintrin.h>

namespace {
#include "simd/avx2_tables.hpp"
// After what it uses.
#include "simd/avx2_knots.hpp"
#include "simd/tile_coding.hpp"

constexpr int n_vectors = 4;  // that are coded together

inline __m256i unless_nan(__m256 x, __m256i code, __m256i nan) {
    return _mm256_blendv_epi8(code, nan, _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)));
}

// Codes along a straight line, in double precision.
struct Line {
    __m256d prescale, lo, slope, rounding, last;
    __m256i nan;

    Line(const CodeMap& map, std::size_t j)
        : prescale(_mm256_set1_pd(map.prescale[j])),
          lo(_mm256_set1_pd(map.lo[j])),
          slope(_mm256_set1_pd(map.slope[j])),
          rounding(_mm256_set1_pd(map.rounding)),
          last(_mm256_set1_pd(map.last)),
          nan(_mm256_set1_epi32(map.nan)) {}

    // max() and min() give the second operand for a NaN.
    __m128i four(__m128 x) const {
        const __m256d scaled = _mm256_mul_pd(_mm256_cvtps_pd(x), prescale);
        __m256d a = _mm256_mul_pd(_mm256_sub_pd(scaled, lo), slope);
        a = _mm256_add_pd(_mm256_max_pd(a, _mm256_setzero_pd()), rounding);
        return _mm256_cvttpd_epi32(_mm256_min_pd(a, last));
    }

    __m256i operator()(__m256 x) const {
        const __m128i low = four(_mm256_castps256_ps128(x));
        const __m128i high = four(_mm256_extractf128_ps(x, 1));
        return unless_nan(x, _mm256_set_m128i(high, low), nan);
    }
};

// Codes between knots, in single precision, and which of them that may have rounded otherwise than
// double precision would.
struct Knots {
    const float* tree;
    int depth;
    __m256 sure;  // how far from a whole number it is sure where to round
    __m256i nan;

    Knots(const CodeMap& map, std::size_t j)
        : tree(map.trees[j]),
          depth(map.depth),
          sure(_mm256_set1_ps(0.5f - map.doubt)),
          nan(_mm256_set1_epi32(map.nan)) {}

    template <int Sections>
    SPLINEAR_INLINE unsigned code(const float* x, __m256i out[n_vectors]) const {
        __m256 finite[n_vectors];
        for (int v = 0; v < n_vectors; ++v) finite[v] = made_finite(_mm256_load_ps(x + 8 * v));
        unsigned doubts = 0;
        const auto put = [&](int v, const __m256* record) SPLINEAR_INLINE_LAMBDA {
            unsigned doubtful;
            const __m256i code = one(finite[v], record, doubtful);
            out[v] = unless_nan(_mm256_load_ps(x + 8 * v), code, nan);
            doubts |= doubtful << (8 * v);
        };
        with_records<Sections, n_vectors>(tree, depth, finite, put);
        return doubts;
    }

private:
    // No knot is as large: see have_single_tree().
    static __m256 made_finite(__m256 x) {
        constexpr float most = 1e38f;
        return _mm256_min_ps(_mm256_max_ps(x, _mm256_set1_ps(-most)), _mm256_set1_ps(most));
    }

    SPLINEAR_INLINE __m256i one(__m256 x, const __m256* record, unsigned& doubtful) const {
        const __m256 from = _mm256_sub_ps(x, record[0]);
        const __m256 steps = _mm256_mul_ps(from, _mm256_blendv_ps(record[3], record[2], from));
        const __m256 whole = _mm256_round_ps(steps, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        const __m256 off = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), _mm256_sub_ps(steps, whole));
        doubtful = static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(off, sure, _CMP_GT_OQ)));
        return _mm256_cvttps_epi32(_mm256_add_ps(record[1], whole));
    }
};

constexpr int n_blocks = n_coded / (8 * n_vectors);

struct Coding {
    static void load(const float* const* x, std::size_t j, std::size_t n, Columns& out) {
        for (std::size_t eight = 0; eight < tile && eight < n; eight += 8) {
            const __m256i have = there_are(n - eight);
            for (int a = 0; a < n_coded; a += 8) {
                __m256 in[8];
                __m256 turned[8];
                for (int i = 0; i < 8; ++i) in[i] = _mm256_maskload_ps(x[a + i] + j + eight, have);
                transpose(in, turned);
                for (std::size_t i = 0; i < 8; ++i)
                    _mm256_store_ps(out.at[eight + i] + a, turned[i]);
            }
        }
    }

    template <bool IsOdd>
    static std::uint64_t code(const CodeMap& map, std::size_t j, const float* x,
                              std::uint32_t* pairs) {
        const auto put = [&](int a, __m256i code) {
            auto* to = reinterpret_cast<__m256i*>(pairs + a);
            if constexpr (IsOdd)
                code = _mm256_or_si256(_mm256_load_si256(to), _mm256_slli_epi32(code, 16));
            _mm256_store_si256(to, code);
        };
        if (map.trees[j] == nullptr) {
            const Line line(map, j);
            for (int a = 0; a < n_coded; a += 8) put(a, line(_mm256_load_ps(x + a)));
            return 0;
        }
        const Knots knots(map, j);
        return by_sections(map.sections, [&]<int Sections>(Number<Sections>) {
            std::uint64_t doubts = 0;
            for (int b = 0; b < n_blocks; ++b) {
                const int a = 8 * n_vectors * b;
                __m256i codes[n_vectors];
                doubts |= static_cast<std::uint64_t>(knots.code<Sections>(x + a, codes)) << a;
                for (int v = 0; v < n_vectors; ++v) put(a + 8 * v, codes[v]);
            }
            return doubts;
        });
    }

    static void store(const CodePairs& pairs, std::size_t n, std::uint16_t* const* out,
                      std::size_t j) {
        for (std::size_t half = 0; half < tile && half < n; half += 16)
            store_half(pairs.at + half / 2, n - half, out, j + half);
    }

private:
    // Of 16 features, of which there are n, row by row.
    static void store_half(const std::uint32_t (*pairs)[n_coded], std::size_t n,
                           std::uint16_t* const* out, std::size_t j) {
        for (int a = 0; a < n_coded; a += 8) {
            __m256 in[8];
            __m256 turned[8];
            for (int i = 0; i < 8; ++i)
                in[i] = _mm256_load_ps(reinterpret_cast<const float*>(pairs[i] + a));
            transpose(in, turned);
            for (int i = 0; i < 8; ++i) {
                std::uint16_t* to = out[a + i] + j;
                if (n >= 16) {
                    _mm256_storeu_ps(reinterpret_cast<float*>(to), turned[i]);
                    continue;
                }
                alignas(32) std::uint16_t all[16];
                _mm256_store_ps(reinterpret_cast<float*>(all), turned[i]);
                for (std::size_t k = 0; k < n; ++k) to[k] = all[k];
            }
        }
    }
};

}  // namespace

namespace splinear::simd::avx2 {

void code_tile(const CodeMap& map, std::size_t j, std::size_t n, const float* const* x,
               std::uint16_t* const* out, std::uint64_t* doubts) {
    code_tile_by<Coding>(map, j, n, x, out, doubts);
}

}  // namespace splinear::simd::avx2

#endif
