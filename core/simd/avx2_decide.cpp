// Scores of values by AVX2.
#include "simd/avx2.hpp"
#include "simd/clones.hpp"
#include "simd/knot_tree.hpp"

#if defined(__AVX2__) && defined(__FMA__)

#include <immintrin.h>

namespace {
#include "simd/avx2_tables.hpp"
// After what they use.
#include "simd/avx2_knots.hpp"
#include "simd/avx2_rows.hpp"

// Bins and fractions of the values of a tile of features of one row.
struct ValueTile {
    alignas(32) int bin[tile];
    alignas(32) float fraction[tile];
};

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

constexpr int n_together = 16;  // features that are read together: a cache line of a row

// The values of some features, each a column of rows.
struct Columns {
    alignas(32) float at[n_together][most_rows];
};

// Zero beyond the last of n features.
inline void load_columns(const float* const* x, std::size_t n_rows, std::size_t j, std::size_t n,
                         Columns& out) {
    for (std::size_t a = 0; a < n_rows; ++a) ask_ahead(x[a] + j);
    for (std::size_t half = 0; half < n_together && half < n; half += 8) {
        const __m256i have = there_are(n - half);
        for (std::size_t a = 0; a < n_rows; a += 8) {
            __m256 in[8];
            __m256 turned[8];
            for (std::size_t i = 0; i < 8; ++i)
                in[i] = _mm256_maskload_ps(x[a + i] + j + half, have);
            transpose(in, turned);
            for (std::size_t i = 0; i < 8; ++i) _mm256_store_ps(out.at[half + i] + a, turned[i]);
        }
    }
}

// The entries of a table at 8 bins and behind each of them: permuted registers of eight if there
// are few, ...
template <int Eights>
SPLINEAR_INLINE __m256 look_up(const float* table, __m256i at) {
    const __m256 third = _mm256_castsi256_ps(_mm256_slli_epi32(at, 28));
    const __m256 low =
        _mm256_blendv_ps(one_of_eight(table, at), one_of_eight(table + 8, at), third);
    if constexpr (Eights == 2) return low;
    const __m256 fourth = _mm256_castsi256_ps(_mm256_slli_epi32(at, 27));
    return _mm256_blendv_ps(low, one_of_eight(table + 16, at), fourth);
}

template <int Eights>
SPLINEAR_INLINE void look_up_two(const float* table, const int* bin, __m256& first,
                                 __m256& second) {
    if constexpr (Eights > 0) {
        const __m256i at = _mm256_load_si256(reinterpret_cast<const __m256i*>(bin));
        first = look_up<Eights>(table, at);
        second = look_up<Eights>(table, _mm256_add_epi32(at, _mm256_set1_epi32(1)));
    } else {  // ... else from memory.
        const auto four = [&](int i) {
            const auto two = [&](int k) {
                return _mm_loadh_pi(load_two(table + bin[k]),
                                    reinterpret_cast<const __m64*>(table + bin[k + 1]));
            };
            return _mm256_set_m128(two(i + 4), two(i));
        };
        first = _mm256_shuffle_ps(four(0), four(2), 0x88);
        second = _mm256_shuffle_ps(four(0), four(2), 0xdd);
    }
}

// A feature whose bins lie along a straight line.
template <int Eights>
inline void add_line(const splinear::simd::BinMap& map, std::size_t j, const float* table,
                     const float* x, std::size_t n_rows, float* out) {
    const __m256 lo = _mm256_set1_ps(map.lo[j]);
    const __m256 slope = _mm256_set1_ps(map.slope[j]);
    const __m256 end = _mm256_set1_ps(map.end[j]);
    alignas(32) int bin[most_rows];
    alignas(32) float fraction[most_rows];
    for (std::size_t a = 0; a < n_rows; a += 8) {
        const __m256 value = _mm256_load_ps(x + a);
        __m256 t = _mm256_mul_ps(_mm256_sub_ps(value, lo), slope);
        // max() and min() return the second operand for a NaN.
        t = _mm256_min_ps(_mm256_max_ps(t, _mm256_setzero_ps()), end);
        const __m256i whole = _mm256_cvttps_epi32(t);
        _mm256_store_si256(reinterpret_cast<__m256i*>(bin + a), whole);
        // NaN, if the value is not finite.
        t = _mm256_fmadd_ps(value, _mm256_setzero_ps(), t);
        _mm256_store_ps(fraction + a, _mm256_sub_ps(t, _mm256_cvtepi32_ps(whole)));
    }
    for (std::size_t a = 0; a < n_rows; a += 8) {
        __m256 first;
        __m256 second;
        look_up_two<Eights>(table, bin + a, first, second);
        const __m256 total = _mm256_add_ps(_mm256_load_ps(out + a), first);
        _mm256_store_ps(out + a, _mm256_fmadd_ps(_mm256_load_ps(fraction + a),
                                                 _mm256_sub_ps(second, first), total));
    }
}

inline void add_line(const Shape& shape, const splinear::simd::BinMap& map, std::size_t j,
                     const float* tables, const float* x, std::size_t n_rows, float* out) {
    const float* table = tables + j * static_cast<std::size_t>(shape.entries);
    if (shape.n_basis < 16) return add_line<2>(map, j, table, x, n_rows, out);
    if (shape.n_basis < 24) return add_line<3>(map, j, table, x, n_rows, out);
    add_line<0>(map, j, table, x, n_rows, out);
}

// A feature with knots; see BinMap::trees. Nothing has to be clamped: there are pieces for what is
// beyond the ends, with no slope. What is not finite becomes NaN there.
template <int Sections, int Vectors>
SPLINEAR_INLINE void add_between_knots(const float* tree, int depth, const float* x, float* out) {
    __m256 values[Vectors];
    for (int v = 0; v < Vectors; ++v) values[v] = _mm256_load_ps(x + 8 * v);
    const auto add = [&](int v, const __m256* record) SPLINEAR_INLINE_LAMBDA {
        // A knot, the curve's value there, its slopes below and above.
        const __m256 from = _mm256_sub_ps(values[v], record[0]);
        const __m256 slope = _mm256_blendv_ps(record[3], record[2], from);
        const __m256 value = _mm256_fmadd_ps(from, slope, record[1]);
        _mm256_store_ps(out + 8 * v, _mm256_add_ps(_mm256_load_ps(out + 8 * v), value));
    };
    with_records<Sections, Vectors>(tree, depth, values, add);
}

inline void add_between_knots(const splinear::simd::BinMap& map, std::size_t j, const float* x,
                              std::size_t n_rows, float* out) {
    by_sections(map.sections, [&]<int Sections>(Number<Sections>) {
        std::size_t a = 0;
        const auto add = [&]<int Vectors>(Number<Vectors>) SPLINEAR_INLINE_LAMBDA {
            for (; a + 8 * Vectors <= n_rows; a += 8 * Vectors)
                add_between_knots<Sections, Vectors>(map.trees[j], map.depth, x + a, out + a);
        };
        add(Number<8>{});
        add(Number<4>{});
        add(Number<2>{});  // n_lanes rows
    });
}

// Where some features have trees: feature by feature, so that all rows are scored by a tree before
// the next is read.
inline void decide_columns(const Shape& shape, const splinear::simd::BinMap& map,
                           const float* tables, const float* const* x, std::size_t n_rows,
                           float* out) {
    for (std::size_t j = 0; j < shape.n_features; j += n_together)
        in_blocks(n_rows, [&](std::size_t a, std::size_t n) {
            Columns columns;
            const std::size_t left = shape.n_features - j;
            load_columns(x + a, n, j, left, columns);
            alignas(32) float sums[most_rows] = {};  // of few numbers each: these round less
            for (std::size_t i = 0; i < n_together && i < left; ++i) {
                const std::size_t k = j + i;
                if (map.trees[k] != nullptr)
                    add_between_knots(map, k, columns.at[i], n, sums);
                else
                    add_line(shape, map, k, tables, columns.at[i], n, sums);
            }
            for (std::size_t k = 0; k < n; ++k) out[a + k] += sums[k];
        });
}

}  // namespace

namespace splinear::simd::avx2 {

void decide(const Shape& shape, const BinMap& map, const float* tables, const float* const* x,
            std::size_t n_rows, float* out) {
    if (map.trees != nullptr) return decide_columns(shape, map, tables, x, n_rows, out);
    by_shape(shape, [&]<int Degree, class Length>(Choice<Degree, Length>) {
        if constexpr (Degree > 0)
            in_blocks(n_rows, [&](std::size_t a, std::size_t n) {
                decide_rows<Degree, Length>(shape, map, tables, x + a, n, out + a);
            });
    });
}

}  // namespace splinear::simd::avx2

#endif
