// The kernels of minima and of hats as plain loops. Included by loops.hpp.

constexpr std::size_t pair_chunk = 256;  // features

// With c the part of x's bin that lies before y, the smaller of y and (where that bin begins) + a
// c, whether y is before, in or behind it. All in 16 bits, moved down by 2^15 to fit a sign.
struct Ramp {
    std::int16_t begin[pair_chunk];
    std::int16_t end[pair_chunk];
    Code factor[pair_chunk];  // a times 2^16

    Ramp(int bits, const Code* x, std::size_t n) {
        const int one = bits < 15 ? 1 << bits : 32767;
        for (std::size_t i = 0; i < n; ++i) {
            const int a = x[i] & ((1 << bits) - 1);
            const int from = x[i] - a - 32768;
            begin[i] = static_cast<std::int16_t>(from);
            end[i] = static_cast<std::int16_t>(from + one < 32767 ? from + one : 32767);
            factor[i] = static_cast<Code>(a << (16 - bits));
        }
    }

    std::int64_t sum(const Code* y, std::size_t n) const {
        std::int32_t total = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const auto at = static_cast<std::int16_t>(y[i] ^ 0x8000);
            std::int16_t inside = at > begin[i] ? at : begin[i];
            inside = inside < end[i] ? inside : end[i];
            const auto twice = static_cast<Code>(2 * (inside - begin[i]));
            const auto product = static_cast<Code>((std::uint32_t{factor[i]} * twice) >> 16);
            const auto rounded = static_cast<Code>((product + 1) >> 1);
            const auto up_to = static_cast<std::int16_t>(begin[i] + rounded);
            total += up_to < at ? up_to : at;
        }
        return total + static_cast<std::int64_t>(n) * 32768;
    }
};

[[maybe_unused]] void min_products_loops(const Shape& shape, const Code* x,
                                         const Code* const* codes, std::size_t n_rows, float* out) {
    std::int64_t total[splinear::simd::max_team] = {};
    for (std::size_t j = 0; j < shape.n_features; j += pair_chunk) {
        const std::size_t left = shape.n_features - j;
        const std::size_t n = left < pair_chunk ? left : pair_chunk;
        const Ramp ramp(shape.fraction_bits, x + j, n);
        for (std::size_t b = 0; b < n_rows; ++b) total[b] += ramp.sum(codes[b] + j, n);
    }
    const float unit = 1.0f / static_cast<float>(1 << shape.fraction_bits);
    for (std::size_t b = 0; b < n_rows; ++b) out[b] = static_cast<float>(total[b]) * unit;
}

// (1 - a) h(y - begin) + a h(y - begin - 1) with h(t) = max(0, 1 - |t|), in the same way.
struct HatPair {
    static constexpr int most_bits = 13;  // so that two bins fit 16 bits with a sign

    std::int16_t begin[pair_chunk];
    std::int16_t first[pair_chunk];  // a bin before it: what lies farther away counts as there,
    std::int16_t last[pair_chunk];   // and two bins behind it
    std::int16_t left[pair_chunk];   // 1 - a
    std::int16_t right[pair_chunk];  // a
    std::int16_t one;

    HatPair(int bits, const Code* x, std::size_t n) : one(static_cast<std::int16_t>(1 << bits)) {
        for (std::size_t i = 0; i < n; ++i) {
            const int a = x[i] & (one - 1);
            const int from = x[i] - a - 32768;
            begin[i] = static_cast<std::int16_t>(from);
            first[i] = static_cast<std::int16_t>(from - one > -32768 ? from - one : -32768);
            last[i] = static_cast<std::int16_t>(from + 2 * one < 32767 ? from + 2 * one : 32767);
            left[i] = static_cast<std::int16_t>(one - a);
            right[i] = static_cast<std::int16_t>(a);
        }
    }

    // Of so few features that the sum fits 32 bits.
    std::int32_t sum(const Code* y, std::size_t from, std::size_t to) const {
        std::int32_t total = 0;
        std::int32_t others = 0;  // apart: compilers know sums of products
        for (std::size_t i = from; i < to; ++i) {
            auto at = static_cast<std::int16_t>(y[i] ^ 0x8000);
            at = at > first[i] ? at : first[i];
            at = at < last[i] ? at : last[i];
            const auto off = static_cast<std::int16_t>(at - begin[i]);
            total += hat(off) * left[i];
            others += hat(static_cast<std::int16_t>(off - one)) * right[i];
        }
        return total + others;
    }

private:
    std::int16_t hat(std::int16_t off) const {
        const auto other = static_cast<std::int16_t>(-off);
        const auto height = static_cast<std::int16_t>(one - (off > other ? off : other));
        return height > 0 ? height : std::int16_t{0};
    }
};

[[maybe_unused]] void few_hat_products(const Shape& shape, const Code* x, const Code* const* codes,
                                       std::size_t n_rows, float* out) {
    const int one = 1 << shape.fraction_bits;
    const float unit = 1.0f / static_cast<float>(one);
    for (std::size_t b = 0; b < n_rows; ++b) {
        const Code* y = codes[b];
        std::int64_t total = 0;
        for (std::size_t j = 0; j < shape.n_features; ++j) {
            const int a = x[j] & (one - 1);
            const int from_begin = y[j] - (x[j] - a);
            const int from_end = from_begin - one;
            const int left = one - (from_begin < 0 ? -from_begin : from_begin);
            const int right = one - (from_end < 0 ? -from_end : from_end);
            total += (left > 0 ? left : 0) * (one - a) + (right > 0 ? right : 0) * a;
        }
        out[b] = static_cast<float>(total) * unit * unit;
    }
}

[[maybe_unused]] void hat_products_loops(const Shape& shape, const Code* x,
                                         const Code* const* codes, std::size_t n_rows, float* out) {
    const int bits = shape.fraction_bits;
    if (bits > HatPair::most_bits) return few_hat_products(shape, x, codes, n_rows, out);
    const std::size_t fitting = std::size_t{1} << (30 - 2 * bits);  // each is 2^(2 bits) at most
    const std::size_t step = fitting < pair_chunk ? fitting : pair_chunk;
    std::int64_t total[splinear::simd::max_team] = {};
    for (std::size_t j = 0; j < shape.n_features; j += pair_chunk) {
        const std::size_t left = shape.n_features - j;
        const std::size_t n = left < pair_chunk ? left : pair_chunk;
        const HatPair hats(bits, x + j, n);
        for (std::size_t b = 0; b < n_rows; ++b)
            for (std::size_t i = 0; i < n; i += step)
                total[b] += hats.sum(codes[b] + j, i, i + step < n ? i + step : n);
    }
    const float unit = 1.0f / static_cast<float>(1 << bits);
    for (std::size_t b = 0; b < n_rows; ++b) out[b] = static_cast<float>(total[b]) * unit * unit;
}
