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

// The bins of four features, read at once: loads are what scores wait for.
struct FourBins {
    std::uint64_t all;

    explicit FourBins(const Code* bin) { __builtin_memcpy(&all, bin, sizeof all); }

    // The entries of two of them, k and k + 1, in the table of the first of the four.
    template <class Length>
    __m128 entries(const Shape& shape, const float* table, int k) const {
        const auto at = [&](int f) {
            return table + f * Length::entries(shape) + ((all >> (16 * f)) & 0xffff);
        };
        return _mm_loadh_pi(load_two(at(k)), reinterpret_cast<const __m64*>(at(k + 1)));
    }
};

template <int Degree, class Length>
inline __m256 add_tile(const Shape& shape, const Splitter& split, __m256 total, const float* table,
                       const RowTile& row) {
    if constexpr (Degree == 0) {
        return add_steps<Length>(shape, total, table, row);
    } else {
        __m256 other = _mm256_setzero_ps();
        for_each_eight([&]<int I>(Number<I>) {
            const Weights<Degree> weights(split.fractions<I % 16>(row.fraction + I / 16 * 16));
            const FourBins low(row.bin + I);
            const FourBins high(row.bin + I + 8);
            for (int v = 0; v < Weights<Degree>::n; v += 2) {
                const auto at = [&](int k) {
                    if constexpr (Degree > 1)
                        return fetch<Degree, Length, 8>(shape, table, row.bin, I, k);
                    const auto two = [&](const FourBins& bins, int f) {
                        return bins.entries<Length>(shape, table + f * Length::entries(shape),
                                                    2 * k);
                    };
                    return _mm256_set_m128(two(high, I + 8), two(low, I));
                };
                total = _mm256_fmadd_ps(weights.w[v], at(v), total);
                other = _mm256_fmadd_ps(weights.w[v + 1], at(v + 1), other);
            }
        });
        return _mm256_add_ps(total, other);
    }
}

constexpr std::size_t most_rows = 64;  // that are scored together: a tile's tables stay near

// Sums of some rows, a lane of 8 features each.
struct Totals {
    __m256 of[most_rows];

    explicit Totals(std::size_t n_rows) {
        for (std::size_t a = 0; a < n_rows; ++a) of[a] = _mm256_setzero_ps();
    }
};

// The rows lie far apart: without asking for them ahead, each tile of each row would be waited for.
// For the second cache, as the nearest one waits for few lines at a time.
template <class Value>
inline void ask_ahead(const Value* row) {
    constexpr std::size_t lines = 4;
    _mm_prefetch(reinterpret_cast<const char*>(row + lines * 64 / sizeof(Value)), _MM_HINT_T1);
}

