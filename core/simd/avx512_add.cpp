// Rows added to the tables by AVX-512.
#include "simd/avx512.hpp"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)

#include <immintrin.h>

namespace {
#include "simd/avx2_rows.hpp"

// Entries of a table that comes in tiles, at most.
template <class Length>
constexpr int longest = Length::most < most_in_tiles ? Length::most : most_in_tiles;

// v + (v moved by N entries to the left), or to the right.
template <int N>
inline __m512 plus_from_right(__m512 v) {
    const __m512i moved = _mm512_alignr_epi32(_mm512_setzero_si512(), _mm512_castps_si512(v), N);
    return _mm512_add_ps(v, _mm512_castsi512_ps(moved));
}

template <int N>
inline __m512 plus_from_left(__m512 v) {
    const __m512i moved =
        _mm512_alignr_epi32(_mm512_castps_si512(v), _mm512_setzero_si512(), 16 - N);
    return _mm512_add_ps(v, _mm512_castsi512_ps(moved));
}

// The paper's step A on a table, 16 entries at a time: running sums from the right.
template <class Length>
inline void sum_from_right(const Shape& shape, __m512* entry) {
    __m512 carry = _mm512_setzero_ps();
    for (int i = Length::entries(shape) / 16 - 1; i >= 0; --i) {
        const __m512 four = plus_from_right<2>(plus_from_right<1>(entry[i]));
        entry[i] = _mm512_add_ps(plus_from_right<8>(plus_from_right<4>(four)), carry);
        carry = _mm512_broadcastss_ps(_mm512_castps512_ps128(entry[i]));
    }
}

// Step B: running sums from the left.
template <class Length>
inline void sum_from_left(const Shape& shape, __m512* entry) {
    const __m512i last = _mm512_set1_epi32(15);
    __m512 carry = _mm512_setzero_ps();
    for (int i = 0; i < Length::entries(shape) / 16; ++i) {
        const __m512 four = plus_from_left<2>(plus_from_left<1>(entry[i]));
        entry[i] = _mm512_add_ps(plus_from_left<8>(plus_from_left<4>(four)), carry);
        carry = _mm512_permutexvar_ps(last, entry[i]);
    }
}

// Adds L_d times the sums, times the variance, to one feature's table. What step B leaves behind
// the last basis function is never read with a weight other than zero.
template <class Length>
inline void add_sums(const Shape& shape, float variance, const float* sum, float* table) {
    const int n = Length::entries(shape) / 16;
    __m512 entry[longest<Length> / 16];
    for (int i = 0; i < n; ++i) entry[i] = _mm512_load_ps(sum + 16 * i);
    for (int d = 0; d < shape.order; ++d) sum_from_right<Length>(shape, entry);
    for (int d = 0; d < shape.order; ++d) sum_from_left<Length>(shape, entry);
    const __m512 factor = _mm512_set1_ps(variance);
    for (int i = 0; i < n; ++i)
        _mm512_store_ps(table + 16 * i,
                        _mm512_fmadd_ps(factor, entry[i], _mm512_load_ps(table + 16 * i)));
}

// The rows' weights are summed per basis function first, for a tile of features at a time.
template <int Degree, class Length>
void add_many(const Shape& shape, const float* variance, const Code* const* codes,
              const float* steps, std::size_t n_rows, float* tables) {
    const int entries = Length::entries(shape);
    alignas(64) float sums[tile * longest<Length>];
    for (std::size_t j = 0; j < shape.n_features; j += tile) {
        for (int k = 0; k < tile * entries; k += 16) _mm512_store_ps(sums + k, _mm512_setzero_ps());
        add_rows<Degree, Length>(shape, codes, steps, n_rows, j, sums);
        const std::size_t left = shape.n_features - j;
        const std::size_t n = left < tile ? left : tile;
        for (std::size_t f = 0; f < n; ++f) {
            const std::size_t at = f * static_cast<std::size_t>(entries);
            if (variance[j + f] != 0.0f)
                add_sums<Length>(shape, variance[j + f], sums + at,
                                 tables + j * static_cast<std::size_t>(entries) + at);
        }
    }
}

// One row alone: its few rows of the smoother go straight into the tables.
template <int Degree, class Length>
void add_one(const Shape& shape, const float* smoother, const float* variance, const Code* codes,
             float step, float* table) {
    const int entries = Length::entries(shape);
    for (std::size_t j = 0; j < shape.n_features; ++j, table += entries) {
        const Position at = split(shape, codes[j]);
        float w[Degree + 1];
        weights<Degree>(at.fraction, w);
        for (int p = 0; p <= Degree; ++p) w[p] *= variance[j] * step;
        if (smoother == nullptr) {
            for (int p = 0; p <= Degree; ++p) table[at.bin + p] += w[p];
            continue;
        }
        const float* from = smoother + at.bin * entries;
        for (int i = 0; i < entries / 16; ++i) {
            __m512 entry = _mm512_load_ps(table + 16 * i);
            for (int p = 0; p <= Degree; ++p)
                entry = _mm512_fmadd_ps(_mm512_set1_ps(w[p]),
                                        _mm512_load_ps(from + p * entries + 16 * i), entry);
            _mm512_store_ps(table + 16 * i, entry);
        }
    }
}

}  // namespace

namespace splinear::simd::avx512 {

void add(const Shape& shape, const float* smoother, const float* variance, const Code* const* codes,
         const float* steps, std::size_t n_rows, float* tables) {
    by_shape(shape, [&]<int Degree, class Length>(Choice<Degree, Length>) {
        if (n_rows == 1)
            add_one<Degree, Length>(shape, smoother, variance, codes[0], steps[0], tables);
        else if (shape.entries > most_in_tiles)
            add_loops(shape, smoother, variance, codes, steps, n_rows, tables);
        else
            add_many<Degree, Length>(shape, variance, codes, steps, n_rows, tables);
    });
}

}  // namespace splinear::simd::avx512

#endif
