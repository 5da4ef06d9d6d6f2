// Products of embeddings by NEON.
#include "simd/neon.hpp"

#if defined(__aarch64__) && defined(__ARM_NEON)

#include <arm_neon.h>

namespace {
#include "simd/neon_tables.hpp"

constexpr int most = splinear::simd::max_team;

// A tile of features of all rows, and their weights, 16 features of them at a time.
template <int Degree>
struct TeamTile {
    static constexpr int each = Degree == 0 ? 0 : Degree == 1 ? 2 : 4;  // weights per feature
    RowTile row[most];
    alignas(16) float weights[most][Degree == 0 ? 1 : 16 * each];

    void weigh(const Splitter&, int first, std::size_t n_rows) {
        for (std::size_t a = 0; a < n_rows; ++a) {
            if constexpr (Degree == 0) {
                weights[a][0] = 1.0f;
            } else {
                for (int i = 0; i < 16; i += 4) {
                    const Weights<Degree> four(vld1q_f32(row[a].fraction + first + i));
                    for (int v = 0; v < each; ++v)
                        vst1q_f32(weights[a] + each * i + 4 * v, four.w[v]);
                }
            }
        }
    }

    // Those of feature f, one of the 16, side by side.
    const float* weights_of(std::size_t a, int f) const { return weights[a] + each * f; }
};

// table <- variance L B(x) for one feature, of which w are the weights.
template <int Degree, class Length>
inline void embed(const Shape& shape, const float* smoother, float variance, int bin,
                  const float* w, float* table) {
    const int entries = Length::entries(shape);
    const float* row = smoother + bin * entries;
    for (int k = 0; k <= shape.n_basis; k += 4) {
        float32x4_t entry = vdupq_n_f32(0.0f);
        if (smoother != nullptr)
            for (int p = 0; p <= Degree; ++p)
                entry = vfmaq_n_f32(entry, vld1q_f32(row + p * entries + k), w[p]);
        vst1q_f32(table + k, vmulq_n_f32(entry, variance));
    }
    if (smoother == nullptr)
        for (int p = 0; p <= Degree; ++p) table[bin + p] = variance * w[p];
}

using Parts = float32x4_t;
constexpr std::size_t summed_together = 4;

// The score of one row by the tables of 16 features, in parts.
template <int Degree, class Length>
inline Parts score_parts(const Shape& shape, const float* table, const Code* bin,
                         const float* weights) {
    Parts total[2] = {vdupq_n_f32(0.0f), vdupq_n_f32(0.0f)};
    if constexpr (Degree == 0) {
        return vsetq_lane_f32(sum_entries<Length>(shape, table, bin, 16), total[0], 0);
    } else {
        constexpr int n = Weights<Degree>::n;
        for (int i = 0; i < 16; i += 4)
            for (int v = 0; v < n; ++v)
                total[v % 2] = vfmaq_f32(total[v % 2], vld1q_f32(weights + n * i + 4 * v),
                                         fetch<Degree, Length>(shape, table, bin, i, v));
        return vaddq_f32(total[0], total[1]);
    }
}

inline void add_sums_of(const Parts* parts, float* found) {
    const Parts sums = vpaddq_f32(vpaddq_f32(parts[0], parts[1]), vpaddq_f32(parts[2], parts[3]));
    vst1q_f32(found, vaddq_f32(vld1q_f32(found), sums));
}

#include "simd/team_products.hpp"

constexpr std::size_t codes_in_vector = 8;

inline uint16x8_t load_codes(const Code* at) { return vld1q_u16(at); }

// What the next two compute from a row's codes, 8 features at a time.
struct Units {
    uint16x8_t mask;
    uint16x8_t one;  // a bin, or all but 2^-15 of it
    int16x8_t to_top;
    float unit;

