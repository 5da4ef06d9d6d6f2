#include "simd/many.hpp"

#include <algorithm>

#include "simd/clones.hpp"

namespace splinear::simd {
namespace {

constexpr std::size_t features_at_once = 16;  // their tables stay in the nearest cache

SPLINEAR_INLINE void add_to(float* sum, float factor, const float* x) {
    for (std::size_t o = 0; o < many; ++o) sum[o] += factor * x[o];
}

// Half of the outputs. GCC and Clang keep such vectors in registers, as they do not always keep
// arrays; twice as long a one GCC keeps in memory.
constexpr std::size_t half = many / 2;
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wpsabi"  // about calls, and all of these are inlined
using Lanes = float __attribute__((vector_size(half * sizeof(float)), aligned(4)));

SPLINEAR_INLINE Lanes load(const float* at) { return *reinterpret_cast<const Lanes*>(at); }
SPLINEAR_INLINE void store(float* at, Lanes x) { *reinterpret_cast<Lanes*>(at) = x; }
#else
struct Lanes {
    float at[half];
};

inline Lanes operator*(float factor, Lanes x) {
    for (float& v : x.at) v *= factor;
    return x;
}
inline Lanes operator+(Lanes x, const Lanes& y) {
    for (std::size_t o = 0; o < half; ++o) x.at[o] += y.at[o];
    return x;
}
inline Lanes& operator+=(Lanes& x, const Lanes& y) { return x = x + y; }
inline Lanes load(const float* at) {
    Lanes x;
    std::copy_n(at, half, x.at);
    return x;
}
inline void store(float* at, const Lanes& x) { std::copy_n(x.at, half, at); }
#endif

}  // namespace

SPLINEAR_CLONES void score_many(const ManyShape& shape, const float* tables,
                                const std::uint16_t* const* codes, std::size_t n_rows, float* out) {
    const unsigned mask = (1u << shape.fraction_bits) - 1u;
    const float width = 1.0f / static_cast<float>(mask + 1u);
    const bool is_flat = shape.degree == 0;
    for (std::size_t first = 0; first < shape.n_features; first += features_at_once) {
        const std::size_t last = std::min(shape.n_features, first + features_at_once);
        for (std::size_t a = 0; a < n_rows; ++a) {
            const std::uint16_t* row = codes[a];
            Lanes low = {};
            Lanes high = {};
            for (std::size_t j = first; j < last; ++j) {
                const unsigned code = row[j];
                const float* at =
                    tables + (j * shape.entries + (code >> shape.fraction_bits)) * many;
                const float share = is_flat ? 0.0f : width * static_cast<float>(code & mask);
                low += (1.0f - share) * load(at) + share * load(at + many);
                high += (1.0f - share) * load(at + half) + share * load(at + many + half);
            }
            float* to = out + a * many;
            store(to, load(to) + low);
            store(to + half, load(to + half) + high);
        }
    }
}

SPLINEAR_CLONES void sum_many(const ManyShape& shape, const std::uint16_t* const* codes,
                              const float* r, std::size_t n_rows, float* tables) {
    const unsigned mask = (1u << shape.fraction_bits) - 1u;
    const float width = 1.0f / static_cast<float>(mask + 1u);
    for (std::size_t first = 0; first < shape.n_features; first += features_at_once) {
        const std::size_t last = std::min(shape.n_features, first + features_at_once);
        for (std::size_t a = 0; a < n_rows; ++a) {
            float own[many];
            for (std::size_t o = 0; o < many; ++o) own[o] = r[a * many + o];
            for (std::size_t j = first; j < last; ++j) {
                const unsigned code = codes[a][j];
                float* row = tables + (j * shape.entries + (code >> shape.fraction_bits)) * many;
                if (shape.degree == 0) {
                    add_to(row, 1.0f, own);
                } else {
                    const float share = width * static_cast<float>(code & mask);
                    add_to(row, 1.0f - share, own);
                    add_to(row + many, share, own);
                }
            }
        }
    }
}

SPLINEAR_CLONES void own_many(const ManyShape& shape, const std::uint16_t* const* codes,
                              const float* r, std::size_t n_rows, float* own) {
    const unsigned mask = (1u << shape.fraction_bits) - 1u;
    const float width = 1.0f / static_cast<float>(mask + 1u);
    for (std::size_t begin = 0; begin < shape.n_features; begin += features_at_once) {
        const std::size_t end = std::min(shape.n_features, begin + features_at_once);
        for (std::size_t a = 0; a < n_rows; ++a) {
            float of_row[many];
            for (std::size_t o = 0; o < many; ++o) of_row[o] = r[a * many + o];
            for (std::size_t j = begin; j < end; ++j) {
                const unsigned code = codes[a][j];
                float* at = own + (j * shape.entries + (code >> shape.fraction_bits)) * 3 * many;
                if (shape.degree == 0) {
                    add_to(at, 1.0f, of_row);
                    continue;
                }
                const float second = width * static_cast<float>(code & mask);
                const float first = 1.0f - second;
                add_to(at, first * first, of_row);
                add_to(at + many, first * second, of_row);
                add_to(at + 2 * many, second * second, of_row);
            }
        }
    }
}

SPLINEAR_CLONES void own_one(const ManyShape& shape, const std::uint16_t* const* codes,
                             const float* r, std::size_t n_rows, float* own) {
    const unsigned mask = (1u << shape.fraction_bits) - 1u;
    const float width = 1.0f / static_cast<float>(mask + 1u);
    const bool is_flat = shape.degree == 0;
    for (std::size_t begin = 0; begin < shape.n_features; begin += features_at_once) {
        const std::size_t end = std::min(shape.n_features, begin + features_at_once);
        for (std::size_t a = 0; a < n_rows; ++a)
            for (std::size_t j = begin; j < end; ++j) {
                const unsigned code = codes[a][j];
                float* at = own + (j * shape.entries + (code >> shape.fraction_bits)) * 4;
                const float second = is_flat ? 0.0f : width * static_cast<float>(code & mask);
                const float first = 1.0f - second;
                const float products[4] = {first * first, first * second, second * second, 0.0f};
                for (std::size_t q = 0; q < 4; ++q) at[q] += r[a] * products[q];
            }
    }
}

}  // namespace splinear::simd
