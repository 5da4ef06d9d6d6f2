// Rows added to the tables by AVX2.
#include "simd/avx2.hpp"

#if defined(__AVX2__) && defined(__FMA__)

#include <immintrin.h>

namespace {
#include "simd/avx2_tables.hpp"

inline void add_two(float* at, __m128 w) {
    _mm_storel_pi(reinterpret_cast<__m64*>(at), _mm_add_ps(load_two(at), w));
}

inline void add_four(float* at, __m128 w) { _mm_storeu_ps(at, _mm_add_ps(_mm_loadu_ps(at), w)); }

// Adds what fetch() would read its weights with.
template <int Degree, class Length>
inline void scatter(const Shape& shape, float* table, const Code* bin, int i, int v, __m256 w) {
    const auto at = [&](int f) { return table + f * Length::entries(shape) + bin[f]; };
    const __m128 low = _mm256_castps256_ps128(w);
    const __m128 high = _mm256_extractf128_ps(w, 1);
    if constexpr (Degree == 1) {
        const int f = i + 2 * v;
        add_two(at(f), low);
        add_two(at(f + 1), _mm_movehl_ps(low, low));
        add_two(at(f + 8), high);
        add_two(at(f + 9), _mm_movehl_ps(high, high));
    } else {
        add_four(at(i + v), low);
        add_four(at(i + v + 8), high);
    }
}

// table_f[k] += step B_k(x_f) for the n features of a tile. Features in turn: no addition waits for
// the one before.
template <int Degree, class Length>
inline void add_tile(const Shape& shape, const Splitter& split, const RowTile& row, float step,
                     float* table) {
    if constexpr (Degree == 0) {
        const int entries = Length::entries(shape);
        for (int f = 0; f < tile; ++f) table[f * entries + row.bin[f]] += step;
    } else {
        for_each_eight([&]<int I>(Number<I>) {
            Weights<Degree> weights(split.fractions<I % 16>(row.fraction + I / 16 * 16));
            weights.scale(_mm256_set1_ps(step));
            for (int v = 0; v < Weights<Degree>::n; ++v)
                scatter<Degree, Length>(shape, table, row.bin, I, v, weights.w[v]);
        });
    }
}

// v + (v moved by N entries to the left inside each half), or to the right.
template <int N>
inline __m256 plus_from_right(__m256 v) {
    return _mm256_add_ps(v, _mm256_castsi256_ps(_mm256_srli_si256(_mm256_castps_si256(v), 4 * N)));
}

template <int N>
inline __m256 plus_from_left(__m256 v) {
    return _mm256_add_ps(v, _mm256_castsi256_ps(_mm256_slli_si256(_mm256_castps_si256(v), 4 * N)));
}

// The paper's step A on n times 8 sums: running sums from the right.
inline void sum_from_right(float* sum, int n) {
    __m256 carry = _mm256_setzero_ps();
    for (int i = n - 1; i >= 0; --i) {
        __m256 v = plus_from_right<2>(plus_from_right<1>(_mm256_load_ps(sum + 8 * i)));
        const __m256 upper = _mm256_permute2f128_ps(v, v, 0x81);  // below zeros
        v = _mm256_add_ps(_mm256_add_ps(v, carry), _mm256_permute_ps(upper, 0x00));
        _mm256_store_ps(sum + 8 * i, v);
        carry = _mm256_broadcastss_ps(_mm256_castps256_ps128(v));
    }
}

// Step B: running sums from the left.
inline void sum_from_left(float* sum, int n) {
    const __m256i last = _mm256_set1_epi32(7);
    __m256 carry = _mm256_setzero_ps();
    for (int i = 0; i < n; ++i) {
        __m256 v = plus_from_left<2>(plus_from_left<1>(_mm256_load_ps(sum + 8 * i)));
        const __m256 lower = _mm256_permute2f128_ps(v, v, 0x08);  // above zeros
        v = _mm256_add_ps(_mm256_add_ps(v, carry), _mm256_permute_ps(lower, 0xff));
        _mm256_store_ps(sum + 8 * i, v);
        carry = _mm256_permutevar8x32_ps(v, last);
    }
}

// Adds L_d times the sums, times the variance, to one feature's table. What step B leaves behind
// the last basis function is never read with a weight other than zero.
inline void add_sums(const Shape& shape, float variance, float* sum, float* table) {
    const int n = (shape.n_basis + 7) / 8;
    for (int d = 0; d < shape.order; ++d) sum_from_right(sum, n);
    for (int d = 0; d < shape.order; ++d) sum_from_left(sum, n);
    const __m256 factor = _mm256_set1_ps(variance);
    for (int k = 0; k < 8 * n; k += 8)
        _mm256_store_ps(
            table + k, _mm256_fmadd_ps(factor, _mm256_load_ps(sum + k), _mm256_load_ps(table + k)));
}

#include "simd/tile_sums.hpp"

}  // namespace

namespace splinear::simd::avx2 {

void add(const Shape& shape, const float* smoother, const float* variance, const Code* const* codes,
         const float* steps, std::size_t n_rows, float* tables) {
    add_tiles(shape, smoother, variance, codes, steps, n_rows, tables);
}

void sum(const Shape& shape, const Code* const* codes, const float* steps, std::size_t n_rows,
         float* tables) {
    sum_tiles(shape, codes, steps, n_rows, tables);
}

}  // namespace splinear::simd::avx2

#endif
