// Rows added to the tables by AVX-512.
#include "simd/avx512.hpp"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)

#include <immintrin.h>

namespace {
#include "simd/avx512_tables.hpp"

constexpr int copies = 4;  // of the sums of one feature

inline void clear(float* sum, int n) {
    for (int k = 0; k < n; k += 16) _mm512_store_ps(sum + k, _mm512_setzero_ps());
}

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

// Adds L_d times the sum of the given partial sums to one feature's table. What step B leaves
// behind the last basis function is never read with a weight other than zero.
template <class Length>
inline void add_sums(const Shape& shape, const float* sum, float* table) {
    const int entries = Length::entries(shape);
    __m512 entry[Length::most / 16];
    for (int i = 0; i < entries / 16; ++i) {
        entry[i] = _mm512_load_ps(sum + 16 * i);
        for (int c = 1; c < copies; ++c)
            entry[i] = _mm512_add_ps(entry[i], _mm512_load_ps(sum + c * entries + 16 * i));
    }
    for (int d = 0; d < shape.order; ++d) sum_from_right<Length>(shape, entry);
    for (int d = 0; d < shape.order; ++d) sum_from_left<Length>(shape, entry);
    for (int i = 0; i < entries / 16; ++i)
        _mm512_store_ps(table + 16 * i, _mm512_add_ps(entry[i], _mm512_load_ps(table + 16 * i)));
}

// The weights B_p(a) times the factors, for 16 rows.
template <int Degree>
inline void store_weights(__m512 a, __m512 factor, float (*out)[16]) {
    if constexpr (Degree == 0) {
        _mm512_store_ps(out[0], factor);
    } else if constexpr (Degree == 1) {
        const __m512 right = _mm512_mul_ps(a, factor);
        _mm512_store_ps(out[0], _mm512_sub_ps(factor, right));
        _mm512_store_ps(out[1], right);
    } else {
        alignas(64) float fraction[16];
        alignas(64) float factors[16];
        _mm512_store_ps(fraction, a);
        _mm512_store_ps(factors, factor);
        for (int i = 0; i < 16; ++i) {
            float w[Degree + 1];
            weights<Degree>(fraction[i], w);
            for (int p = 0; p <= Degree; ++p) out[p][i] = factors[i] * w[p];
        }
    }
}

// Up to four times 16 rows: their codes are turned so that lanes are rows; the weights are computed
// in vectors and then scattered. Four sums take turns, so that rows in the same bin need not wait
// for each other.
template <int Degree, class Length>
void add_rows(const Shape& shape, const float* variance, const Code* const* codes,
              const float* steps, std::size_t n_groups, float* tables) {
    const int entries = Length::entries(shape);
    const Splitter split(shape);
    const __m512i low_half = _mm512_set1_epi32(0xffff);
    for (std::size_t j = 0; j < shape.n_features; j += tile) {
        __m512i pairs[4][16];
        for (std::size_t g = 0; g < n_groups; ++g)
            load_tile(codes + 16 * g, j, shape.n_features, pairs[g]);
        const std::size_t left = shape.n_features - j;
        const int n = left < tile ? static_cast<int>(left) : tile;
        for (int i = 0; i < n; ++i) {
            if (variance[j + static_cast<std::size_t>(i)] == 0.0f) continue;
            const __m512 weight = _mm512_set1_ps(variance[j + static_cast<std::size_t>(i)]);
            alignas(64) float sum[copies * Length::most];
            clear(sum, copies * entries);
            for (std::size_t g = 0; g < n_groups; ++g) {
                const __m512i pair = pairs[g][i / 2];
                const __m512i code =
                    i % 2 == 0 ? _mm512_and_si512(pair, low_half) : _mm512_srli_epi32(pair, 16);
                const __m512 factor = _mm512_mul_ps(weight, _mm512_loadu_ps(steps + 16 * g));
                alignas(64) int bin[16];
                alignas(64) float w[Degree + 1][16];
                _mm512_store_si512(bin, split.bin(code));
                store_weights<Degree>(split.fraction(code), factor, w);
                for (int a = 0; a < 16; ++a)
                    for (int p = 0; p <= Degree; ++p)
                        sum[a % copies * entries + bin[a] + p] += w[p][a];
            }
            add_sums<Length>(
                shape, sum,
                tables + (j + static_cast<std::size_t>(i)) * static_cast<std::size_t>(entries));
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

template <int Degree, class Length>
void add_shape(const Shape& shape, const float* smoother, const float* variance,
               const Code* const* codes, const float* steps, std::size_t n_rows, float* tables) {
    if (n_rows == 1) {
        add_one<Degree, Length>(shape, smoother, variance, codes[0], steps[0], tables);
        return;
    }
    for (std::size_t a = 0; a < n_rows; a += 64) {
        const Code* group[64];
        float step[64];
        const std::size_t n_groups = n_rows - a > 48 ? 4 : (n_rows - a + 15) / 16;
        for (std::size_t i = 0; i < 16 * n_groups; ++i) {
            const bool have = a + i < n_rows;
            group[i] = codes[have ? a + i : a];
            step[i] = have ? steps[a + i] : 0.0f;
        }
        add_rows<Degree, Length>(shape, variance, group, step, n_groups, tables);
    }
}

}  // namespace

namespace splinear::simd::avx512 {

void add(const Shape& shape, const float* smoother, const float* variance, const Code* const* codes,
         const float* steps, std::size_t n_rows, float* tables) {
    by_shape(shape, [&]<int Degree, class Length>(Choice<Degree, Length>) {
        add_shape<Degree, Length>(shape, smoother, variance, codes, steps, n_rows, tables);
    });
}

}  // namespace splinear::simd::avx512

#endif
