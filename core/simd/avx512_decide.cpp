// Scores of values by AVX-512; lanes are rows.
#include "simd/avx512.hpp"
#include "simd/clones.hpp"
#include "simd/knot_tree.hpp"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)

#include <immintrin.h>

namespace {
#include "simd/avx512_knots.hpp"
#include "simd/avx512_pieces.hpp"

using splinear::simd::BinMap;
constexpr int n_vectors = 4;    // of rows that are scored together: a table is read once for them
constexpr int n_together = 16;  // features that are read together: a cache line of a row

// The values of some features, each a column of rows.
struct Columns {
    alignas(64) float at[n_together][16 * n_vectors];
};

// Zero beyond the last of n features.
template <int Vectors>
SPLINEAR_INLINE void load_columns(const float* const* x, std::size_t j, std::size_t n,
                                  Columns& out) {
    const auto have = static_cast<__mmask16>(n >= n_together ? 0xffff : (1u << n) - 1);
    for (int v = 0; v < Vectors; ++v) {
        __m512i in[16];
        __m512i turned[16];
        for (int a = 0; a < 16; ++a) in[a] = _mm512_maskz_loadu_epi32(have, x[16 * v + a] + j);
        transpose(in, turned);
        for (int i = 0; i < 16; ++i) _mm512_store_si512(out.at[i] + 16 * v, turned[i]);
    }
}

// A feature whose bins lie along a straight line.
template <int Degree, class Length, int Vectors>
SPLINEAR_INLINE void add_line(const Shape& shape, const BinMap& map, std::size_t j,
                              const float* table, const float* x, __m512* total) {
    const typename PiecesOf<Degree, Length>::Pieces pieces(table, 1.0f, Length::entries(shape));
    const __m512 zero = _mm512_setzero_ps();
    const __m512 lo = _mm512_set1_ps(map.lo[j]);
    const __m512 slope = _mm512_set1_ps(map.slope[j]);
    const __m512 end = _mm512_set1_ps(map.end[j]);
    for (int v = 0; v < Vectors; ++v) {
        const __m512 value = _mm512_load_ps(x + 16 * v);
        // max() and min() give the second operand for a NaN.
        __m512 t = _mm512_mul_ps(_mm512_sub_ps(value, lo), slope);
        t = _mm512_min_ps(_mm512_max_ps(t, zero), end);
        const __m512i bin = _mm512_cvttps_epi32(t);
        const __m512 a = _mm512_sub_ps(t, _mm512_cvtepi32_ps(bin));
        total[v] = _mm512_fmadd_ps(value, zero, total[v]);  // NaN, if it is not finite
        total[v] = pieces.add(total[v], bin, a);
    }
}

// What is in the leaves of a feature's tree; see BinMap::trees. Nothing has to be clamped: there
// are leaves for what is beyond the ends, with no slope. What is not finite becomes NaN there.
template <int Degree, int Depth>
struct Leaves {
    using Table = typename LeafTable<Depth>::Table;
    const float* tables;
    std::size_t n_entries;
    Table first;
    Table second;
    Table third;

    // Tables of as many entries, behind one of what a value is compared with.
    Leaves(const float* all, std::size_t n)
        : tables(all), n_entries(n), first(table(1)), second(table(2)), third(table(3)) {}

