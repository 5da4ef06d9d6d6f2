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

using Parts = __m256;
constexpr std::size_t summed_together = 8;

inline void add_sums_of(const Parts* parts, float* found) {
    _mm256_store_ps(found, _mm256_add_ps(_mm256_load_ps(found), sums_of(parts)));
}

#include "simd/team_products.hpp"

constexpr std::size_t codes_in_vector = 16;

inline __m256i load_codes(const Code* at) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}

// What the next two compute from a row's codes, 16 features at a time.
struct Units {
    __m256i mask;
    __m256i one;  // a bin, or all but 2^-15 of it
    __m128i to_top;
    float unit;

    explicit Units(int bits)
        : mask(_mm256_set1_epi16(static_cast<short>((1 << bits) - 1))),
          one(_mm256_set1_epi16(static_cast<short>(bits < 15 ? 1 << bits : 32767))),
          to_top(_mm_cvtsi32_si128(15 - bits)),
          unit(1.0f / static_cast<float>(1 << bits)) {}
};

// min(x, y) + [same bin] (a a' - min(a, a')): with c the part of x's bin that lies before y, the
// smaller of y and (where that bin begins) + a c, whether y is before, in or behind it.
struct Minimum {
    __m256i begin;   // of x's bin
    __m256i factor;  // a times 2^15

    struct Sum {
        __m256i total = _mm256_setzero_si256();

        float value(const Units& units, std::size_t n) const {
            alignas(32) int parts[8];
            _mm256_store_si256(reinterpret_cast<__m256i*>(parts), total);
            std::int64_t all = static_cast<std::int64_t>(n) * (16 << 15);
            for (const int part : parts) all += part;
            return static_cast<float>(all) * units.unit;
        }
    };

    // keep: which features count.
    void set(const Units& units, __m256i x, __m256i keep) {
        const __m256i kept = _mm256_and_si256(x, keep);
        begin = _mm256_andnot_si256(units.mask, kept);
        factor = _mm256_sll_epi16(_mm256_and_si256(kept, units.mask), units.to_top);
    }

    // Numbers are moved down by 2^15 to fit a sign.
    void add(const Units& units, __m256i y, Sum& sum) const {
        const __m256i c = _mm256_min_epu16(_mm256_subs_epu16(y, begin), units.one);
        const __m256i inside = _mm256_add_epi16(begin, _mm256_mulhrs_epi16(factor, c));
        const __m256i moved =
            _mm256_xor_si256(_mm256_min_epu16(inside, y), _mm256_set1_epi16(-0x8000));
        const __m256i pairs = _mm256_madd_epi16(moved, _mm256_set1_epi16(1));
        sum.total = _mm256_add_epi32(sum.total, pairs);
    }
};

// (1 - a) h(y - begin) + a h(y - begin - 1) with h(t) = max(0, 1 - |t|).
struct Hats {
    __m256i begin;  // of x's bin
    __m256i end;
    __m256i low;  // 1 - a and a, in turn, of the features 0, ..., 3 and 8, ..., 11
    __m256i high;

    struct Sum {
        __m256 total = _mm256_setzero_ps();

        float value(const Units& units, std::size_t) const {
            return sum_of(total) * units.unit * units.unit;
        }
    };

    void set(const Units& units, __m256i x, __m256i keep) {
        begin = _mm256_andnot_si256(units.mask, x);
        end = _mm256_add_epi16(begin, units.one);
        const __m256i a = _mm256_and_si256(x, units.mask);
        const __m256i right = _mm256_and_si256(a, keep);
        const __m256i left = _mm256_and_si256(_mm256_sub_epi16(units.one, a), keep);
        low = _mm256_unpacklo_epi16(left, right);
        high = _mm256_unpackhi_epi16(left, right);
    }

    void add(const Units& units, __m256i y, Sum& sum) const {
        const __m256i left = hat(units, y, begin);
        const __m256i right = hat(units, y, end);
        const __m256i some = _mm256_madd_epi16(_mm256_unpacklo_epi16(left, right), low);
        const __m256i others = _mm256_madd_epi16(_mm256_unpackhi_epi16(left, right), high);
        sum.total = _mm256_add_ps(sum.total, _mm256_cvtepi32_ps(_mm256_add_epi32(some, others)));
    }

private:
    static __m256i hat(const Units& units, __m256i y, __m256i top) {
        const __m256i away = _mm256_or_si256(_mm256_subs_epu16(y, top), _mm256_subs_epu16(top, y));
        return _mm256_subs_epu16(units.one, away);
    }
};

// Which features of a vector are not among the first n_seen.
inline __m256i not_seen(std::size_t n_seen) {
    const __m256i number = _mm256_setr_epi16(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
    return _mm256_cmpgt_epi16(number, _mm256_set1_epi16(static_cast<short>(n_seen)));
}

#include "simd/code_pairs.hpp"

}  // namespace

namespace splinear::simd::avx2 {

void min_products(const Shape& shape, const Code* x, const Code* const* codes, std::size_t n_rows,
                  float* out) {
    min_pairs(shape, x, codes, n_rows, out);
}

void hat_products(const Shape& shape, const Code* x, const Code* const* codes, std::size_t n_rows,
                  float* out) {
    hat_pairs(shape, x, codes, n_rows, out);
}

void products(const Shape& shape, const float* smoother, const float* variance,
              const Code* const* codes, std::size_t n_rows, float* out) {
    team_products(shape, smoother, variance, codes, n_rows, out);
}

}  // namespace splinear::simd::avx2

#endif
