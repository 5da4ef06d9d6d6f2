// Codes of values as plain loops, a tile of features at a time. Included after fence_loops.hpp and
// tile_coding.hpp, like them. Codes are those of all processors only if nothing is contracted to a
// fused multiplication and addition.

// Codes along a straight line, as code_row() computes them.
SPLINEAR_INLINE void code_fenced_line(const CodeMap& map, std::size_t j, const float* x,
                                      std::int32_t* out) {
    const double prescale = map.prescale[j];
    const double lo = map.lo[j];
    const double slope = map.slope[j];
    const double rounding = map.rounding;
    const double last = map.last;
    const std::int32_t nan = map.nan;
    double place[n_in_column];
    std::int32_t code[n_in_column];
    for (std::size_t i = 0; i < n_in_column; ++i) {
        double a = (static_cast<double>(x[i]) * prescale - lo) * slope;
        a = a > 0.0 ? a : 0.0;
        a += rounding;
        place[i] = a < last ? a : last;
    }
    for (std::size_t i = 0; i < n_in_column; ++i) code[i] = static_cast<std::int32_t>(place[i]);
    for (std::size_t i = 0; i < n_in_column; ++i) out[i] = x[i] == x[i] ? code[i] : nan;
}

// The nearest whole number, of less than 2^22.
SPLINEAR_INLINE float nearest_whole(float v) {
    constexpr float large = 12582912.0f;  // the numbers around it are whole
    return (v + large) - large;
}

// Codes between knots, in single precision; returns those that may have rounded otherwise than
// double precision would.
SPLINEAR_INLINE std::uint64_t code_fences(const CodeMap& map, std::size_t j, const float* x,
                                          std::int32_t* out) {
    constexpr float most = 1e38f;  // no knot is as large: see have_single_tree()
    float finite[n_in_column];
    for (std::size_t i = 0; i < n_in_column; ++i) {
        const float above = x[i] > -most ? x[i] : -most;  // also for a NaN
        finite[i] = above < most ? above : most;
    }
    const BetweenFences found(map.trees[j], finite);
    const float sure = 0.5f - map.doubt;
    const std::int32_t nan = map.nan;
    std::int32_t is_doubtful[n_in_column];
    std::int32_t code[n_in_column];
    std::int32_t n_doubtful = 0;
    for (std::size_t i = 0; i < n_in_column; ++i) {
        const float whole = nearest_whole(found.from_knot[i]);
        const float off = found.from_knot[i] - whole;
        is_doubtful[i] = (off > sure ? 1 : 0) + (off < -sure ? 1 : 0);
        n_doubtful += is_doubtful[i];
        code[i] = static_cast<std::int32_t>(found.of_knot[i] + whole);
    }
    for (std::size_t i = 0; i < n_in_column; ++i) out[i] = x[i] == x[i] ? code[i] : nan;
    std::uint64_t doubts = 0;
    for (std::size_t i = 0; i < n_in_column && n_doubtful > 0; ++i)
        doubts |= static_cast<std::uint64_t>(is_doubtful[i]) << i;
    return doubts;
}

// Blocks of four rows and four pairs of features are turned together, too.
struct FenceCoding {
    static SPLINEAR_INLINE void load(const float* const* x, std::size_t j, std::size_t n,
                                     Columns& out) {
        load_columns(x, n_in_column, j, n, out.at);
    }

    template <bool IsOdd>
    static SPLINEAR_INLINE std::uint64_t code(const CodeMap& map, std::size_t j, const float* x,
                                              std::uint32_t* pairs) {
        std::int32_t codes[n_in_column];
        std::uint64_t doubts = 0;
        if (map.trees[j] == nullptr)
            code_fenced_line(map, j, x, codes);
        else
            doubts = code_fences(map, j, x, codes);
        for (std::size_t a = 0; a < n_in_column; ++a) {
            const auto code = static_cast<std::uint32_t>(codes[a]);
            pairs[a] = IsOdd ? pairs[a] | code << 16 : code;
        }
        return doubts;
    }

    static SPLINEAR_INLINE void store(const CodePairs& pairs, std::size_t n, Code* const* out,
                                      std::size_t j) {
        std::size_t i = 0;
        for (; i + 8 <= n; i += 8)
            for (std::size_t a = 0; a < n_in_column; a += 4) {
                Four four[4];
                for (std::size_t k = 0; k < 4; ++k)
                    four[k] = load_four(reinterpret_cast<const float*>(pairs.at[i / 2 + k] + a));
                turn_fours(four);
                for (std::size_t k = 0; k < 4; ++k)
                    store_four(reinterpret_cast<float*>(out[a + k] + j + i), four[k]);
            }
        for (; i < n; ++i)
            for (std::size_t a = 0; a < n_in_column; ++a)
                out[a][j + i] = static_cast<Code>(pairs.at[i / 2][a] >> (i % 2 == 0 ? 0 : 16));
    }
};
