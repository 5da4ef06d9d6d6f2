#include "simd/many.hpp"

#include <algorithm>

#include "simd/clones.hpp"

namespace splinear::simd {
namespace {

constexpr std::size_t features_at_once = 16;  // their tables stay in the nearest cache

// Where a code lies: in a bin, and which share of the way to the next.
struct Cell {
    std::size_t entry;  // of all features' tables
    float share;
};

// Finds the cells of codes.
class Cells {
public:
    SPLINEAR_INLINE explicit Cells(const ManyShape& shape)
        : entries_(shape.entries),
          bits_(shape.fraction_bits),
          mask_((1u << shape.fraction_bits) - 1u),
          width_(1.0f / static_cast<float>(mask_ + 1u)) {}

    SPLINEAR_INLINE Cell operator()(std::size_t j, unsigned code) const {
        return {j * entries_ + (code >> bits_), width_ * static_cast<float>(code & mask_)};
    }

private:
    std::size_t entries_;
    int bits_;
    unsigned mask_;
    float width_;
};

// Calls visit(a, first, last) for each row a and a few features at a time, from first to last - 1.
template <class Visit>
SPLINEAR_INLINE void over_features(const ManyShape& shape, std::size_t n_rows, const Visit& visit) {
    for (std::size_t first = 0; first < shape.n_features; first += features_at_once) {
        const std::size_t last = std::min(shape.n_features, first + features_at_once);
        for (std::size_t a = 0; a < n_rows; ++a) visit(a, first, last);
    }
}

// The same cell by cell, with a copy of the row's numbers r: visit(numbers, cell).
template <class Visit>
SPLINEAR_INLINE void over_cells(const ManyShape& shape, const std::uint16_t* const* codes,
                                const float* r, std::size_t n_rows, const Visit& visit) {
    const Cells cells(shape);
    const auto visit_row = [&](std::size_t a, std::size_t first, std::size_t last)
                               SPLINEAR_INLINE_LAMBDA {
                                   float numbers[output_lanes];
                                   for (std::size_t o = 0; o < output_lanes; ++o)
                                       numbers[o] = r[a * output_lanes + o];
                                   for (std::size_t j = first; j < last; ++j)
                                       visit(numbers, cells(j, codes[a][j]));
                               };
    over_features(shape, n_rows, visit_row);
}

SPLINEAR_INLINE void add_to(float* sum, float factor, const float* x) {
    for (std::size_t o = 0; o < output_lanes; ++o) sum[o] += factor * x[o];
}

// Half of the outputs. GCC and Clang keep such vectors in registers, as they do not always keep
// arrays; twice as long a one GCC keeps in memory.
constexpr std::size_t half = output_lanes / 2;
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
    const Cells cells(shape);
    const auto score_row = [&](std::size_t a, std::size_t first,
                               std::size_t last) SPLINEAR_INLINE_LAMBDA {
        Lanes low = {};
        Lanes high = {};
        for (std::size_t j = first; j < last; ++j) {
            const Cell cell = cells(j, codes[a][j]);
            const float* at = tables + cell.entry * output_lanes;
            const float* next = at + output_lanes;
            low += (1.0f - cell.share) * load(at) + cell.share * load(next);
            high += (1.0f - cell.share) * load(at + half) + cell.share * load(next + half);
        }
        float* to = out + a * output_lanes;
        store(to, load(to) + low);
        store(to + half, load(to + half) + high);
    };
    over_features(shape, n_rows, score_row);
}

SPLINEAR_CLONES void sum_many(const ManyShape& shape, const std::uint16_t* const* codes,
                              const float* r, std::size_t n_rows, float* tables) {
    const bool is_flat = shape.degree == 0;
    over_cells(shape, codes, r, n_rows,
               [=](const float* numbers, Cell cell) SPLINEAR_INLINE_LAMBDA {
                   float* at = tables + cell.entry * output_lanes;
                   if (is_flat) {
                       add_to(at, 1.0f, numbers);
                   } else {
                       add_to(at, 1.0f - cell.share, numbers);
                       add_to(at + output_lanes, cell.share, numbers);
                   }
               });
}

SPLINEAR_CLONES void own_many(const ManyShape& shape, const std::uint16_t* const* codes,
                              const float* r, std::size_t n_rows, float* own) {
    const bool is_flat = shape.degree == 0;
    over_cells(shape, codes, r, n_rows,
               [=](const float* numbers, Cell cell) SPLINEAR_INLINE_LAMBDA {
                   float* at = own + cell.entry * 3 * output_lanes;
                   if (is_flat) {
                       add_to(at, 1.0f, numbers);
                   } else {
                       const float first = 1.0f - cell.share;
                       add_to(at, first * first, numbers);
                       add_to(at + output_lanes, first * cell.share, numbers);
                       add_to(at + 2 * output_lanes, cell.share * cell.share, numbers);
                   }
               });
}

SPLINEAR_CLONES void own_one(const ManyShape& shape, const std::uint16_t* const* codes,
                             const float* r, std::size_t n_rows, float* own) {
    const Cells cells(shape);
    const auto add_row = [&](std::size_t a, std::size_t begin, std::size_t end)
                             SPLINEAR_INLINE_LAMBDA {
                                 for (std::size_t j = begin; j < end; ++j) {
                                     const Cell cell = cells(j, codes[a][j]);
                                     const float first = 1.0f - cell.share;
                                     const float products[4] = {first * first, first * cell.share,
                                                                cell.share * cell.share, 0.0f};
                                     float* at = own + cell.entry * 4;
                                     for (std::size_t q = 0; q < 4; ++q)
                                         at[q] += r[a] * products[q];
                                 }
                             };
    over_features(shape, n_rows, add_row);
}

SPLINEAR_CLONES void score_few(const ManyShape& shape, const float* tables,
                               const std::uint16_t* const* codes, std::size_t n_rows, float* out) {
    const Cells cells(shape);
    const bool is_flat = shape.degree == 0;
    for (std::size_t a = 0; a < n_rows; ++a) {
        float total = 0.0f;
        for (std::size_t j = 0; j < shape.n_features; ++j) {
            const Cell cell = cells(j, codes[a][j]);
            const float* at = tables + cell.entry;
            total += is_flat ? at[0] : at[0] + cell.share * (at[1] - at[0]);
        }
        out[a] += total;
    }
}

SPLINEAR_CLONES void sum_few(const ManyShape& shape, const std::uint16_t* const* codes,
                             const float* r, std::size_t n_rows, float* tables) {
    const Cells cells(shape);
    const bool is_flat = shape.degree == 0;
    for (std::size_t a = 0; a < n_rows; ++a) {
        for (std::size_t j = 0; j < shape.n_features; ++j) {
            const Cell cell = cells(j, codes[a][j]);
            float* at = tables + cell.entry;
            if (is_flat) {
                at[0] += r[a];
            } else {
                at[0] += (1.0f - cell.share) * r[a];
                at[1] += cell.share * r[a];
            }
        }
    }
}

}  // namespace splinear::simd