template <int Degree, class Length>
void score_rows(const Shape& shape, const float* tables, const Code* const* codes,
                std::size_t n_rows, float* out) {
    const Splitter split(shape);
    Totals total(n_rows);
    for (std::size_t j = 0; j < shape.n_features; j += tile) {
        const float* table = tables + j * static_cast<std::size_t>(Length::entries(shape));
        for (std::size_t first = 0; first < n_rows; first += n_lanes) {
            RowTile rows[n_lanes];
            for (std::size_t a = 0; a < n_lanes; ++a) {
                ask_ahead(codes[first + a] + j);
                split.load(codes[first + a], j, shape.n_features, rows[a]);
            }
            for (std::size_t a = 0; a < n_lanes; ++a)
                total.of[first + a] =
                    add_tile<Degree, Length>(shape, split, total.of[first + a], table, rows[a]);
        }
    }
    for (std::size_t a = 0; a < n_rows; ++a) out[a] += sum_of(total.of[a]);
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

// The places of one feature's values, between not too many knots.
inline void place_between_few(const Shape& shape, const splinear::simd::BinMap& map, std::size_t j,
                              const float* const* x, int i, ValueTile* rows) {
    const float* knots = map.knots + 2 * static_cast<std::size_t>(shape.entries) * j;
    const KnotTable table(knots, shape.entries);
    for (int a = 0; a < n_lanes; ++a) {
        float value = x[a][j];
        value = value > map.lo[j] ? value : map.lo[j];  // also for a NaN
        value = value < map.end[j] ? value : map.end[j];
        const Position at = table.place(value);
        rows[a].bin[i] = at.bin;
        rows[a].fraction[i] = at.fraction;
    }
}

// The places of a tile of features from j on, of 16 rows, beyond the last feature the first place.
// total[a] becomes NaN by a value that is not finite.
inline void place_values(const Shape& shape, const splinear::simd::BinMap& map, std::size_t j,
                         const float* const* x, ValueTile* rows, __m256* total) {
    const std::size_t left = shape.n_features - j;
    for (int i = 0; i < tile; i += 8) {
        const auto at = static_cast<std::size_t>(i);
        const __m256i have = there_are(at < left ? left - at : 0);
        for (int a = 0; a < n_lanes; ++a) {
            const __m256 values = _mm256_maskload_ps(x[a] + j + at, have);
            total[a] = _mm256_fmadd_ps(values, _mm256_setzero_ps(), total[a]);
            place_along_lines(map, j + at, have, values, rows[a].bin + i, rows[a].fraction + i);
        }
    }
    const int n = left < tile ? static_cast<int>(left) : tile;
    if (shape.entries > splinear::simd::short_entries)
        return place_between_knots(shape, map, j, n, x, rows);
    for (int i = 0; i < n; ++i) {
        const std::size_t k = j + static_cast<std::size_t>(i);
        if (map.is_warped[k] != 0) place_between_few(shape, map, k, x, i, rows);
    }
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
void decide_rows(const Shape& shape, const splinear::simd::BinMap& map, const float* tables,
                 const float* const* x, std::size_t n_rows, float* out) {
    Totals total(n_rows);
    for (std::size_t j = 0; j < shape.n_features; j += tile) {
        const float* table = tables + j * static_cast<std::size_t>(Length::entries(shape));
        for (std::size_t first = 0; first < n_rows; first += n_lanes) {
            for (std::size_t a = 0; a < n_lanes; ++a)
                for (std::size_t k = 0; k < 2; ++k)  // a cache line takes 16 values
                    ask_ahead(x[first + a] + j + 16 * k);
            ValueTile rows[n_lanes];
            place_values(shape, map, j, x + first, rows, total.of + first);
            for (std::size_t a = 0; a < n_lanes; ++a)
                total.of[first + a] =
                    add_values<Degree, Length>(shape, total.of[first + a], table, rows[a], tile);
        }
    }
    for (std::size_t a = 0; a < n_rows; ++a) out[a] += sum_of(total.of[a]);
}

// body(first, n) for rows that are scored together.
template <class Body>
inline void in_blocks(std::size_t n_rows, const Body& body) {
    for (std::size_t a = 0; a < n_rows; a += most_rows)
        body(a, n_rows - a < most_rows ? n_rows - a : most_rows);
}

}  // namespace

namespace splinear::simd::avx2 {

void score(const Shape& shape, const float* tables, const Code* const* codes, std::size_t n_rows,
           float* out) {
    by_shape(shape, [&]<int Degree, class Length>(Choice<Degree, Length>) {
        in_blocks(n_rows, [&](std::size_t a, std::size_t n) {
            score_rows<Degree, Length>(shape, tables, codes + a, n, out + a);
        });
    });
}

void decide(const Shape& shape, const BinMap& map, const float* tables, const float* const* x,
            std::size_t n_rows, float* out) {
    by_shape(shape, [&]<int Degree, class Length>(Choice<Degree, Length>) {
        if constexpr (Degree > 0)
            in_blocks(n_rows, [&](std::size_t a, std::size_t n) {
                decide_rows<Degree, Length>(shape, map, tables, x + a, n, out + a);
            });
    });
}

}  // namespace splinear::simd::avx2

#endif
