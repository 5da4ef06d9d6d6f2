// Scores by AVX2, of codes and of values.
#include "simd/avx2.hpp"

#if defined(__AVX2__) && defined(__FMA__)

#include <immintrin.h>

namespace {
#include "simd/avx2_tables.hpp"

// sum_f table_f' B(x_f) over the tile's features, added to total. Degree 0: some chains of
// additions side by side.
template <class Length>
inline __m256 add_steps(const Shape& shape, __m256 total, const float* table, const RowTile& row) {
    const int entries = Length::entries(shape);
    __m128 sum[4] = {};
    for (int i = 0; i < tile; i += 4)
        for (int k = 0; k < 4; ++k)
            sum[k] = _mm_add_ss(sum[k], _mm_load_ss(table + (i + k) * entries + row.bin[i + k]));
    const __m128 all = _mm_add_ss(_mm_add_ss(sum[0], sum[1]), _mm_add_ss(sum[2], sum[3]));
    return _mm256_add_ps(total, _mm256_zextps128_ps256(all));
}

template <int Degree, class Length>
inline __m256 add_tile(const Shape& shape, const Splitter& split, __m256 total, const float* table,
                       const RowTile& row) {
    if constexpr (Degree == 0) {
        return add_steps<Length>(shape, total, table, row);
    } else {
        __m256 other = _mm256_setzero_ps();
        for_each_eight([&]<int I>(Number<I>) {
            const Weights<Degree> weights(split.fractions<I % 16>(row.fraction + I / 16 * 16));
            for (int v = 0; v < Weights<Degree>::n; v += 2) {
                const auto at = [&](int k) {
                    return fetch<Degree, Length, 8>(shape, table, row.bin, I, k);
                };
                total = _mm256_fmadd_ps(weights.w[v], at(v), total);
                other = _mm256_fmadd_ps(weights.w[v + 1], at(v + 1), other);
            }
        });
        return _mm256_add_ps(total, other);
    }
}

// The rows lie far apart: without asking for them ahead, each tile of each row would be waited for.
template <int Degree, class Length>
void score_shape(const Shape& shape, const float* tables, const Code* const* codes, float* out) {
    const Splitter split(shape);
    __m256 total[n_lanes];
    for (__m256& one : total) one = _mm256_setzero_ps();
    for (std::size_t j = 0; j < shape.n_features; j += tile) {
        RowTile rows[n_lanes];
        for (int a = 0; a < n_lanes; ++a) {
            _mm_prefetch(reinterpret_cast<const char*>(codes[a] + j + 2 * tile), _MM_HINT_T0);
            split.load(codes[a], j, shape.n_features, rows[a]);
        }
        const float* table = tables + j * static_cast<std::size_t>(Length::entries(shape));
        for (int a = 0; a < n_lanes; ++a)
            total[a] = add_tile<Degree, Length>(shape, split, total[a], table, rows[a]);
    }
    for (int a = 0; a < n_lanes; ++a) out[a] += sum_of(total[a]);
}

// Bins and fractions of the values of a tile of features of one row.
struct ValueTile {
    alignas(32) int bin[tile];
    alignas(32) float fraction[tile];
};

// Which of 8 features, from `left` on counted down, there are.
inline __m256i there_are(std::size_t left) {
    const __m256i number = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(left < 8 ? static_cast<int>(left) : 8), number);
}

// The places of 8 values from j on, along straight lines.
inline void place_along_lines(const splinear::simd::BinMap& map, std::size_t j, __m256i have,
                              __m256 x, int* bin, float* fraction) {
    const auto of = [&](const float* values) { return _mm256_maskload_ps(values + j, have); };
    const __m256 at = _mm256_mul_ps(_mm256_sub_ps(x, of(map.lo)), of(map.slope));
    // max() and min() return the second operand for a NaN.
    const __m256 t = _mm256_min_ps(_mm256_max_ps(at, _mm256_setzero_ps()), of(map.end));
    const __m256i whole = _mm256_cvttps_epi32(t);
    _mm256_store_si256(reinterpret_cast<__m256i*>(bin), whole);
    _mm256_store_ps(fraction, _mm256_sub_ps(t, _mm256_cvtepi32_ps(whole)));
}

// Knots of one feature: which 8 of them a value lies among is found by the first of each 8.
struct KnotTable {
    const float* knots;
    int entries;
    __m256 first;

    KnotTable(const float* table, int n) : knots(table), entries(n) {
        alignas(32) float firsts[8];
        for (int i = 0; i < 8; ++i)
            firsts[i] = table[8 * i < n ? 8 * i : n - 1];  // infinity, behind the last knot
        first = _mm256_load_ps(firsts);
    }

