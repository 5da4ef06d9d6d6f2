// Products and squared lengths of embeddings by AVX-512; lanes are features.
#include "simd/avx512.hpp"
#include "simd/clones.hpp"

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

constexpr int most = splinear::simd::max_team;
constexpr std::size_t codes_in_vector = 32;

inline __m512i load_codes(const Code* at) { return _mm512_loadu_si512(at); }

// What the next two compute from a row's codes, 32 features at a time.
struct Units {
    __m512i mask;
    __m512i one;  // a bin, or all but 2^-15 of it
    __m128i to_top;
    float unit;

    explicit Units(int bits)
        : mask(_mm512_set1_epi16(static_cast<short>((1 << bits) - 1))),
          one(_mm512_set1_epi16(static_cast<short>(bits < 15 ? 1 << bits : 32767))),
          to_top(_mm_cvtsi32_si128(15 - bits)),
          unit(1.0f / static_cast<float>(1 << bits)) {}
};

// min(x, y) + [same bin] (a a' - min(a, a')), as by AVX2.
struct Minimum {
    __m512i begin;   // of x's bin
    __m512i factor;  // a times 2^15

    struct Sum {
        __m512i total = _mm512_setzero_si512();

        float value(const Units& units, std::size_t n) const {
            alignas(64) int parts[16];
            _mm512_store_si512(parts, total);
            std::int64_t all = static_cast<std::int64_t>(n) * (32 << 15);
            for (const int part : parts) all += part;
            return static_cast<float>(all) * units.unit;
        }
    };

    // keep: which features count.
    void set(const Units& units, __m512i x, __m512i keep) {
        const __m512i kept = _mm512_and_si512(x, keep);
        begin = _mm512_andnot_si512(units.mask, kept);
        factor = _mm512_sll_epi16(_mm512_and_si512(kept, units.mask), units.to_top);
    }

    // Numbers are moved down by 2^15 to fit a sign.
    void add(const Units& units, __m512i y, Sum& sum) const {
        const __m512i c = _mm512_min_epu16(_mm512_subs_epu16(y, begin), units.one);
        const __m512i inside = _mm512_add_epi16(begin, _mm512_mulhrs_epi16(factor, c));
        const __m512i moved =
            _mm512_xor_si512(_mm512_min_epu16(inside, y), _mm512_set1_epi16(-0x8000));
        sum.total = _mm512_add_epi32(sum.total, _mm512_madd_epi16(moved, _mm512_set1_epi16(1)));
    }
};

// (1 - a) h(y - begin) + a h(y - begin - 1) with h(t) = max(0, 1 - |t|).
struct Hats {
    __m512i begin;  // of x's bin
    __m512i end;
    __m512i low;  // 1 - a and a, in turn, of the features that unpacking takes first
    __m512i high;

    struct Sum {
        __m512 total = _mm512_setzero_ps();

        float value(const Units& units, std::size_t) const {
            return _mm512_reduce_add_ps(total) * units.unit * units.unit;
        }
    };

    void set(const Units& units, __m512i x, __m512i keep) {
        begin = _mm512_andnot_si512(units.mask, x);
        end = _mm512_add_epi16(begin, units.one);
        const __m512i a = _mm512_and_si512(x, units.mask);
        const __m512i right = _mm512_and_si512(a, keep);
        const __m512i left = _mm512_and_si512(_mm512_sub_epi16(units.one, a), keep);
        low = _mm512_unpacklo_epi16(left, right);
        high = _mm512_unpackhi_epi16(left, right);
    }

    void add(const Units& units, __m512i y, Sum& sum) const {
        const __m512i left = hat(units, y, begin);
        const __m512i right = hat(units, y, end);
        const __m512i some = _mm512_madd_epi16(_mm512_unpacklo_epi16(left, right), low);
        const __m512i others = _mm512_madd_epi16(_mm512_unpackhi_epi16(left, right), high);
        sum.total = _mm512_add_ps(sum.total, _mm512_cvtepi32_ps(_mm512_add_epi32(some, others)));
    }

private:
    static __m512i hat(const Units& units, __m512i y, __m512i top) {
        const __m512i away = _mm512_or_si512(_mm512_subs_epu16(y, top), _mm512_subs_epu16(top, y));
        return _mm512_subs_epu16(units.one, away);
    }
};

// Which features of a vector are not among the first n_seen.
inline __m512i not_seen(std::size_t n_seen) { return _mm512_movm_epi16(~__mmask32{0} << n_seen); }

#include "simd/code_pairs.hpp"

}  // namespace

namespace splinear::simd::avx512 {

float norm(const Shape& shape, const float* polynomial, const float* variance, const Code* codes) {
    return by_shape(shape, [&]<int Degree, class Length>(Choice<Degree, Length>) {
        return norm_shape<Degree, Length>(shape, polynomial, variance, codes);
    });
}

void min_products(const Shape& shape, const Code* x, const Code* const* codes, std::size_t n_rows,
                  float* out) {
    min_pairs(shape, x, codes, n_rows, out);
}

void hat_products(const Shape& shape, const Code* x, const Code* const* codes, std::size_t n_rows,
                  float* out) {
    hat_pairs(shape, x, codes, n_rows, out);
}

}  // namespace splinear::simd::avx512

#endif
