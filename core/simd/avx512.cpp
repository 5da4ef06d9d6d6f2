// Kernels for AVX-512 (F, BW, DQ, VL): tables are looked up in registers, by permutes.
#include "simd/kernels.hpp"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)

#include <immintrin.h>

namespace {
#include "simd/loops.hpp"
#include "simd/smooth_loops.hpp"

using splinear::simd::tile;

// One feature's table, 16 entries a register.
template <int Entries>
struct Table {
    __m512 part[Entries / 16];

    explicit Table(const float* entries) {
        for (int i = 0; i < Entries / 16; ++i) part[i] = _mm512_load_ps(entries + 16 * i);
    }

    __m512 operator[](__m512i index) const {
        if constexpr (Entries == 16) {
            return _mm512_permutexvar_ps(index, part[0]);
        } else if constexpr (Entries == 32) {
            return _mm512_permutex2var_ps(part[0], index, part[1]);
        } else {
            const __m512 low = _mm512_permutex2var_ps(part[0], index, part[1]);
            const __m512 high = [&] {
                if constexpr (Entries == 48)
                    return _mm512_permutexvar_ps(index, part[2]);
                else
                    return _mm512_permutex2var_ps(part[2], index, part[3]);
            }();
            return _mm512_mask_blend_ps(_mm512_test_epi32_mask(index, _mm512_set1_epi32(32)), low,
                                        high);
        }
    }
};

// Splits 16 codes into bins and fractions.
struct Splitter {
    __m512i mask;
    __m128i bits;
    __m512 unit;

    explicit Splitter(const Shape& shape)
        : mask(_mm512_set1_epi32((1 << shape.fraction_bits) - 1)),
          bits(_mm_cvtsi32_si128(shape.fraction_bits)),
          unit(_mm512_set1_ps(1.0f / static_cast<float>(1 << shape.fraction_bits))) {}

    __m512i bin(__m512i code) const { return _mm512_srl_epi32(code, bits); }
    __m512 fraction(__m512i code) const {
        return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_and_si512(code, mask)), unit);
    }
};

