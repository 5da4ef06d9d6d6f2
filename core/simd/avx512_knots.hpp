// Search among knots by AVX-512; lanes are values. Included like avx512_tables.hpp, in
// its place.
#include "simd/avx512_tables.hpp"

constexpr int deep = 7;  // stands for every depth from 7 on

// The nodes of one feature's tree, see simd/knot_tree.hpp: 6 levels of them in registers, those
// behind them in memory.
template <int Depth>
struct NodeTable {
    static constexpr int n_near = Depth < deep ? Depth : 6;
    const float* nodes;
    int depth;
    __m512 level[n_near];
    __m512 rest;  // of the last of 6 levels

    NodeTable(const float* tree, int depth_of_tree) : nodes(tree), depth(depth_of_tree) {
        level[0] = _mm512_set1_ps(tree[1]);
        for (int l = 1; l < n_near; ++l) level[l] = _mm512_loadu_ps(tree + (1 << l));
        rest = n_near == 6 ? _mm512_loadu_ps(tree + 48) : _mm512_setzero_ps();
    }

    // The leaves of some vectors. Each step waits for the one before: the vectors take it in turn.
    template <int Vectors>
    SPLINEAR_INLINE void descend(const __m512* x, __m512i* at) const {
        for (int v = 0; v < Vectors; ++v) at[v] = risen(_mm512_setzero_si512(), 0, level[0], x[v]);
        for (int l = 1; l < n_near; ++l)
            for (int v = 0; v < Vectors; ++v)
                at[v] = risen(at[v], l,
                              l == 5 ? _mm512_permutex2var_ps(level[l], at[v], rest)
                                     : _mm512_permutexvar_ps(at[v], level[l]),
                              x[v]);
        if constexpr (Depth == deep)
            for (int l = n_near; l < depth; ++l)
                for (int v = 0; v < Vectors; ++v)
                    at[v] = risen(at[v], l, _mm512_i32gather_ps(at[v], nodes + (1 << l), 4), x[v]);
    }

private:
    static __m512i risen(__m512i at, int l, __m512 node, __m512 x) {
        const __mmask16 up = _mm512_cmp_ps_mask(x, node, _CMP_GE_OQ);
        return _mm512_mask_or_epi32(at, up, at, _mm512_set1_epi32(1 << l));
    }
};

// How a number per leaf is looked up.
template <int Depth>
struct LeafTable {
    using Table = RegisterTable<(1 << Depth)>;
};

template <>
struct LeafTable<deep> {
    using Table = MemoryTable;
};

// Cells in front of the leaves of one feature, see simd::n_few_cells.
template <int Depth>
struct CellTable {
    __m512 origin;
    __m512 least;
    __m512 most;
    __m512i shift;
    int window;
    __m512i low;  // the first leaves of the cells
    __m512i high;
    RegisterTable<(1 << Depth)> fences;

    explicit CellTable(const float* tree)
        : origin(_mm512_set1_ps(tree[0])),
          least(_mm512_set1_ps(tree[1])),
          most(_mm512_set1_ps(tree[2])),
          shift(_mm512_set1_epi32(whole(tree, 3))),
          window(n_steps(tree)),
          low(leaves_of(tree + splinear::simd::few_cell_map_floats)),
          high(leaves_of(tree + splinear::simd::few_cell_map_floats + 8)),
          fences(tree + splinear::simd::few_cell_floats) {}

    static int n_steps(const float* tree) { return whole(tree, 5); }  // 0: there are no cells
    static int n_entries(const float* tree) { return whole(tree, 6); }

    // The leaves of some vectors, in their low bits.
    template <int Vectors>
    SPLINEAR_INLINE void find(const __m512* x, __m512i* at) const {
        for (int v = 0; v < Vectors; ++v) {
            // max() and min() give the second operand for a NaN.
            const __m512 y = _mm512_min_ps(_mm512_max_ps(_mm512_sub_ps(x[v], origin), least), most);
            const __m512i cell = _mm512_srlv_epi32(_mm512_castps_si512(y), shift);
            at[v] = _mm512_permutex2var_epi16(low, cell, high);
        }
        int n = window;
        do {
            for (int v = 0; v < Vectors; ++v) {
                const __mmask16 beyond = _mm512_cmp_ps_mask(x[v], fences[at[v]], _CMP_GE_OQ);
                at[v] = _mm512_mask_add_epi32(at[v], beyond, at[v], _mm512_set1_epi32(1));
            }
        } while (--n > 0);
    }

private:
    static int whole(const float* tree, int i) { return __builtin_bit_cast(int, tree[i]); }
    static __m512i leaves_of(const float* cells) {
        return _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(cells)));
    }
};
