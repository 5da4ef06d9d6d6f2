// Scores by NEON, of codes and of values.
#include "simd/knot_tree.hpp"
#include "simd/neon.hpp"

#if defined(__aarch64__) && defined(__ARM_NEON)

#include <arm_neon.h>

namespace {
#include "simd/neon_tables.hpp"
// After what it uses.
#include "simd/fence_loops.hpp"

using splinear::simd::BinMap;

// total + sum_f table_f' B(x_f) over the tile's features, to be summed over lanes.
template <int Degree, class Length>
inline float32x4_t add_tile(const Shape& shape, float32x4_t total, const float* table,
                            const RowTile& row) {
    if constexpr (Degree == 0) {
        const float all = sum_entries<Length>(shape, table, row.bin, tile);
        return vaddq_f32(total, vsetq_lane_f32(all, vdupq_n_f32(0.0f), 0));
    } else {
        float32x4_t other = vdupq_n_f32(0.0f);
        for (int i = 0; i < tile; i += 4) {
            const Weights<Degree> weights(vld1q_f32(row.fraction + i));
            for (int v = 0; v < Weights<Degree>::n; v += 2) {
                const auto at = [&](int k) {
                    return fetch<Degree, Length>(shape, table, row.bin, i, k);
                };
                total = vfmaq_f32(total, weights.w[v], at(v));
                other = vfmaq_f32(other, weights.w[v + 1], at(v + 1));
            }
        }
        return vaddq_f32(total, other);
    }
}

// The rows lie far apart: without asking for them ahead, each tile of each row would be waited for.
template <int Degree, class Length>
void score_shape(const Shape& shape, const float* tables, const Code* const* codes, float* out) {
    const Splitter split(shape);
    float32x4_t total[n_lanes];
    for (float32x4_t& one : total) one = vdupq_n_f32(0.0f);
    for (std::size_t j = 0; j < shape.n_features; j += tile) {
        const float* table = tables + j * static_cast<std::size_t>(Length::entries(shape));
        for (int a = 0; a < n_lanes; ++a) {
            prefetch(codes[a] + j + 2 * tile);
            RowTile row;
            split.load(codes[a], j, shape.n_features, row);
            total[a] = add_tile<Degree, Length>(shape, total[a], table, row);
        }
    }
    for (int a = 0; a < n_lanes; ++a) out[a] += vaddvq_f32(total[a]);
}

// The straight lines of a tile of features from j on; beyond the last feature, a line that has
// place 0 alone.
struct LineTile {
    float lo[tile];
    float slope[tile];
    float end[tile];
    int n;  // features that there are

    LineTile(const BinMap& map, std::size_t j, std::size_t n_features)
        : n(static_cast<int>(n_features - j < tile ? n_features - j : tile)) {
        for (int i = 0; i < tile; ++i) {
            const bool there_is = i < n;
            const std::size_t k = j + static_cast<std::size_t>(i);
            lo[i] = there_is ? map.lo[k] : 0.0f;
            slope[i] = there_is ? map.slope[k] : 0.0f;
            end[i] = there_is ? map.end[k] : 0.0f;
        }
    }

    // Returns NaN in some lane if a value is not finite.
    float32x4_t place(const float* values, RowTile& out) const {
        if (n == tile) return place_whole(values, out);
        float rest[tile] = {};
        for (int i = 0; i < n; ++i) rest[i] = values[i];
        return place_whole(rest, out);
    }

private:
    float32x4_t place_whole(const float* values, RowTile& out) const {
        float32x4_t odd = vdupq_n_f32(0.0f);
        for (int i = 0; i < tile; i += 4) {
            const float32x4_t x = vld1q_f32(values + i);
            odd = vfmaq_n_f32(odd, x, 0.0f);
            const float32x4_t at = vmulq_f32(vsubq_f32(x, vld1q_f32(lo + i)), vld1q_f32(slope + i));
            // These return the operand that is a number.
            const float32x4_t t =
                vminnmq_f32(vmaxnmq_f32(at, vdupq_n_f32(0.0f)), vld1q_f32(end + i));
            const uint32x4_t whole = vcvtq_u32_f32(t);
            vst1_u16(out.bin + i, vmovn_u32(whole));
            vst1q_f32(out.fraction + i, vsubq_f32(t, vcvtq_f32_u32(whole)));
        }
        return odd;
    }
};

template <int Degree, class Length>
void decide_shape(const Shape& shape, const BinMap& map, const float* tables, const float* const* x,
                  float* out) {
    float32x4_t total[n_lanes];
    for (float32x4_t& one : total) one = vdupq_n_f32(0.0f);
    for (std::size_t j = 0; j < shape.n_features; j += tile) {
        const LineTile lines(map, j, shape.n_features);
        const float* table = tables + j * static_cast<std::size_t>(Length::entries(shape));
        RowTile rows[n_lanes];
        for (int a = 0; a < n_lanes; ++a) {
            for (std::size_t k = 2; k < 4; ++k) prefetch(x[a] + j + 16 * k);  // of 64 bytes
            total[a] = vaddq_f32(total[a], lines.place(x[a] + j, rows[a]));
        }
        place_between_knots(shape, map, j, lines.n, x, rows);
        for (int a = 0; a < n_lanes; ++a)
            total[a] = add_tile<Degree, Length>(shape, total[a], table, rows[a]);
    }
    for (int a = 0; a < n_lanes; ++a) out[a] += vaddvq_f32(total[a]);
}

}  // namespace

namespace splinear::simd::neon {

void score(const Shape& shape, const float* tables, const Code* const* codes, std::size_t n_rows,
           float* out) {
    by_shape(shape, [&]<int Degree, class Length>(Choice<Degree, Length>) {
        for (std::size_t a = 0; a < n_rows; a += n_lanes)
            score_shape<Degree, Length>(shape, tables, codes + a, out + a);
    });
}

void decide(const Shape& shape, const BinMap& map, const float* tables, const float* const* x,
            std::size_t n_rows, float* out) {
    if (map.trees != nullptr) return decide_fences(shape, map, tables, x, n_rows, out);
    by_shape(shape, [&]<int Degree, class Length>(Choice<Degree, Length>) {
        if constexpr (Degree > 0)
            for (std::size_t a = 0; a < n_rows; a += n_lanes)
                decide_shape<Degree, Length>(shape, map, tables, x + a, out + a);
    });
}

}  // namespace splinear::simd::neon

#endif
