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

constexpr std::size_t chunk = 256;  // vectors of 16 features that are prepared at a time

// The place of a vector: the last one ends with the last feature.
inline std::size_t place(std::size_t i, std::size_t n_features) {
    return 16 * (i + 1) <= n_features ? 16 * i : n_features - 16;
}

// Which features of that vector the one before does not have.
inline __m256i not_seen(std::size_t i, std::size_t n_features) {
    const auto seen = static_cast<short>(16 * i - place(i, n_features));
    const __m256i number = _mm256_setr_epi16(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
    return _mm256_cmpgt_epi16(number, _mm256_set1_epi16(seen));
}

// sums[k] += those of row k, by the features from vector `first` on.
template <class Kind, std::size_t N>
inline void add_chunk(const Units& units, const Kind* x, std::size_t first, std::size_t n,
                      std::size_t n_features, const Code* const* codes, float* out) {
    typename Kind::Sum sums[N];
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t at = place(first + i, n_features);
        for (std::size_t k = 0; k < N; ++k) x[i].add(units, load_codes(codes[k] + at), sums[k]);
    }
    for (std::size_t k = 0; k < N; ++k) out[k] = sums[k].value(units, n);
}

// out[b] = the sum over features of what Kind says of x and y_b.
template <class Kind>
void add_pairs(const Shape& shape, const Code* x, const Code* const* codes, std::size_t n_rows,
               float* out) {
    const Units units(shape.fraction_bits);
    const std::size_t n_features = shape.n_features;
    const std::size_t n_vectors = (n_features + 15) / 16;
    double total[most] = {};
    for (std::size_t first = 0; first < n_vectors; first += chunk) {
        const std::size_t n = n_vectors - first < chunk ? n_vectors - first : chunk;
        Kind prepared[chunk];
        for (std::size_t i = 0; i < n; ++i) {
            const __m256i codes_of_x = load_codes(x + place(first + i, n_features));
            prepared[i].set(units, codes_of_x, not_seen(first + i, n_features));
        }
        float part[4];
        for (std::size_t b = 0; b < n_rows; b += 4) {
            const std::size_t n_some = n_rows - b < 4 ? n_rows - b : 4;
            if (n_some == 4)
                add_chunk<Kind, 4>(units, prepared, first, n, n_features, codes + b, part);
            for (std::size_t k = 0; k < n_some; ++k) {
                if (n_some < 4)
                    add_chunk<Kind, 1>(units, prepared, first, n, n_features, codes + b + k,
                                       part + k);
                total[b + k] += static_cast<double>(part[k]);
            }
        }
    }
    for (std::size_t b = 0; b < n_rows; ++b) out[b] = static_cast<float>(total[b]);
}

}  // namespace

namespace splinear::simd::avx2 {

void min_products(const Shape& shape, const Code* x, const Code* const* codes, std::size_t n_rows,
                  float* out) {
    if (shape.n_features >= 16)
        add_pairs<Minimum>(shape, x, codes, n_rows, out);
    else
        min_products_loops(shape, x, codes, n_rows, out);
}

void hat_products(const Shape& shape, const Code* x, const Code* const* codes, std::size_t n_rows,
                  float* out) {
    if (shape.n_features >= 16 && shape.fraction_bits < 15)  // a bin fits a signed number
        add_pairs<Hats>(shape, x, codes, n_rows, out);
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
