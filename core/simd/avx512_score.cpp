// Scores of codes by AVX-512; lanes are rows.
#include "simd/avx512.hpp"
#include "simd/clones.hpp"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)

#include <immintrin.h>

namespace {
#include "simd/avx512_tables.hpp"
// After what it uses.
#include "simd/avx512_pieces.hpp"

constexpr int n_vectors = 4;  // of rows that are scored together: a table is read once for them

// The codes of a tile of features, two of them in a lane.
struct Pairs {
    alignas(64) std::uint32_t at[16][16 * n_vectors];
};

// Turns the codes of `tile` features from j on, zero beyond the last feature.
template <int Vectors>
SPLINEAR_INLINE void load_pairs(const Code* const* codes, std::size_t j, std::size_t n_features,
                                Pairs& out) {
    for (int v = 0; v < Vectors; ++v) {
        __m512i pairs[16];
        load_tile(codes + 16 * v, j, n_features, pairs);
        for (int i = 0; i < 16; ++i) _mm512_store_si512(out.at[i] + 16 * v, pairs[i]);
    }
}

// Bins and fractions of the codes in one half of the lanes.
template <bool High>
struct Halves {
    __m128i bits;
    __m512i mask;
    float unit;  // of a fraction, in place

    explicit Halves(const Shape& shape)
        : bits(_mm_cvtsi32_si128(shape.fraction_bits + (High ? 16 : 0))),
          mask(_mm512_set1_epi32(((1 << shape.fraction_bits) - 1) << (High ? 16 : 0))),
          unit(1.0f /
               static_cast<float>(std::uint64_t{1} << (shape.fraction_bits + (High ? 16 : 0)))) {}

    // In the low bits: a lookup ignores those above.
    __m512i bin(__m512i pair) const {
        return High ? _mm512_srl_epi32(pair, bits) : _mm512_srl_epi16(pair, bits);
    }
    __m512 fraction(__m512i pair) const { return _mm512_cvtepi32_ps(_mm512_and_si512(pair, mask)); }
};

// sum_p c_p(bin) a^p of one feature, added to the totals of 16 rows each.
template <int Degree, class Length, bool High, int Vectors>
SPLINEAR_INLINE void add_feature(const Halves<High>& half, const Shape& shape, const float* table,
                                 const std::uint32_t* pairs, __m512* total) {
    const typename PiecesOf<Degree, Length>::Pieces pieces(table, half.unit,
                                                           Length::entries(shape));
    for (int v = 0; v < Vectors; ++v) {
        const __m512i pair = _mm512_load_si512(pairs + 16 * v);
        total[v] = pieces.add(total[v], half.bin(pair),
                              Degree == 0 ? _mm512_setzero_ps() : half.fraction(pair));
    }
}

template <int Degree, class Length, int Vectors>
void score_rows(const Shape& shape, const float* tables, const Code* const* codes,
                const Code* const* next, float* out) {
    const auto entries = static_cast<std::size_t>(Length::entries(shape));
    const Halves<false> low(shape);
    const Halves<true> high(shape);
    __m512 even[Vectors];
    __m512 odd[Vectors];
    for (int v = 0; v < Vectors; ++v) {
        even[v] = _mm512_loadu_ps(out + 16 * v);
        odd[v] = _mm512_setzero_ps();
    }
    for (std::size_t j = 0; j < shape.n_features; j += tile) {
        Pairs pairs;
        load_pairs<Vectors>(codes, j, shape.n_features, pairs);
        const float* table = tables + j * entries;
        for (std::size_t i = 0; i < 16; ++i, table += 2 * entries) {
            ask_ahead<Vectors>(codes, next, j, shape.n_features, i);
            add_feature<Degree, Length, false, Vectors>(low, shape, table, pairs.at[i], even);
            add_feature<Degree, Length, true, Vectors>(high, shape, table + entries, pairs.at[i],
                                                       odd);
        }
    }
    for (int v = 0; v < Vectors; ++v)
        _mm512_storeu_ps(out + 16 * v, _mm512_add_ps(even[v], odd[v]));
}

}  // namespace

namespace splinear::simd::avx512 {

void score(const Shape& shape, const float* tables, const Code* const* codes, std::size_t n_rows,
           float* out) {
    by_shape(shape, [&]<int Degree, class Length>(Choice<Degree, Length>) {
        in_blocks<n_vectors>(n_rows, [&]<int Vectors>(std::size_t a, std::size_t next) {
            score_rows<Degree, Length, Vectors>(shape, tables, codes + a,
                                                next < n_rows ? codes + next : nullptr, out + a);
        });
    });
}

}  // namespace splinear::simd::avx512

#endif
