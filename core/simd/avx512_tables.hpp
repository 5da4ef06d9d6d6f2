// What the kernels for AVX-512 share. Included, inside an unnamed namespace of its own, by every
// file that implements them; see the warning in kernels.hpp.
#include "simd/loops.hpp"
#include "simd/shapes.hpp"

using splinear::simd::tile;

// One feature's table of up to 64 entries, 16 of them a register, looked up by permutes.
template <int Entries>
struct RegisterTable {
    __m512 part[Entries / 16];

    RegisterTable() = default;
    explicit RegisterTable(const float* entries) {
        for (int i = 0; i < Entries / 16; ++i) part[i] = _mm512_loadu_ps(entries + 16 * i);
    }
    explicit RegisterTable(__m512 only) : part{only} {}

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

    // The entries at index and at index + 1.
    void pair(__m512i index, __m512& first, __m512& second) const {
        first = (*this)[index];
        second = (*this)[_mm512_add_epi32(index, _mm512_set1_epi32(1))];
    }
};

// A longer one, looked up in memory.
struct MemoryTable {
    const float* entries;

    explicit MemoryTable(const float* table) : entries(table) {}

    __m512 operator[](__m512i index) const { return _mm512_i32gather_ps(index, entries, 4); }

    // Two neighbors are fetched as one number of 64 bits: half the fetches.
    void pair(__m512i index, __m512& first, __m512& second) const {
        const __m512i even =
            _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
        const __m512 low =
            _mm512_castpd_ps(_mm512_i32gather_pd(_mm512_castsi512_si256(index), entries, 4));
        const __m512 high =
            _mm512_castpd_ps(_mm512_i32gather_pd(_mm512_extracti64x4_epi64(index, 1), entries, 4));
        first = _mm512_permutex2var_ps(low, even, high);
        second = _mm512_permutex2var_ps(low, odd, high);
    }
};

// How a table of that length is looked up.
template <class Length>
struct LookUp {
    using Table = RegisterTable<Length::most>;
};

template <>
struct LookUp<Long> {
    using Table = MemoryTable;
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

// out[i]: lane a holds element i of in[a]; elements are 32 bits, here two codes each.
SPLINEAR_INLINE void transpose(const __m512i in[16], __m512i out[16]) {
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
SPLINEAR_INLINE void load_tile(const Code* const* codes, std::size_t j, std::size_t n_features,
                               __m512i out[16]) {
    __m512i in[16];
    const std::size_t left = n_features - j;
    const __mmask32 have = left >= tile ? ~__mmask32{0} : (__mmask32{1} << left) - 1;
    for (int a = 0; a < 16; ++a) in[a] = _mm512_maskz_loadu_epi16(have, codes[a] + j);
    transpose(in, out);
}

constexpr std::size_t lines_ahead = 4;

// The rows lie far apart, and are more than a processor follows by itself. They are asked for ahead
// of being read: line i of every 16 of their cache lines from feature j on, or, behind the last
// feature, of the rows that are next (if any). For the second cache: the nearest one waits for few
// lines at a time.
template <int Vectors, class Value>
SPLINEAR_INLINE void ask_ahead(const Value* const* rows, const Value* const* next, std::size_t j,
                               std::size_t n_features, std::size_t i) {
    j += lines_ahead * (64 / sizeof(Value));
    if (j >= n_features) {
        if (next == nullptr) return;
        rows = next;
        j -= n_features;
    }
    for (std::size_t v = 0; v < Vectors; ++v)
        _mm_prefetch(reinterpret_cast<const char*>(rows[16 * v + i] + j), _MM_HINT_T1);
}

// body<Vectors>(a, next) for blocks of 16 Vectors of n_rows rows, a multiple of 16: the first row
// of a block, and the row behind it from which there is another block of that length, or n_rows.
template <int Most, class Body>
inline void in_blocks(std::size_t n_rows, const Body& body) {
    constexpr std::size_t block = 16 * Most;
    std::size_t a = 0;
    for (; a + block <= n_rows; a += block)
        body.template operator()<Most>(a, a + 2 * block <= n_rows ? a + block : n_rows);
    for (; a < n_rows; a += 16) body.template operator()<1>(a, a + 16 < n_rows ? a + 16 : n_rows);
}