// sum_p table[bin + p] B_p(a), added to total.
template <int Degree, int Entries>
inline __m512 accumulate(__m512 total, const Table<Entries>& table, __m512i bin, __m512 a) {
    const __m512i one = _mm512_set1_epi32(1);
    const __m512 c0 = table[bin];
    if constexpr (Degree == 0) {
        return _mm512_add_ps(total, c0);
    } else {
        const __m512i next = _mm512_add_epi32(bin, one);
        const __m512 c1 = table[next];
        if constexpr (Degree == 1) {
            return _mm512_add_ps(total, _mm512_fmadd_ps(a, _mm512_sub_ps(c1, c0), c0));
        } else {
            const __m512i after = _mm512_add_epi32(next, one);
            const __m512 c2 = table[after];
            const __m512 half = _mm512_set1_ps(0.5f);
            const __m512 d0 = _mm512_sub_ps(c1, c0);
            const __m512 d1 = _mm512_sub_ps(c2, c1);
            if constexpr (Degree == 2) {
                // (c0 + c1) / 2 + a d0 + a^2 (d1 - d0) / 2
                const __m512 bend = _mm512_mul_ps(half, _mm512_sub_ps(d1, d0));
                const __m512 value =
                    _mm512_fmadd_ps(a, _mm512_fmadd_ps(a, bend, d0), _mm512_fmadd_ps(half, d0, c0));
                return _mm512_add_ps(total, value);
            } else {
                // (c0 + 4 c1 + c2) / 6 + a (d0 + d1) / 2 + a^2 (d1 - d0) / 2
                //   + a^3 (d2 - 2 d1 + d0) / 6
                const __m512 c3 = table[_mm512_add_epi32(after, one)];
                const __m512 sixth = _mm512_set1_ps(1.0f / 6.0f);
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

// out[i]: lane a holds element i of in[a]; elements are 32 bits, here two codes each.
inline void transpose(const __m512i in[16], __m512i out[16]) {
    __m512i s[16];
    __m512i t[16];
    for (int i = 0; i < 16; i += 2) {
        s[i] = _mm512_unpacklo_epi32(in[i], in[i + 1]);
        s[i + 1] = _mm512_unpackhi_epi32(in[i], in[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        t[i] = _mm512_unpacklo_epi64(s[i], s[i + 2]);
        t[i + 1] = _mm512_unpackhi_epi64(s[i], s[i + 2]);
        t[i + 2] = _mm512_unpacklo_epi64(s[i + 1], s[i + 3]);
        t[i + 3] = _mm512_unpackhi_epi64(s[i + 1], s[i + 3]);
    }
    for (int i = 0; i < 4; ++i) {
        s[i] = _mm512_shuffle_i32x4(t[i], t[i + 4], 0x88);
        s[i + 4] = _mm512_shuffle_i32x4(t[i], t[i + 4], 0xdd);
        s[i + 8] = _mm512_shuffle_i32x4(t[i + 8], t[i + 12], 0x88);
        s[i + 12] = _mm512_shuffle_i32x4(t[i + 8], t[i + 12], 0xdd);
    }
    for (int i = 0; i < 8; ++i) {
        out[i] = _mm512_shuffle_i32x4(s[i], s[i + 8], 0x88);
        out[i + 8] = _mm512_shuffle_i32x4(s[i], s[i + 8], 0xdd);
    }
}

// The codes of `tile` features from j on, of 16 rows; zero beyond the last feature.
inline void load_tile(const Code* const* codes, std::size_t j, std::size_t n_features,
                      __m512i out[16]) {
    __m512i in[16];
    const std::size_t left = n_features - j;
    const __mmask32 have = left >= tile ? ~__mmask32{0} : (__mmask32{1} << left) - 1;
    for (int a = 0; a < 16; ++a) in[a] = _mm512_maskz_loadu_epi16(have, codes[a] + j);
    transpose(in, out);
}

template <int Degree, int Entries>
void score_shape(const Shape& shape, const float* tables, const Code* const* codes, float* out) {
    const Splitter split(shape);
    const __m512i low_half = _mm512_set1_epi32(0xffff);
    __m512 even = _mm512_loadu_ps(out);
    __m512 odd = _mm512_setzero_ps();
    for (std::size_t j = 0; j < shape.n_features; j += tile) {
        __m512i pairs[16];
        load_tile(codes, j, shape.n_features, pairs);
        const float* table = tables + j * Entries;
        for (int i = 0; i < 16; ++i, table += 2 * Entries) {
            const __m512i low = _mm512_and_si512(pairs[i], low_half);
            const __m512i high = _mm512_srli_epi32(pairs[i], 16);
            even = accumulate<Degree>(even, Table<Entries>(table), split.bin(low),
                                      split.fraction(low));
            odd = accumulate<Degree>(odd, Table<Entries>(table + Entries), split.bin(high),
                                     split.fraction(high));
        }
    }
    _mm512_storeu_ps(out, _mm512_add_ps(even, odd));
}

template <int Degree>
void score_degree512(const Shape& shape, const float* tables, const Code* const* codes,
                     float* out) {
    switch (shape.entries) {
        case 16: return score_shape<Degree, 16>(shape, tables, codes, out);
        case 32: return score_shape<Degree, 32>(shape, tables, codes, out);
        case 48: return score_shape<Degree, 48>(shape, tables, codes, out);
        default: return score_shape<Degree, 64>(shape, tables, codes, out);
    }
}

void score512(const Shape& shape, const float* tables, const Code* const* codes, float* out) {
    switch (shape.degree) {
        case 0: return score_degree512<0>(shape, tables, codes, out);
        case 1: return score_degree512<1>(shape, tables, codes, out);
        case 2: return score_degree512<2>(shape, tables, codes, out);
        default: return score_degree512<3>(shape, tables, codes, out);
    }
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

template <int Degree, int Entries>
void decide_shape(const Shape& shape, const splinear::simd::Line& line, const float* tables,
                  const float* const* x, float* out) {
    const __m512 zero = _mm512_setzero_ps();
    const __m512 last = _mm512_set1_ps(line.last);
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
            __m512 t = _mm512_mul_ps(_mm512_sub_ps(value, _mm512_set1_ps(line.lo[k])),
                                     _mm512_set1_ps(line.slope[k]));
            t = _mm512_min_ps(_mm512_max_ps(t, zero), last);  // the second operand for a NaN
            const __m512i bin = _mm512_cvttps_epi32(t);
            const __m512 a = _mm512_sub_ps(t, _mm512_cvtepi32_ps(bin));
            total = accumulate<Degree>(total, Table<Entries>(tables + k * Entries), bin, a);
            odd = _mm512_fmadd_ps(value, zero, odd);
        }
    }
    _mm512_storeu_ps(out, _mm512_add_ps(total, odd));
}

template <int Degree>
void decide_degree512(const Shape& shape, const splinear::simd::Line& line, const float* tables,
                      const float* const* x, float* out) {
    switch (shape.entries) {
        case 16: return decide_shape<Degree, 16>(shape, line, tables, x, out);
        case 32: return decide_shape<Degree, 32>(shape, line, tables, x, out);
        case 48: return decide_shape<Degree, 48>(shape, line, tables, x, out);
        default: return decide_shape<Degree, 64>(shape, line, tables, x, out);
    }
}

void decide512(const Shape& shape, const splinear::simd::Line& line, const float* tables,
               const float* const* x, float* out) {
    switch (shape.degree) {
        case 1: return decide_degree512<1>(shape, line, tables, x, out);
        case 2: return decide_degree512<2>(shape, line, tables, x, out);
        default: return decide_degree512<3>(shape, line, tables, x, out);
    }
}

// The paper's step A on a table in registers: running sums from the right.
template <int Parts>
inline void sum_from_right(__m512 entry[Parts]) {
    const __m512i zero = _mm512_setzero_si512();
    __m512 carry = _mm512_setzero_ps();
    for (int i = Parts - 1; i >= 0; --i) {
        __m512 v = entry[i];
        v = _mm512_add_ps(
            v, _mm512_castsi512_ps(_mm512_alignr_epi32(zero, _mm512_castps_si512(v), 1)));
        v = _mm512_add_ps(
            v, _mm512_castsi512_ps(_mm512_alignr_epi32(zero, _mm512_castps_si512(v), 2)));
        v = _mm512_add_ps(
            v, _mm512_castsi512_ps(_mm512_alignr_epi32(zero, _mm512_castps_si512(v), 4)));
        v = _mm512_add_ps(
            v, _mm512_castsi512_ps(_mm512_alignr_epi32(zero, _mm512_castps_si512(v), 8)));
        entry[i] = _mm512_add_ps(v, carry);
        carry = _mm512_broadcastss_ps(_mm512_castps512_ps128(entry[i]));
    }
}

// Step B: running sums from the left.
template <int Parts>
inline void sum_from_left(__m512 entry[Parts]) {
    const __m512i zero = _mm512_setzero_si512();
    const __m512i last = _mm512_set1_epi32(15);
    __m512 carry = _mm512_setzero_ps();
    for (int i = 0; i < Parts; ++i) {
        __m512 v = entry[i];
        v = _mm512_add_ps(
            v, _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(v), zero, 15)));
        v = _mm512_add_ps(
            v, _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(v), zero, 14)));
        v = _mm512_add_ps(
            v, _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(v), zero, 12)));
        v = _mm512_add_ps(
            v, _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(v), zero, 8)));
        entry[i] = _mm512_add_ps(v, carry);
        carry = _mm512_permutexvar_ps(last, entry[i]);
    }
}

