// What the kernels for NEON share. Included, inside an unnamed namespace of its own, by every file
// that implements them; see the warning in kernels.hpp.
//
// Lanes are features, as with AVX2: the entries of a table that one place needs are neighbors, and
// are fetched by one load of 64 or 128 bits. NEON's own table look-ups (tbl) take 64 bytes, 16
// entries, at a time: from 33 entries on they are more instructions than loads are.
#include "simd/loops.hpp"
#include "simd/shapes.hpp"

using splinear::simd::tile;
constexpr int most_in_tiles = 512;  // entries of tables of which a tile fits a near cache

// Bins and fractions of a tile of features of one row. They go through memory: whoever fetches
// entries needs the bins one by one.
struct RowTile {
    alignas(16) Code bin[tile];
    alignas(16) float fraction[tile];
};

// Splits codes, 8 at a time.
struct Splitter {
    int16x8_t down;
    uint16x8_t mask;
    float unit;

    explicit Splitter(const Shape& shape)
        : down(vdupq_n_s16(static_cast<std::int16_t>(-shape.fraction_bits))),
          mask(vdupq_n_u16(static_cast<Code>((1 << shape.fraction_bits) - 1))),
          unit(1.0f / static_cast<float>(1 << shape.fraction_bits)) {}

    // The features from j on; zeros beyond the last.
    void load(const Code* codes, std::size_t j, std::size_t n_features, RowTile& out) const {
        if (n_features - j >= tile) return load_whole(codes + j, out);
        Code rest[tile] = {};
        for (std::size_t i = j; i < n_features; ++i) rest[i - j] = codes[i];
        load_whole(rest, out);
    }

    void load_whole(const Code* codes, RowTile& out) const {
        for (int i = 0; i < tile; i += 8) {
            const uint16x8_t some = vld1q_u16(codes + i);
            vst1q_u16(out.bin + i, vshlq_u16(some, down));
            const uint16x8_t parts = vandq_u16(some, mask);
            vst1q_f32(out.fraction + i, in_bins(vget_low_u16(parts)));
            vst1q_f32(out.fraction + i + 4, in_bins(vget_high_u16(parts)));
        }
    }

private:
    float32x4_t in_bins(uint16x4_t parts) const {
        return vmulq_n_f32(vcvtq_f32_u32(vmovl_u16(parts)), unit);
    }
};

// The weights of 4 features, those of one feature side by side: two features and two weights each
// for degree 1, else one feature and four weights, of which the last is zero for degree 2.
template <int Degree>
struct Weights {
    static constexpr int each = Degree == 1 ? 2 : 4;  // floats per feature
    static constexpr int n = each;                    // vectors
    float32x4_t w[n];

    explicit Weights(float32x4_t a) {
        const float32x4_t rest = vsubq_f32(vdupq_n_f32(1.0f), a);
        if constexpr (Degree == 1) {
            w[0] = vzip1q_f32(rest, a);
            w[1] = vzip2q_f32(rest, a);
        } else if constexpr (Degree == 2) {
            const float32x4_t first = vmulq_n_f32(vmulq_f32(rest, rest), 0.5f);
            const float32x4_t last = vmulq_n_f32(vmulq_f32(a, a), 0.5f);
            const float32x4_t middle = vsubq_f32(vsubq_f32(vdupq_n_f32(1.0f), first), last);
            turn(first, middle, last, vdupq_n_f32(0.0f));
        } else {
            constexpr float sixth = 1.0f / 6.0f;
            const float32x4_t first = vmulq_n_f32(vmulq_f32(rest, vmulq_f32(rest, rest)), sixth);
            const float32x4_t last = vmulq_n_f32(vmulq_f32(a, vmulq_f32(a, a)), sixth);
            turn(first, inner(a), inner(rest), last);
        }
    }

    void scale(float factor) {
        for (float32x4_t& some : w) some = vmulq_n_f32(some, factor);
    }

private:
    // 2/3 - a^2 (1 - a / 2)
    static float32x4_t inner(float32x4_t a) {
        const float32x4_t slope = vfmsq_f32(vdupq_n_f32(1.0f), vdupq_n_f32(0.5f), a);
        return vfmsq_f32(vdupq_n_f32(2.0f / 3.0f), vmulq_f32(a, a), slope);
    }

    void turn(float32x4_t w0, float32x4_t w1, float32x4_t w2, float32x4_t w3) {
        const float32x4_t even_low = vzip1q_f32(w0, w2);
        const float32x4_t even_high = vzip2q_f32(w0, w2);
        const float32x4_t odd_low = vzip1q_f32(w1, w3);
        const float32x4_t odd_high = vzip2q_f32(w1, w3);
        w[0] = vzip1q_f32(even_low, odd_low);
        w[1] = vzip2q_f32(even_low, odd_low);
        w[2] = vzip1q_f32(even_high, odd_high);
        w[3] = vzip2q_f32(even_high, odd_high);
    }
};

// The entries that w[v] of Weights are for, of the 4 features from i on. table: of the first
// feature that `bin` has.
template <int Degree, class Length>
inline float32x4_t fetch(const Shape& shape, const float* table, const Code* bin, int i, int v) {
    const auto at = [&](int f) { return table + f * Length::entries(shape) + bin[f]; };
    if constexpr (Degree == 1) {
        return vcombine_f32(vld1_f32(at(i + 2 * v)), vld1_f32(at(i + 2 * v + 1)));
    } else {
        return vld1q_f32(at(i + v));
    }
}

// sum_f table_f[bin_f] over n features, a multiple of 4: some chains of additions side by side.
template <class Length>
inline float sum_entries(const Shape& shape, const float* table, const Code* bin, int n) {
    const int entries = Length::entries(shape);
    float sum[4] = {};
    for (int i = 0; i < n; i += 4)
        for (int k = 0; k < 4; ++k) sum[k] += table[(i + k) * entries + bin[i + k]];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}
