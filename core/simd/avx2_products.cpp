// Products of embeddings by AVX2.
#include "simd/avx2.hpp"

#if defined(__AVX2__) && defined(__FMA__)

#include <immintrin.h>

namespace {
#include "simd/avx2_tables.hpp"

constexpr int most = splinear::simd::max_team;

// A tile of features of all rows, and their weights, 16 features of them at a time.
template <int Degree>
struct TeamTile {
    static constexpr int n_vectors = Degree == 0 ? 1 : 2 * Weights < Degree == 0 ? 1 : Degree > ::n;
    RowTile row[most];
    alignas(32) float weights[most][8 * n_vectors];

    void weigh(const Splitter& split, int first, std::size_t n_rows) {
        for (std::size_t a = 0; a < n_rows; ++a) {
            if constexpr (Degree == 0) {
                weights[a][0] = 1.0f;
            } else {
                const Code* fraction = row[a].fraction + first;
                const Weights<Degree> lower(split.fractions<0>(fraction));
                const Weights<Degree> upper(split.fractions<4>(fraction));
                for (int v = 0; v < n_vectors / 2; ++v) {
                    _mm256_store_ps(weights[a] + 8 * v, lower.w[v]);
                    _mm256_store_ps(weights[a] + 8 * v + 4 * n_vectors, upper.w[v]);
                }
            }
        }
    }

