// What the kernels for AVX2 share. Included, inside an unnamed namespace of its own, by every file
// that implements them; see the warning in kernels.hpp.
//
// Lanes are features, as the codes of a row lie: nothing has to be turned. The entries of a table
// that one place needs are neighbors, and are fetched by one load of 64 or 128 bits. Permuting
// registers takes more instructions from 16 entries on, and gathers more time.
#include "simd/loops.hpp"
#include "simd/shapes.hpp"

using splinear::simd::tile;
constexpr int most_in_tiles = 512;  // entries of tables of which a tile fits a near cache

// Bins and fractions, in units of a code, of a tile of features of one row. They go through memory:
// code that fetches entries needs the bins one by one.
struct RowTile {
    alignas(32) Code bin[tile];
    alignas(32) Code fraction[tile];
};

// Splits codes, 16 at a time.
struct Splitter {
    __m128i bits;
    __m256i mask;
    __m256 unit;

    explicit Splitter(const Shape& shape)
        : bits(_mm_cvtsi32_si128(shape.fraction_bits)),
          mask(_mm256_set1_epi16(static_cast<short>((1 << shape.fraction_bits) - 1))),
          unit(_mm256_set1_ps(1.0f / static_cast<float>(1 << shape.fraction_bits))) {}

    // The features from j on; zeros beyond the last.
    void load(const Code* codes, std::size_t j, std::size_t n_features, RowTile& out) const {
        if (n_features - j >= tile) return load_whole(codes + j, out);
        Code rest[tile] = {};
        for (std::size_t i = j; i < n_features; ++i) rest[i - j] = codes[i];
        load_whole(rest, out);
    }

    void load_whole(const Code* codes, RowTile& out) const {
        for (int i = 0; i < tile; i += 16) {
            const __m256i some = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + i));
            _mm256_store_si256(reinterpret_cast<__m256i*>(out.bin + i),
                               _mm256_srl_epi16(some, bits));
            _mm256_store_si256(reinterpret_cast<__m256i*>(out.fraction + i),
                               _mm256_and_si256(some, mask));
        }
    }

    // Of 16 features, the fractions of 0, ..., 3 and 8, ..., 11, or of those 4 behind them.
    template <int First>
    __m256 fractions(const Code* sixteen) const {
        const __m256i some = _mm256_load_si256(reinterpret_cast<const __m256i*>(sixteen));
        const __m256i zero = _mm256_setzero_si256();
        const __m256i eight =
            First == 0 ? _mm256_unpacklo_epi16(some, zero) : _mm256_unpackhi_epi16(some, zero);
        return _mm256_mul_ps(_mm256_cvtepi32_ps(eight), unit);
    }
};

template <int I>
struct Number {
    static constexpr int value = I;
};

// body(Number<i>) for the features of a tile at which fractions() may begin: unrolled.
template <class Body>
inline void for_each_eight(const Body& body) {
    body(Number<0>{});
    body(Number<4>{});
    body(Number<16>{});
    body(Number<20>{});
}

// The weights of 8 features, those of one feature side by side in half a register: two features
// and two weights each for degree 1, else one feature and four weights, of which the last is zero
// for degree 2. The upper half is for the features `apart` behind those of the lower.
template <int Degree>
struct Weights {
    static constexpr int n = Degree == 1 ? 2 : 4;
    __m256 w[n];

    explicit Weights(__m256 a) {
        const __m256 rest = _mm256_sub_ps(_mm256_set1_ps(1.0f), a);
        if constexpr (Degree == 1) {
            w[0] = _mm256_unpacklo_ps(rest, a);
            w[1] = _mm256_unpackhi_ps(rest, a);
        } else if constexpr (Degree == 2) {
            const __m256 half = _mm256_set1_ps(0.5f);
            const __m256 first = _mm256_mul_ps(half, _mm256_mul_ps(rest, rest));
            const __m256 last = _mm256_mul_ps(half, _mm256_mul_ps(a, a));
            const __m256 middle = _mm256_sub_ps(_mm256_sub_ps(_mm256_set1_ps(1.0f), first), last);
            turn(first, middle, last, _mm256_setzero_ps());
        } else {
            const __m256 sixth = _mm256_set1_ps(1.0f / 6.0f);
            const __m256 first =
                _mm256_mul_ps(sixth, _mm256_mul_ps(rest, _mm256_mul_ps(rest, rest)));
            const __m256 last = _mm256_mul_ps(sixth, _mm256_mul_ps(a, _mm256_mul_ps(a, a)));
            turn(first, inner(a), inner(rest), last);
        }
    }

    void scale(__m256 factor) {
        for (__m256& some : w) some = _mm256_mul_ps(some, factor);
    }

private:
    // 2/3 - a^2 (1 - a / 2)
    static __m256 inner(__m256 a) {
        const __m256 slope = _mm256_fnmadd_ps(_mm256_set1_ps(0.5f), a, _mm256_set1_ps(1.0f));
        return _mm256_fnmadd_ps(_mm256_mul_ps(a, a), slope, _mm256_set1_ps(2.0f / 3.0f));
    }

    void turn(__m256 w0, __m256 w1, __m256 w2, __m256 w3) {
        const __m256 even_low = _mm256_unpacklo_ps(w0, w2);
        const __m256 even_high = _mm256_unpackhi_ps(w0, w2);
        const __m256 odd_low = _mm256_unpacklo_ps(w1, w3);
        const __m256 odd_high = _mm256_unpackhi_ps(w1, w3);
        w[0] = _mm256_unpacklo_ps(even_low, odd_low);
        w[1] = _mm256_unpackhi_ps(even_low, odd_low);
        w[2] = _mm256_unpacklo_ps(even_high, odd_high);
        w[3] = _mm256_unpackhi_ps(even_high, odd_high);
    }
};

inline __m128 load_two(const float* at) {
    return _mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at)));
}

// The entries that w[v] of Weights are for, of the features from i on. table: of the tile's first
// feature; bin: of the tile, 16 or 32 bits each.
template <int Degree, class Length, int Apart, class Bin>
inline __m256 fetch(const Shape& shape, const float* table, const Bin* bin, int i, int v) {
    const auto at = [&](int f) { return table + f * Length::entries(shape) + bin[f]; };
    if constexpr (Degree == 1) {
        const int f = i + 2 * v;
        const auto two = [&](int k) {
            return _mm_loadh_pi(load_two(at(k)), reinterpret_cast<const __m64*>(at(k + 1)));
        };
        return _mm256_set_m128(two(f + Apart), two(f));
    } else {
        const __m128 low = _mm_loadu_ps(at(i + v));
        return _mm256_insertf128_ps(_mm256_castps128_ps256(low), _mm_loadu_ps(at(i + v + Apart)),
                                    1);
    }
}

inline float sum_of(__m256 v) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

// Which of 8 features, from `left` on counted down, there are.
inline __m256i there_are(std::size_t left) {
    const __m256i number = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(left < 8 ? static_cast<int>(left) : 8), number);
}