// Adds L_d times the sum of the given partial sums to one feature's table. What step B leaves
// behind the last basis function is never read with a weight other than zero.
template <int Entries, int Copies>
inline void add_sums(const Shape& shape, const float (*sum)[Entries], float* table) {
    constexpr int parts = Entries / 16;
    __m512 entry[parts];
    for (int i = 0; i < parts; ++i) {
        entry[i] = _mm512_load_ps(sum[0] + 16 * i);
        for (int c = 1; c < Copies; ++c)
            entry[i] = _mm512_add_ps(entry[i], _mm512_load_ps(sum[c] + 16 * i));
    }
    for (int d = 0; d < shape.order; ++d) sum_from_right<parts>(entry);
    for (int d = 0; d < shape.order; ++d) sum_from_left<parts>(entry);
    for (int i = 0; i < parts; ++i)
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
template <int Degree, int Entries>
void add_rows(const Shape& shape, const float* scale, const Code* const* codes, const float* steps,
              std::size_t n_groups, float* tables) {
    const Splitter split(shape);
    const __m512i low_half = _mm512_set1_epi32(0xffff);
    for (std::size_t j = 0; j < shape.n_features; j += tile) {
        __m512i pairs[4][16];
        for (std::size_t g = 0; g < n_groups; ++g)
            load_tile(codes + 16 * g, j, shape.n_features, pairs[g]);
        const std::size_t left = shape.n_features - j;
        const int n = left < tile ? static_cast<int>(left) : tile;
        for (int i = 0; i < n; ++i) {
            if (scale[j + static_cast<std::size_t>(i)] == 0.0f) continue;
            const __m512 weight = _mm512_set1_ps(scale[j + static_cast<std::size_t>(i)]);
            alignas(64) float sum[4][Entries] = {};
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
                    for (int p = 0; p <= Degree; ++p) sum[a % 4][bin[a] + p] += w[p][a];
            }
            add_sums<Entries, 4>(shape, sum, tables + (j + static_cast<std::size_t>(i)) * Entries);
        }
    }
}

