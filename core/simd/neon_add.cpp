// Rows added to the tables by NEON.
#include "simd/neon.hpp"

#if defined(__aarch64__) && defined(__ARM_NEON)

#include <arm_neon.h>

namespace {
#include "simd/neon_tables.hpp"

inline void add_two(float* at, float32x2_t w) { vst1_f32(at, vadd_f32(vld1_f32(at), w)); }

inline void add_four(float* at, float32x4_t w) { vst1q_f32(at, vaddq_f32(vld1q_f32(at), w)); }

// Adds what fetch() would read its weights with.
template <int Degree, class Length>
inline void scatter(const Shape& shape, float* table, const Code* bin, int i, int v,
                    float32x4_t w) {
    const auto at = [&](int f) { return table + f * Length::entries(shape) + bin[f]; };
    if constexpr (Degree == 1) {
        add_two(at(i + 2 * v), vget_low_f32(w));
        add_two(at(i + 2 * v + 1), vget_high_f32(w));
    } else {
        add_four(at(i + v), w);
    }
}

// table_f[k] += step B_k(x_f) for the features of a tile. Features in turn: no addition waits for
// the one before.
template <int Degree, class Length>
inline void add_tile(const Shape& shape, const Splitter&, const RowTile& row, float step,
                     float* table) {
    if constexpr (Degree == 0) {
        const int entries = Length::entries(shape);
        for (int f = 0; f < tile; ++f) table[f * entries + row.bin[f]] += step;
    } else {
        for (int i = 0; i < tile; i += 4) {
            Weights<Degree> weights(vld1q_f32(row.fraction + i));
            weights.scale(step);
            for (int v = 0; v < Weights<Degree>::n; ++v)
                scatter<Degree, Length>(shape, table, row.bin, i, v, weights.w[v]);
        }
    }
}

// The paper's step A on n times 4 sums: running sums from the right.
inline void sum_from_right(float* sum, int n) {
    const float32x4_t zero = vdupq_n_f32(0.0f);
    float32x4_t carry = zero;
    for (int i = n - 1; i >= 0; --i) {
        float32x4_t v = vld1q_f32(sum + 4 * i);
        v = vaddq_f32(v, vextq_f32(v, zero, 1));
        v = vaddq_f32(vaddq_f32(v, vextq_f32(v, zero, 2)), carry);
        vst1q_f32(sum + 4 * i, v);
        carry = vdupq_laneq_f32(v, 0);
    }
}

// Step B: running sums from the left.
inline void sum_from_left(float* sum, int n) {
    const float32x4_t zero = vdupq_n_f32(0.0f);
    float32x4_t carry = zero;
    for (int i = 0; i < n; ++i) {
        float32x4_t v = vld1q_f32(sum + 4 * i);
        v = vaddq_f32(v, vextq_f32(zero, v, 3));
        v = vaddq_f32(vaddq_f32(v, vextq_f32(zero, v, 2)), carry);
        vst1q_f32(sum + 4 * i, v);
        carry = vdupq_laneq_f32(v, 3);
    }
}

// Adds L_d times the sums, times the variance, to one feature's table. What step B leaves behind
// the last basis function is never read with a weight other than zero.
inline void add_sums(const Shape& shape, float variance, float* sum, float* table) {
    const int n = (shape.n_basis + 3) / 4;
    for (int d = 0; d < shape.order; ++d) sum_from_right(sum, n);
    for (int d = 0; d < shape.order; ++d) sum_from_left(sum, n);
    for (int k = 0; k < 4 * n; k += 4)
        vst1q_f32(table + k, vfmaq_n_f32(vld1q_f32(table + k), vld1q_f32(sum + k), variance));
}

#include "simd/tile_sums.hpp"

}  // namespace

namespace splinear::simd::neon {

void add(const Shape& shape, const float* smoother, const float* variance, const Code* const* codes,
         const float* steps, std::size_t n_rows, float* tables) {
    add_tiles(shape, smoother, variance, codes, steps, n_rows, tables);
}

void sum(const Shape& shape, const Code* const* codes, const float* steps, std::size_t n_rows,
         float* tables) {
    sum_tiles(shape, codes, steps, n_rows, tables);
}

}  // namespace splinear::simd::neon

#endif