    static int n_not_above(__m256 ascending, __m256 x) {
        return static_cast<int>(_mm_popcnt_u32(
            static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(ascending, x, _CMP_LE_OQ)))));
    }

    Position place(float value) const {
        const __m256 x = _mm256_set1_ps(value);
        const int block = 8 * (n_not_above(first, x) - 1);
        const int bin = block + n_not_above(_mm256_loadu_ps(knots + block), x) - 1;
        return {bin, (value - knots[bin]) * knots[entries + bin]};
    }
};

// The places of one feature's values, between knots.
inline void place_between_knots(const Shape& shape, const splinear::simd::BinMap& map,
                                std::size_t j, const float* const* x, int i, ValueTile* rows) {
    const float* knots = map.knots + 2 * static_cast<std::size_t>(shape.entries) * j;
    const KnotTable table(knots, shape.entries);
    for (int a = 0; a < n_lanes; ++a) {
        float value = x[a][j];
        value = value > map.lo[j] ? value : map.lo[j];  // also for a NaN
        value = value < map.end[j] ? value : map.end[j];
        const Position at = shape.entries <= splinear::simd::short_entries
                                ? table.place(value)
                                : between_knots(shape, map, j, value);
        rows[a].bin[i] = at.bin;
        rows[a].fraction[i] = at.fraction;
    }
}

// The places of a tile of features from j on, of 16 rows, beyond the last feature the first place.
// odd[a] becomes NaN by a value that is not finite.
inline void place_values(const Shape& shape, const splinear::simd::BinMap& map, std::size_t j,
                         const float* const* x, ValueTile* rows, __m256* odd) {
    const std::size_t left = shape.n_features - j;
    for (int i = 0; i < tile; i += 8) {
        const auto at = static_cast<std::size_t>(i);
        const __m256i have = there_are(at < left ? left - at : 0);
        for (int a = 0; a < n_lanes; ++a) {
            const __m256 values = _mm256_maskload_ps(x[a] + j + at, have);
            odd[a] = _mm256_fmadd_ps(values, _mm256_setzero_ps(), odd[a]);
            place_along_lines(map, j + at, have, values, rows[a].bin + i, rows[a].fraction + i);
        }
    }
    for (int i = 0; i < tile && static_cast<std::size_t>(i) < left; ++i)
        if (map.is_warped[j + static_cast<std::size_t>(i)] != 0)
            place_between_knots(shape, map, j + static_cast<std::size_t>(i), x, i, rows);
}

// sum_f table_f' B(x_f) over the first n features of a tile, a multiple of 8.
template <int Degree, class Length>
inline __m256 add_values(const Shape& shape, __m256 total, const float* table, const ValueTile& row,
                         int n) {
    for (int i = 0; i < n; i += 8) {
        const Weights<Degree> weights(_mm256_load_ps(row.fraction + i));
        for (int v = 0; v < Weights<Degree>::n; ++v)
            total = _mm256_fmadd_ps(weights.w[v],
                                    fetch<Degree, Length, 4>(shape, table, row.bin, i, v), total);
    }
    return total;
}

template <int Degree, class Length>
void decide_shape(const Shape& shape, const splinear::simd::BinMap& map, const float* tables,
                  const float* const* x, float* out) {
    __m256 total[n_lanes];
    __m256 odd[n_lanes];
    for (int a = 0; a < n_lanes; ++a) total[a] = odd[a] = _mm256_setzero_ps();
    for (std::size_t j = 0; j < shape.n_features; j += tile) {
        for (int a = 0; a < n_lanes; ++a)
            for (std::size_t k = 2; k < 4; ++k)  // a cache line takes 16 values
                _mm_prefetch(reinterpret_cast<const char*>(x[a] + j + 16 * k), _MM_HINT_T0);
        ValueTile rows[n_lanes];
        place_values(shape, map, j, x, rows, odd);
        const float* table = tables + j * static_cast<std::size_t>(Length::entries(shape));
        for (int a = 0; a < n_lanes; ++a)
            total[a] = add_values<Degree, Length>(shape, total[a], table, rows[a], tile);
    }
    for (int a = 0; a < n_lanes; ++a) out[a] += sum_of(_mm256_add_ps(total[a], odd[a]));
}

}  // namespace

namespace splinear::simd::avx2 {

void score(const Shape& shape, const float* tables, const Code* const* codes, float* out) {
    by_shape(shape, [&]<int Degree, class Length>(Choice<Degree, Length>) {
        score_shape<Degree, Length>(shape, tables, codes, out);
    });
}

void decide(const Shape& shape, const BinMap& map, const float* tables, const float* const* x,
            float* out) {
    by_shape(shape, [&]<int Degree, class Length>(Choice<Degree, Length>) {
        if constexpr (Degree > 0) decide_shape<Degree, Length>(shape, map, tables, x, out);
    });
}

}  // namespace splinear::simd::avx2

#endif