// One row alone: its few rows of the smoother go straight into the tables.
template <int Degree, int Entries>
void add_one(const Shape& shape, const float* smoother, const float* scale, const Code* codes,
             float step, float* table) {
    constexpr int parts = Entries / 16;
    for (std::size_t j = 0; j < shape.n_features; ++j, table += Entries) {
        const Position at = split(shape, codes[j]);
        float w[Degree + 1];
        weights<Degree>(at.fraction, w);
        for (int p = 0; p <= Degree; ++p) w[p] *= scale[j] * step;
        if (smoother == nullptr) {
            for (int p = 0; p <= Degree; ++p) table[at.bin + p] += w[p];
            continue;
        }
        const float* from = smoother + at.bin * Entries;
        for (int i = 0; i < parts; ++i) {
            __m512 entry = _mm512_load_ps(table + 16 * i);
            for (int p = 0; p <= Degree; ++p)
                entry = _mm512_fmadd_ps(_mm512_set1_ps(w[p]),
                                        _mm512_load_ps(from + p * Entries + 16 * i), entry);
            _mm512_store_ps(table + 16 * i, entry);
        }
    }
}

template <int Degree, int Entries>
void add_shape(const Shape& shape, const float* smoother, const float* scale,
               const Code* const* codes, const float* steps, std::size_t n_rows, float* tables) {
    if (n_rows == 1) {
        add_one<Degree, Entries>(shape, smoother, scale, codes[0], steps[0], tables);
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
        add_rows<Degree, Entries>(shape, scale, group, step, n_groups, tables);
    }
}

template <int Degree>
void add_degree512(const Shape& shape, const float* smoother, const float* scale,
                   const Code* const* codes, const float* steps, std::size_t n_rows,
                   float* tables) {
    switch (shape.entries) {
        case 16: return add_shape<Degree, 16>(shape, smoother, scale, codes, steps, n_rows, tables);
        case 32: return add_shape<Degree, 32>(shape, smoother, scale, codes, steps, n_rows, tables);
        case 48: return add_shape<Degree, 48>(shape, smoother, scale, codes, steps, n_rows, tables);
        default: return add_shape<Degree, 64>(shape, smoother, scale, codes, steps, n_rows, tables);
    }
}

void add512(const Shape& shape, const float* smoother, const float* scale, const Code* const* codes,
            const float* steps, std::size_t n_rows, float* tables) {
    switch (shape.degree) {
        case 0: return add_degree512<0>(shape, smoother, scale, codes, steps, n_rows, tables);
        case 1: return add_degree512<1>(shape, smoother, scale, codes, steps, n_rows, tables);
        case 2: return add_degree512<2>(shape, smoother, scale, codes, steps, n_rows, tables);
        default: return add_degree512<3>(shape, smoother, scale, codes, steps, n_rows, tables);
    }
}

// Lanes are features here: all share the polynomials, which stay in registers.
template <int Degree, int Entries>
float norm_shape(const Shape& shape, const float* polynomial, const float* scale,
                 const Code* codes) {
    const Splitter split(shape);
    __m512 total = _mm512_setzero_ps();
    for (std::size_t j = 0; j < shape.n_features; j += 16) {
        const std::size_t left = shape.n_features - j;
        const __mmask16 have = static_cast<__mmask16>(left >= 16 ? 0xffff : (1u << left) - 1);
        const __m512i code = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(have, codes + j));
        const __m512i bin = split.bin(code);
        const __m512 a = split.fraction(code);
        __m512 value = Table<Entries>(polynomial + 2 * Degree * Entries)[bin];
        for (int i = 2 * Degree - 1; i >= 0; --i)
            value = _mm512_fmadd_ps(value, a, Table<Entries>(polynomial + i * Entries)[bin]);
        total = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(have, scale + j), value, total);
    }
    return _mm512_reduce_add_ps(total);
}

