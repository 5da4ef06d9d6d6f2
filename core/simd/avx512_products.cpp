// Products and squared lengths of embeddings by AVX-512; lanes are features.
#include "simd/avx512.hpp"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)

#include <immintrin.h>

namespace {
#include "simd/avx512_tables.hpp"

// Lanes are features here: all share the polynomials; the short ones stay in registers.
template <int Degree, class Length>
float norm_shape(const Shape& shape, const float* polynomial, const float* variance,
                 const Code* codes) {
    using Table = typename LookUp<Length>::Table;
    const int entries = Length::entries(shape);
    const Splitter split(shape);
    __m512 total = _mm512_setzero_ps();
    for (std::size_t j = 0; j < shape.n_features; j += 16) {
        const std::size_t left = shape.n_features - j;
        const __mmask16 have = static_cast<__mmask16>(left >= 16 ? 0xffff : (1u << left) - 1);
        const __m512i code = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(have, codes + j));
        const __m512i bin = split.bin(code);
        const __m512 a = split.fraction(code);
        __m512 value = Table(polynomial + 2 * Degree * entries)[bin];
        for (int i = 2 * Degree - 1; i >= 0; --i)
            value = _mm512_fmadd_ps(value, a, Table(polynomial + i * entries)[bin]);
        total = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(have, variance + j), value, total);
    }
    return _mm512_reduce_add_ps(total);
}

}  // namespace

namespace splinear::simd::avx512 {

float norm(const Shape& shape, const float* polynomial, const float* variance, const Code* codes) {
    return by_shape(shape, [&]<int Degree, class Length>(Choice<Degree, Length>) {
        return norm_shape<Degree, Length>(shape, polynomial, variance, codes);
    });
}

// 32 features at a time, in 16-bit arithmetic: fractions as multiples of 2^-15, their products
// rounded to that.
void min_products(const Shape& shape, const Code* x, const Code* const* codes, std::size_t n_rows,
                  float* out) {
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

}  // namespace splinear::simd::avx512

#endif