    explicit Units(int bits)
        : mask(vdupq_n_u16(static_cast<Code>((1 << bits) - 1))),
          one(vdupq_n_u16(static_cast<Code>(bits < 15 ? 1 << bits : 32767))),
          to_top(vdupq_n_s16(static_cast<std::int16_t>(15 - bits))),
          unit(1.0f / static_cast<float>(1 << bits)) {}
};

// min(x, y) + [same bin] (a a' - min(a, a')): with c the part of x's bin that lies before y, the
// smaller of y and (where that bin begins) + a c, whether y is before, in or behind it.
struct Minimum {
    uint16x8_t begin;  // of x's bin
    int16x8_t factor;  // a times 2^15

    struct Sum {
        uint32x4_t total = vdupq_n_u32(0);

        float value(const Units& units, std::size_t) const {
            return static_cast<float>(vaddlvq_u32(total)) * units.unit;
        }
    };

    // keep: which features count.
    void set(const Units& units, uint16x8_t x, uint16x8_t keep) {
        const uint16x8_t kept = vandq_u16(x, keep);
        begin = vbicq_u16(kept, units.mask);
        factor = vreinterpretq_s16_u16(vshlq_u16(vandq_u16(kept, units.mask), units.to_top));
    }

    void add(const Units& units, uint16x8_t y, Sum& sum) const {
        const uint16x8_t c = vminq_u16(vqsubq_u16(y, begin), units.one);
        const int16x8_t part = vqrdmulhq_s16(factor, vreinterpretq_s16_u16(c));
        const uint16x8_t inside = vaddq_u16(begin, vreinterpretq_u16_s16(part));
        sum.total = vpadalq_u16(sum.total, vminq_u16(inside, y));
    }
};

// (1 - a) h(y - begin) + a h(y - begin - 1) with h(t) = max(0, 1 - |t|).
struct Hats {
    uint16x8_t begin;  // of x's bin
    uint16x8_t end;
    uint16x8_t left;  // 1 - a
    uint16x8_t right;

    struct Sum {
        float32x4_t total = vdupq_n_f32(0.0f);

        float value(const Units& units, std::size_t) const {
            return vaddvq_f32(total) * units.unit * units.unit;
        }
    };

    void set(const Units& units, uint16x8_t x, uint16x8_t keep) {
        begin = vbicq_u16(x, units.mask);
        end = vaddq_u16(begin, units.one);
        const uint16x8_t a = vandq_u16(x, units.mask);
        right = vandq_u16(a, keep);
        left = vandq_u16(vsubq_u16(units.one, a), keep);
    }

    void add(const Units& units, uint16x8_t y, Sum& sum) const {
        const uint16x8_t at_begin = vqsubq_u16(units.one, vabdq_u16(y, begin));
        const uint16x8_t at_end = vqsubq_u16(units.one, vabdq_u16(y, end));
        uint32x4_t some = vmull_u16(vget_low_u16(at_begin), vget_low_u16(left));
        some = vmlal_u16(some, vget_low_u16(at_end), vget_low_u16(right));
        some = vmlal_high_u16(some, at_begin, left);
        some = vmlal_high_u16(some, at_end, right);
        sum.total = vaddq_f32(sum.total, vcvtq_f32_u32(some));
    }
};

// Which features of a vector are not among the first n_seen.
inline uint16x8_t not_seen(std::size_t n_seen) {
    alignas(16) static constexpr Code number[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    return vcgtq_u16(vld1q_u16(number), vdupq_n_u16(static_cast<Code>(n_seen)));
}

#include "simd/code_pairs.hpp"

}  // namespace

namespace splinear::simd::neon {

void min_products(const Shape& shape, const Code* x, const Code* const* codes, std::size_t n_rows,
                  float* out) {
    min_pairs(shape, x, codes, n_rows, out);
}

void hat_products(const Shape& shape, const Code* x, const Code* const* codes, std::size_t n_rows,
                  float* out) {
    hat_pairs(shape, x, codes, n_rows, out);
}

void products(const Shape& shape, const float* smoother, const float* variance,
              const Code* const* codes, std::size_t n_rows, float* out) {
    team_products(shape, smoother, variance, codes, n_rows, out);
}

}  // namespace splinear::simd::neon

#endif