template <int Degree>
float norm_degree512(const Shape& shape, const float* polynomial, const float* scale,
                     const Code* codes) {
    switch (shape.entries) {
        case 16: return norm_shape<Degree, 16>(shape, polynomial, scale, codes);
        case 32: return norm_shape<Degree, 32>(shape, polynomial, scale, codes);
        case 48: return norm_shape<Degree, 48>(shape, polynomial, scale, codes);
        default: return norm_shape<Degree, 64>(shape, polynomial, scale, codes);
    }
}

float norm512(const Shape& shape, const float* polynomial, const float* scale, const Code* codes) {
    switch (shape.degree) {
        case 0: return norm_degree512<0>(shape, polynomial, scale, codes);
        case 1: return norm_degree512<1>(shape, polynomial, scale, codes);
        case 2: return norm_degree512<2>(shape, polynomial, scale, codes);
        default: return norm_degree512<3>(shape, polynomial, scale, codes);
    }
}

// 32 features at a time, in 16-bit arithmetic: fractions as multiples of 2^-15, their products
// rounded to that.
void min_products512(const Shape& shape, const Code* x, const Code* const* codes,
                     std::size_t n_rows, float* out) {
    const int bits = shape.fraction_bits;
    const __m512i ones = _mm512_set1_epi16(1);
    const __m512i middle = _mm512_set1_epi16(static_cast<short>(0x8000));
    const __m512i one_bin = _mm512_set1_epi16(static_cast<short>(1 << bits));
    const __m128i to_top = _mm_cvtsi32_si128(16 - bits);
    const std::size_t n_tiles = (shape.n_features + tile - 1) / tile;
    const float unit = 1.0f / static_cast<float>(1 << bits);
    const __m512i shifted_down = _mm512_set1_epi32(static_cast<int>(n_tiles * 65536));
    for (std::size_t b = 0; b < n_rows; ++b) {
        const Code* y = codes[b];
        __m512i whole = _mm512_setzero_si512();
        __m512i products = _mm512_setzero_si512();
        for (std::size_t t = 0; t < n_tiles; ++t) {
            const std::size_t left = shape.n_features - t * tile;
            const __mmask32 have = left >= tile ? ~__mmask32{0} : (__mmask32{1} << left) - 1;
            const __m512i p = _mm512_maskz_loadu_epi16(have, x + t * tile);
            const __m512i q = _mm512_maskz_loadu_epi16(have, y + t * tile);
            // Shifted down by 2^15 to fit a signed number; made good at the end.
            const __m512i low = _mm512_xor_si512(_mm512_min_epu16(p, q), middle);
            whole = _mm512_add_epi32(whole, _mm512_madd_epi16(low, ones));
            const __mmask32 same = _mm512_cmplt_epu16_mask(_mm512_xor_si512(p, q), one_bin);
            const __m512i a = _mm512_srli_epi16(_mm512_sll_epi16(p, to_top), 1);
            const __m512i c = _mm512_srli_epi16(_mm512_sll_epi16(q, to_top), 1);
            const __m512i product =
                _mm512_maskz_sub_epi16(same, _mm512_mulhrs_epi16(a, c), _mm512_min_epi16(a, c));
            products = _mm512_add_epi32(products, _mm512_madd_epi16(product, ones));
        }
        // What was shifted down comes back: 2^15 for each of the two numbers a lane takes per tile.
        const __m512i minima = _mm512_add_epi32(whole, shifted_down);
        out[b] = _mm512_reduce_add_ps(
            _mm512_fmadd_ps(_mm512_cvtepi32_ps(products), _mm512_set1_ps(1.0f / 32768.0f),
                            _mm512_mul_ps(_mm512_cvtepu32_ps(minima), _mm512_set1_ps(unit))));
    }
}

}  // namespace

namespace splinear::simd {

const Kernels* avx512_kernels() {
    static constexpr Kernels kernels{"avx512",  score512,      add512,
                                     decide512, norm512,       min_products512,
                                     nullptr,   fourier_loops, hermite_loops};
    return &kernels;
}

}  // namespace splinear::simd

#else

namespace splinear::simd {

const Kernels* avx512_kernels() { return nullptr; }

}  // namespace splinear::simd

#endif
