// Products and squared lengths of embeddings by AVX-512; lanes are features.
#include "simd/avx2.hpp"
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

// 32 codes as whole numbers of 16 bits, for pairs.hpp.
struct ThirtyTwo {
    using Ints = __m512i;
    using Floats = __m512;
    static constexpr std::size_t size = 32;

    static Ints load(const Code* at) { return _mm512_loadu_si512(at); }
    static Ints all(int v) { return _mm512_set1_epi16(static_cast<short>(v)); }
    static Ints nothing() { return _mm512_setzero_si512(); }
    static Floats no_floats() { return _mm512_setzero_ps(); }
    // Those of 32 numbers that are not below n.
    static Ints from(int n) { return _mm512_movm_epi16(~__mmask32{0} << n); }
    static Ints both(Ints a, Ints b) { return _mm512_and_si512(a, b); }
    static Ints either(Ints a, Ints b) { return _mm512_or_si512(a, b); }
    static Ints without(Ints a, Ints b) { return _mm512_andnot_si512(b, a); }
    static Ints flip_sign(Ints a) { return _mm512_xor_si512(a, all(0x8000)); }
    static Ints plus(Ints a, Ints b) { return _mm512_add_epi16(a, b); }
    static Ints minus(Ints a, Ints b) { return _mm512_sub_epi16(a, b); }
    static Ints excess(Ints a, Ints b) { return _mm512_subs_epu16(a, b); }
    static Ints smaller(Ints a, Ints b) { return _mm512_min_epu16(a, b); }
    static Ints times(Ints a, Ints b) { return _mm512_mulhrs_epi16(a, b); }
    static Ints up(Ints a, int bits) { return _mm512_sll_epi16(a, _mm_cvtsi32_si128(bits)); }
    static Ints low_pairs(Ints a, Ints b) { return _mm512_unpacklo_epi16(a, b); }
    static Ints high_pairs(Ints a, Ints b) { return _mm512_unpackhi_epi16(a, b); }
    static Ints dot(Ints a, Ints b) { return _mm512_madd_epi16(a, b); }
    static Ints plus_wide(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
    static Floats plus(Floats a, Ints b) { return _mm512_add_ps(a, _mm512_cvtepi32_ps(b)); }
    static void store(Ints a, std::int32_t* to) { _mm512_store_si512(to, a); }
    static float sum(Floats a) { return _mm512_reduce_add_ps(a); }
};

#include "simd/pairs.hpp"

}  // namespace

namespace splinear::simd::avx512 {

float norm(const Shape& shape, const float* polynomial, const float* variance, const Code* codes) {
    return by_shape(shape, [&]<int Degree, class Length>(Choice<Degree, Length>) {
        return norm_shape<Degree, Length>(shape, polynomial, variance, codes);
    });
}

void min_products(const Shape& shape, const Code* x, const Code* const* codes, std::size_t n_rows,
                  float* out) {
    if (shape.n_features >= ThirtyTwo::size)
        pairs<Minimum<ThirtyTwo>>(shape, x, codes, n_rows, out);
    else
        avx2::min_products(shape, x, codes, n_rows, out);
}

void hat_products(const Shape& shape, const Code* x, const Code* const* codes, std::size_t n_rows,
                  float* out) {
    if (shape.n_features >= ThirtyTwo::size && shape.fraction_bits < 15)  // a bin fits a sign
        pairs<Hats<ThirtyTwo>>(shape, x, codes, n_rows, out);
    else
        avx2::hat_products(shape, x, codes, n_rows, out);
}

}  // namespace splinear::simd::avx512

#endif