    SPLINEAR_INLINE __m512 add(__m512 total, __m512 x, __m512i leaf) const {
        const __m512 from = _mm512_sub_ps(x, first[leaf]);
        if constexpr (Degree == 1) {
            // A knot, the curve's value there, its slopes below and above.
            const __mmask16 is_below = _mm512_movepi32_mask(_mm512_castps_si512(from));
            const __m512 slope = _mm512_mask_blend_ps(is_below, Table(table(4))[leaf], third[leaf]);
            return _mm512_add_ps(total, _mm512_fmadd_ps(from, slope, second[leaf]));
        } else {
            const __m512 a = _mm512_mul_ps(from, second[leaf]);
            __m512 value = Table(table(3 + Degree))[leaf];
            for (int p = Degree - 1; p > 0; --p)
                value = _mm512_fmadd_ps(a, value, Table(table(3 + p))[leaf]);
            return _mm512_add_ps(total, _mm512_fmadd_ps(a, value, third[leaf]));
        }
    }

private:
    const float* table(std::size_t i) const { return tables + i * n_entries; }
};

template <int Degree, int Depth, int Vectors>
SPLINEAR_INLINE void add_between_knots(const float* tree, int depth, const float* x,
                                       __m512* total) {
    __m512 values[Vectors];
    __m512i at[Vectors];
    for (int v = 0; v < Vectors; ++v) values[v] = _mm512_load_ps(x + 16 * v);
    const auto add = [&](const float* tables, std::size_t n) SPLINEAR_INLINE_LAMBDA {
        const Leaves<Degree, Depth> leaves(tables, n);
        for (int v = 0; v < Vectors; ++v) total[v] = leaves.add(total[v], values[v], at[v]);
    };
    if constexpr (Degree == 1 && Depth <= splinear::simd::celled_depth) {
        if (CellTable<Depth>::n_steps(tree) > 0) {
            CellTable<Depth>(tree).template find<Vectors>(values, at);
            return add(tree + splinear::simd::few_cell_floats,
                       static_cast<std::size_t>(CellTable<Depth>::n_entries(tree)));
        }
        tree += splinear::simd::few_cell_map_floats;
    }
    NodeTable<Depth>(tree, depth).template descend<Vectors>(values, at);
    add(tree, std::size_t{1} << depth);
}

template <int Degree, int Vectors>
SPLINEAR_INLINE void add_between_knots(const BinMap& map, std::size_t j, const float* x,
                                       __m512* total) {
    const float* tree = map.trees[j];
    switch (map.depth) {
        case 4: return add_between_knots<Degree, 4, Vectors>(tree, 4, x, total);
        case 5: return add_between_knots<Degree, 5, Vectors>(tree, 5, x, total);
        case 6: return add_between_knots<Degree, 6, Vectors>(tree, 6, x, total);
        default: return add_between_knots<Degree, deep, Vectors>(tree, map.depth, x, total);
    }
}

// How many features are read first, so that whole cache lines follow where rows are lines apart.
// Large arrays seldom begin with a line, and rows that are far apart by a power of two compete for
// few places of the nearest cache: a line that was read in part is gone when the rest is wanted.
inline std::size_t n_before_line(const float* const* x) {
    const auto place = [](const float* row) {
        return reinterpret_cast<std::uintptr_t>(row) / sizeof(float) % n_together;
    };
    return n_together - (place(x[0]) == place(x[1]) ? place(x[0]) : 0);
}

template <int Degree, class Length, int Vectors>
void decide_rows(const Shape& shape, const BinMap& map, const float* tables, const float* const* x,
                 const float* const* next, float* out) {
    const auto entries = static_cast<std::size_t>(Length::entries(shape));
    __m512 total[Vectors];
    for (int v = 0; v < Vectors; ++v) total[v] = _mm512_loadu_ps(out + 16 * v);
    std::size_t n = n_before_line(x);
    for (std::size_t j = 0; j < shape.n_features; j += n, n = n_together) {
        Columns columns;
        const std::size_t left = shape.n_features - j;
        n = left < n ? left : n;
        load_columns<Vectors>(x, j, n, columns);
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t k = j + i;
            ask_ahead<Vectors>(x, next, j, shape.n_features, i);
            if (map.trees != nullptr && map.trees[k] != nullptr)
                add_between_knots<Degree, Vectors>(map, k, columns.at[i], total);
            else
                add_line<Degree, Length, Vectors>(shape, map, k, tables + k * entries,
                                                  columns.at[i], total);
        }
    }
    for (int v = 0; v < Vectors; ++v) _mm512_storeu_ps(out + 16 * v, total[v]);
}

}  // namespace

namespace splinear::simd::avx512 {

void decide(const Shape& shape, const BinMap& map, const float* tables, const float* const* x,
            std::size_t n_rows, float* out) {
    by_shape(shape, [&]<int Degree, class Length>(Choice<Degree, Length>) {
        if constexpr (Degree > 0)
            in_blocks<n_vectors>(n_rows, [&]<int Vectors>(std::size_t a, std::size_t next) {
                decide_rows<Degree, Length, Vectors>(shape, map, tables, x + a,
                                                     next < n_rows ? x + next : nullptr, out + a);
            });
    });
}

}  // namespace splinear::simd::avx512

#endif