    // Those of feature f, one of the 16, side by side.
    const float* weights_of(std::size_t a, int f) const {
        constexpr int each = Degree == 0 ? 0 : Degree == 1 ? 2 : 4;
        const int in_lower_halves = f % 8 * each;  // which are 4 floats of 8
        return weights[a] + in_lower_halves / 4 * 8 + in_lower_halves % 4 +
               (each > 0 ? f / 8 * 4 : 0);
    }
};

// table <- variance L B(x) for one feature, of which w are the weights.
template <int Degree, class Length>
inline void embed(const Shape& shape, const float* smoother, float variance, int bin,
                  const float* w, float* table) {
    const int entries = Length::entries(shape);
    const __m256 factor = _mm256_set1_ps(variance);
    const float* row = smoother + bin * entries;
    for (int k = 0; k <= shape.n_basis; k += 8) {
        __m256 entry = _mm256_setzero_ps();
        if (smoother != nullptr)
            for (int p = 0; p <= Degree; ++p)
                entry = _mm256_fmadd_ps(_mm256_broadcast_ss(w + p),
                                        _mm256_load_ps(row + p * entries + k), entry);
        _mm256_store_ps(table + k, _mm256_mul_ps(entry, factor));
    }
    if (smoother == nullptr)
        for (int p = 0; p <= Degree; ++p) table[bin + p] = variance * w[p];
}

// The score of one row by the tables of 16 features, in parts.
template <int Degree, class Length>
inline __m256 score_parts(const Shape& shape, const float* table, const Code* bin,
                          const float* weights) {
    if constexpr (Degree == 0) {
        const int entries = Length::entries(shape);
        __m128 sum[4] = {};
        for (int f = 0; f < 16; f += 4)
            for (int k = 0; k < 4; ++k)
                sum[k] = _mm_add_ss(sum[k], _mm_load_ss(table + (f + k) * entries + bin[f + k]));
        const __m128 all = _mm_add_ss(_mm_add_ss(sum[0], sum[1]), _mm_add_ss(sum[2], sum[3]));
        return _mm256_zextps128_ps256(all);
    } else {
        constexpr int n = Weights<Degree>::n;
        __m256 total[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
        for (int e = 0; e < 2; ++e)
            for (int v = 0; v < n; ++v)
                total[v % 2] = _mm256_fmadd_ps(
                    _mm256_load_ps(weights + 8 * (e * n + v)),
                    fetch<Degree, Length, 8>(shape, table, bin, 4 * e, v), total[v % 2]);
        return _mm256_add_ps(total[0], total[1]);
    }
}

// The sums of 8 vectors.
inline __m256 sums_of(const __m256 v[8]) {
    const __m256 a = _mm256_hadd_ps(_mm256_hadd_ps(v[0], v[1]), _mm256_hadd_ps(v[2], v[3]));
    const __m256 b = _mm256_hadd_ps(_mm256_hadd_ps(v[4], v[5]), _mm256_hadd_ps(v[6], v[7]));
    return _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
}

// found[b][a] += the products of row b, which the tables of 16 features hold, with the rows a < b.
template <int Degree, class Length>
inline void score_earlier(const Shape& shape, const float* table, const TeamTile<Degree>& team,
                          int first, std::size_t b, float* found) {
    for (std::size_t a = 0; a < b; a += 8) {
        __m256 parts[8];
        for (std::size_t r = 0; r < 8; ++r)
            parts[r] = score_parts<Degree, Length>(shape, table, team.row[a + r].bin + first,
                                                   team.weights[a + r]);
        _mm256_store_ps(found + a, _mm256_add_ps(_mm256_load_ps(found + a), sums_of(parts)));
    }
}

// Every row in turn is written to tables of its own, 16 features at a time, and the rows before it
// are scored by them; what is known of those is computed once.
template <int Degree, class Length>
void products_shape(const Shape& shape, const float* smoother, const float* variance,
                    const Code* const* codes, std::size_t n_rows, float* out) {
    constexpr int longest = Length::most < most_in_tiles ? Length::most : most_in_tiles;
    const Splitter split(shape);
    TeamTile<Degree> team = {};
    alignas(64) float tables[16 * longest] = {};
    alignas(64) float found[most][most] = {};
    for (std::size_t j = 0; j < shape.n_features; j += tile) {
        for (std::size_t a = 0; a < n_rows; ++a)
            split.load(codes[a], j, shape.n_features, team.row[a]);
        for (int first = 0; first < tile; first += 16) {
            team.weigh(split, first, n_rows);
            for (std::size_t b = 1; b < n_rows; ++b) {
                for (int f = 0; f < 16; ++f) {
                    const std::size_t k = j + static_cast<std::size_t>(first + f);
                    embed<Degree, Length>(shape, smoother,
                                          k < shape.n_features ? variance[k] : 0.0f,
                                          team.row[b].bin[first + f], team.weights_of(b, f),
                                          tables + f * Length::entries(shape));
                }
                score_earlier<Degree, Length>(shape, tables, team, first, b, found[b]);
            }
        }
    }
    for (std::size_t b = 1; b < n_rows; ++b)
        for (std::size_t a = 0; a < b; ++a) out[a * n_rows + b] += found[b][a];
}

// 16 codes as whole numbers of 16 bits, for pairs.hpp.
struct Sixteen {
    using Ints = __m256i;
    using Floats = __m256;
    static constexpr std::size_t size = 16;

    static Ints load(const Code* at) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    }
    static Ints all(int v) { return _mm256_set1_epi16(static_cast<short>(v)); }
    static Ints nothing() { return _mm256_setzero_si256(); }
    static Floats no_floats() { return _mm256_setzero_ps(); }
    // Those of 16 numbers that are not below n.
    static Ints from(int n) {
        const Ints number = _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        return _mm256_cmpgt_epi16(number, all(n - 1));
    }
    static Ints both(Ints a, Ints b) { return _mm256_and_si256(a, b); }
    static Ints either(Ints a, Ints b) { return _mm256_or_si256(a, b); }
    static Ints without(Ints a, Ints b) { return _mm256_andnot_si256(b, a); }
    static Ints flip_sign(Ints a) { return _mm256_xor_si256(a, all(0x8000)); }
    static Ints plus(Ints a, Ints b) { return _mm256_add_epi16(a, b); }
    static Ints minus(Ints a, Ints b) { return _mm256_sub_epi16(a, b); }
    static Ints excess(Ints a, Ints b) { return _mm256_subs_epu16(a, b); }
    static Ints smaller(Ints a, Ints b) { return _mm256_min_epu16(a, b); }
    static Ints times(Ints a, Ints b) { return _mm256_mulhrs_epi16(a, b); }
    static Ints up(Ints a, int bits) { return _mm256_sll_epi16(a, _mm_cvtsi32_si128(bits)); }
    static Ints low_pairs(Ints a, Ints b) { return _mm256_unpacklo_epi16(a, b); }
    static Ints high_pairs(Ints a, Ints b) { return _mm256_unpackhi_epi16(a, b); }
    static Ints dot(Ints a, Ints b) { return _mm256_madd_epi16(a, b); }
    static Ints plus_wide(Ints a, Ints b) { return _mm256_add_epi32(a, b); }
    static Floats plus(Floats a, Ints b) { return _mm256_add_ps(a, _mm256_cvtepi32_ps(b)); }
    static void store(Ints a, std::int32_t* to) {
        _mm256_store_si256(reinterpret_cast<__m256i*>(to), a);
    }
    static float sum(Floats a) { return sum_of(a); }
};

#include "simd/pairs.hpp"

}  // namespace

namespace splinear::simd::avx2 {

void min_products(const Shape& shape, const Code* x, const Code* const* codes, std::size_t n_rows,
                  float* out) {
    if (shape.n_features >= 16)
        pairs<Minimum<Sixteen>>(shape, x, codes, n_rows, out);
    else
        min_products_loops(shape, x, codes, n_rows, out);
}

void hat_products(const Shape& shape, const Code* x, const Code* const* codes, std::size_t n_rows,
                  float* out) {
    if (shape.n_features >= 16 && shape.fraction_bits < 15)  // a bin fits a signed number
        pairs<Hats<Sixteen>>(shape, x, codes, n_rows, out);
    else
        hat_products_loops(shape, x, codes, n_rows, out);
}

void products(const Shape& shape, const float* smoother, const float* variance,
              const Code* const* codes, std::size_t n_rows, float* out) {
    if (shape.entries > most_in_tiles)
        return products_loops(shape, smoother, variance, codes, n_rows, out);
    by_shape(shape, [&]<int Degree, class Length>(Choice<Degree, Length>) {
        products_shape<Degree, Length>(shape, smoother, variance, codes, n_rows, out);
    });
}

}  // namespace splinear::simd::avx2

#endif
