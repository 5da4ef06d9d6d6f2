// Scores by AVX-512, of codes and of values; lanes are rows.
#include "simd/avx512.hpp"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)

#include <immintrin.h>

namespace {
#include "simd/avx512_tables.hpp"

// sum_p table[bin + p] B_p(a), added to total.
template <int Degree, class Table>
inline __m512 accumulate(__m512 total, const Table& table, __m512i bin, __m512 a) {
    if constexpr (Degree == 0) {
        return _mm512_add_ps(total, table[bin]);
    } else {
        __m512 c0;
        __m512 c1;
        table.pair(bin, c0, c1);
        const __m512 d0 = _mm512_sub_ps(c1, c0);
        if constexpr (Degree == 1) {
            return _mm512_add_ps(total, _mm512_fmadd_ps(a, d0, c0));
        } else {
            const __m512i after = _mm512_add_epi32(bin, _mm512_set1_epi32(2));
            const __m512 half = _mm512_set1_ps(0.5f);
            if constexpr (Degree == 2) {
                // (c0 + c1) / 2 + a d0 + a^2 (d1 - d0) / 2
                const __m512 d1 = _mm512_sub_ps(table[after], c1);
                const __m512 bend = _mm512_mul_ps(half, _mm512_sub_ps(d1, d0));
                const __m512 value =
                    _mm512_fmadd_ps(a, _mm512_fmadd_ps(a, bend, d0), _mm512_fmadd_ps(half, d0, c0));
                return _mm512_add_ps(total, value);
            } else {
                // (c0 + 4 c1 + c2) / 6 + a (d0 + d1) / 2 + a^2 (d1 - d0) / 2
                //   + a^3 (d2 - 2 d1 + d0) / 6
                __m512 c2;
                __m512 c3;
                table.pair(after, c2, c3);
                const __m512 sixth = _mm512_set1_ps(1.0f / 6.0f);
                const __m512 d1 = _mm512_sub_ps(c2, c1);
                const __m512 d2 = _mm512_sub_ps(c3, c2);
                const __m512 bend = _mm512_sub_ps(d1, d0);
                const __m512 twist =
                    _mm512_mul_ps(sixth, _mm512_sub_ps(_mm512_sub_ps(d2, d1), bend));
                const __m512 slope = _mm512_mul_ps(half, _mm512_add_ps(d0, d1));
                const __m512 start = _mm512_fmadd_ps(sixth, bend, c1);
                const __m512 square = _mm512_fmadd_ps(a, twist, _mm512_mul_ps(half, bend));
                return _mm512_add_ps(total,
                                     _mm512_fmadd_ps(a, _mm512_fmadd_ps(a, square, slope), start));
            }
        }
    }
}

template <int Degree, class Length>
void score_shape(const Shape& shape, const float* tables, const Code* const* codes, float* out) {
    using Table = typename LookUp<Length>::Table;
    const int entries = Length::entries(shape);
    const Splitter split(shape);
    const __m512i low_half = _mm512_set1_epi32(0xffff);
    __m512 even = _mm512_loadu_ps(out);
    __m512 odd = _mm512_setzero_ps();
    for (std::size_t j = 0; j < shape.n_features; j += tile) {
        __m512i pairs[16];
        load_tile(codes, j, shape.n_features, pairs);
        const float* table = tables + j * static_cast<std::size_t>(entries);
        for (int i = 0; i < 16; ++i, table += 2 * entries) {
            const __m512i low = _mm512_and_si512(pairs[i], low_half);
            const __m512i high = _mm512_srli_epi32(pairs[i], 16);
            even = accumulate<Degree>(even, Table(table), split.bin(low), split.fraction(low));
            odd = accumulate<Degree>(odd, Table(table + entries), split.bin(high),
                                     split.fraction(high));
        }
    }
    _mm512_storeu_ps(out, _mm512_add_ps(even, odd));
}

// Values of 16 features of 16 rows, turned so that lanes are rows; zero beyond the last feature.
inline void load_values(const float* const* x, std::size_t j, std::size_t n_features,
                        __m512i out[16]) {
    __m512i in[16];
    const std::size_t left = n_features - j;
    const __mmask16 have = static_cast<__mmask16>(left >= 16 ? 0xffff : (1u << left) - 1);
    for (int a = 0; a < 16; ++a) in[a] = _mm512_maskz_loadu_epi32(have, x[a] + j);
    transpose(in, out);
}

// From `at` on, the last of n ascending entries that is not above x; by halving.
template <class Table>
inline __m512i last_not_above(const Table& ascending, __m512 x, __m512i at, int n) {
    for (; n > 1; n -= n / 2) {
        const __m512i next = _mm512_add_epi32(at, _mm512_set1_epi32(n / 2));
        const __mmask16 passed = _mm512_cmp_ps_mask(ascending[next], x, _CMP_LE_OQ);
        at = _mm512_mask_mov_epi32(at, passed, next);
    }
    return at;
}

template <int Entries>
inline __m512i find_bin(const RegisterTable<Entries>& knots, __m512 x, int) {
    return last_not_above(knots, x, _mm512_setzero_si512(), Entries);
}

// 16 of the knots are looked up in a register first: the rest takes half as many fetches.
inline __m512i find_bin(const MemoryTable& knots, __m512 x, int entries) {
    const __m512i each = _mm512_set1_epi32(entries / 16);
    const __m512i places = _mm512_mullo_epi32(
        each, _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    const RegisterTable<16> some(knots[places]);
    const __m512i near = last_not_above(some, x, _mm512_setzero_si512(), 16);
    return last_not_above(knots, x, _mm512_mullo_epi32(each, near), entries / 16);
}

template <int Degree, class Length>
void decide_shape(const Shape& shape, const splinear::simd::BinMap& map, const float* tables,
                  const float* const* x, float* out) {
    using Table = typename LookUp<Length>::Table;
    const auto entries = static_cast<std::size_t>(Length::entries(shape));
    const __m512 zero = _mm512_setzero_ps();
    __m512 total = _mm512_loadu_ps(out);
    __m512 odd = zero;  // becomes NaN by a value that is not finite
    for (std::size_t j = 0; j < shape.n_features; j += 16) {
        __m512i values[16];
        load_values(x, j, shape.n_features, values);
        const std::size_t left = shape.n_features - j;
        const int n = left < 16 ? static_cast<int>(left) : 16;
        for (int i = 0; i < n; ++i) {
            const std::size_t k = j + static_cast<std::size_t>(i);
            const __m512 value = _mm512_castsi512_ps(values[i]);
            const __m512 lo = _mm512_set1_ps(map.lo[k]);
            const __m512 end = _mm512_set1_ps(map.end[k]);
            __m512i bin;
            __m512 a;
            // max() and min() give the second operand for a NaN.
            if (map.is_warped[k] != 0) {
                const float* knots = map.knots + 2 * entries * k;
                const __m512 inside = _mm512_min_ps(_mm512_max_ps(value, lo), end);
                const Table lower(knots);
                bin = find_bin(lower, inside, static_cast<int>(entries));
                a = _mm512_mul_ps(_mm512_sub_ps(inside, lower[bin]), Table(knots + entries)[bin]);
            } else {
                __m512 t = _mm512_mul_ps(_mm512_sub_ps(value, lo), _mm512_set1_ps(map.slope[k]));
                t = _mm512_min_ps(_mm512_max_ps(t, zero), end);
                bin = _mm512_cvttps_epi32(t);
                a = _mm512_sub_ps(t, _mm512_cvtepi32_ps(bin));
            }
            total = accumulate<Degree>(total, Table(tables + k * entries), bin, a);
            odd = _mm512_fmadd_ps(value, zero, odd);
        }
    }
    _mm512_storeu_ps(out, _mm512_add_ps(total, odd));
}

}  // namespace

namespace splinear::simd::avx512 {

void score(const Shape& shape, const float* tables, const Code* const* codes, float* out) {
    by_shape(shape, [&]<int Degree, class Length>(Choice<Degree, Length>) {
        score_shape<Degree, Length>(shape, tables, codes, out);
    });
}

void decide(const Shape& shape, const BinMap& map, const float* tables, const float* const* x,
            float* out) {
    by_shape(shape, [&]<int Degree, class Length>(Choice<Degree, Length>) {
        decide_shape<Degree, Length>(shape, map, tables, x, out);
    });
}

}  // namespace splinear::simd::avx512

#endif
