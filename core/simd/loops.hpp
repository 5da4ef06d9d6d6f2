// The kernels as plain loops over lanes, for the compiler to vectorise. Included, inside an unnamed
// namespace of its own, by every file that implements Kernels; see the warning in kernels.hpp.

constexpr int n_lanes = splinear::simd::lanes;
using splinear::simd::Shape;
using Code = std::uint16_t;

// B_0(a), ..., B_degree(a).
template <int Degree>
inline void weights(float a, float* w) {
    if constexpr (Degree == 0) {
        w[0] = 1.0f;
    } else if constexpr (Degree == 1) {
        w[0] = 1.0f - a;
        w[1] = a;
    } else if constexpr (Degree == 2) {
        w[0] = 0.5f * (1.0f - a) * (1.0f - a);
        w[2] = 0.5f * a * a;
        w[1] = 1.0f - w[0] - w[2];
    } else {
        w[0] = (1.0f - a) * (1.0f - a) * (1.0f - a) * (1.0f / 6.0f);
        w[1] = 2.0f / 3.0f - a * a * (1.0f - 0.5f * a);
        w[3] = a * a * a * (1.0f / 6.0f);
        w[2] = 1.0f - w[0] - w[1] - w[3];
    }
}

struct Position {
    int bin;
    float fraction;
};

inline Position split(const Shape& shape, Code code) {
    const int mask = (1 << shape.fraction_bits) - 1;
    const float unit = 1.0f / static_cast<float>(1 << shape.fraction_bits);
    return {code >> shape.fraction_bits, static_cast<float>(code & mask) * unit};
}

template <int Degree>
void score_degree(const Shape& shape, const float* tables, const Code* const* codes, float* out) {
    float total[n_lanes] = {};
    for (std::size_t j = 0; j < shape.n_features; ++j) {
        const float* table = tables + j * static_cast<std::size_t>(shape.entries);
        for (int a = 0; a < n_lanes; ++a) {
            const Position at = split(shape, codes[a][j]);
            float w[Degree + 1];
            weights<Degree>(at.fraction, w);
            for (int p = 0; p <= Degree; ++p) total[a] += table[at.bin + p] * w[p];
        }
    }
    for (int a = 0; a < n_lanes; ++a) out[a] += total[a];
}

[[maybe_unused]] void score_loops(const Shape& shape, const float* tables, const Code* const* codes,
                                  float* out) {
    switch (shape.degree) {
        case 0: return score_degree<0>(shape, tables, codes, out);
        case 1: return score_degree<1>(shape, tables, codes, out);
        case 2: return score_degree<2>(shape, tables, codes, out);
        default: return score_degree<3>(shape, tables, codes, out);
    }
}

inline Position along_line(const splinear::simd::BinMap& map, std::size_t j, float x) {
    float t = (x - map.lo[j]) * map.slope[j];
    t = t > 0.0f ? t : 0.0f;
    t = t < map.end[j] ? t : map.end[j];
    const int bin = static_cast<int>(t);
    return {bin, t - static_cast<float>(bin)};
}

// Halving without a branch: which way a value goes cannot be predicted.
inline Position between_knots(const Shape& shape, const splinear::simd::BinMap& map, std::size_t j,
                              float x) {
    x = x > map.lo[j] ? x : map.lo[j];  // also for a NaN
    x = x < map.end[j] ? x : map.end[j];
    const auto entries = static_cast<std::size_t>(shape.entries);
    const float* knots = map.knots + 2 * entries * j;
    int bin = 0;
    for (int n = shape.entries; n > 1; n -= n / 2) bin += n / 2 * (knots[bin + n / 2] <= x ? 1 : 0);
    return {bin, (x - knots[bin]) * knots[shape.entries + bin]};
}

template <int Degree>
void decide_degree(const Shape& shape, const splinear::simd::BinMap& map, const float* tables,
                   const float* const* x, float* out) {
    float total[n_lanes] = {};
    for (std::size_t j = 0; j < shape.n_features; ++j) {
        const float* table = tables + j * static_cast<std::size_t>(shape.entries);
        for (int a = 0; a < n_lanes; ++a) {
            const float value = x[a][j];
            const Position at = map.is_warped[j] != 0 ? between_knots(shape, map, j, value)
                                                      : along_line(map, j, value);
            float w[Degree + 1];
            weights<Degree>(at.fraction, w);
            for (int p = 0; p <= Degree; ++p) total[a] += table[at.bin + p] * w[p];
            total[a] += value * 0.0f;
        }
    }
    for (int a = 0; a < n_lanes; ++a) out[a] += total[a];
}

[[maybe_unused]] void decide_loops(const Shape& shape, const splinear::simd::BinMap& map,
                                   const float* tables, const float* const* x, float* out) {
    switch (shape.degree) {
        case 1: return decide_degree<1>(shape, map, tables, x, out);
        case 2: return decide_degree<2>(shape, map, tables, x, out);
        default: return decide_degree<3>(shape, map, tables, x, out);
    }
}

inline void axpy(float factor, const float* x, float* y, int n) {
    for (int k = 0; k < n; ++k) y[k] += factor * x[k];
}

// sum <- L_d sum by the paper's steps A and B.
inline void smooth_sums(const Shape& shape, float* sum) {
    for (int d = 0; d < shape.order; ++d)
        for (int k = shape.n_basis - 2; k >= 0; --k) sum[k] += sum[k + 1];
    for (int d = 0; d < shape.order; ++d)
        for (int k = 1; k < shape.n_basis; ++k) sum[k] += sum[k - 1];
}

// The rows' weights are summed per basis function first. A short smoother is then read once for all
// of them, row by row; in the place of a long one come running sums.
template <int Degree>
void add_degree(const Shape& shape, const float* smoother, const float* variance,
                const Code* const* codes, const float* steps, std::size_t n_rows, float* tables) {
    const int entries = shape.entries;
    for (std::size_t j = 0; j < shape.n_features; ++j) {
        if (variance[j] == 0.0f) continue;
        float* table = tables + j * static_cast<std::size_t>(entries);
        float sum[splinear::simd::max_entries];
        for (int k = 0; k < entries; ++k) sum[k] = 0.0f;
        for (std::size_t a = 0; a < n_rows; ++a) {
            const Position at = split(shape, codes[a][j]);
            float w[Degree + 1];
            weights<Degree>(at.fraction, w);
            for (int p = 0; p <= Degree; ++p) sum[at.bin + p] += variance[j] * steps[a] * w[p];
        }
        if (smoother != nullptr && entries <= splinear::simd::short_entries) {
            for (int k = 0; k < shape.n_basis; ++k)
                if (sum[k] != 0.0f) axpy(sum[k], smoother + k * entries, table, entries);
        } else {
            smooth_sums(shape, sum);
            axpy(1.0f, sum, table, shape.n_basis);
        }
    }
}

[[maybe_unused]] void add_loops(const Shape& shape, const float* smoother, const float* variance,
                                const Code* const* codes, const float* steps, std::size_t n_rows,
                                float* tables) {
    switch (shape.degree) {
        case 0: return add_degree<0>(shape, smoother, variance, codes, steps, n_rows, tables);
        case 1: return add_degree<1>(shape, smoother, variance, codes, steps, n_rows, tables);
        case 2: return add_degree<2>(shape, smoother, variance, codes, steps, n_rows, tables);
        default: return add_degree<3>(shape, smoother, variance, codes, steps, n_rows, tables);
    }
}

// Row by row, so that a table entry is rarely written twice in a row; some features at a time, so
// that their tables stay in the nearest cache.
template <int Degree>
void sum_degree(const Shape& shape, const Code* const* codes, const float* steps,
                std::size_t n_rows, float* tables) {
    constexpr std::size_t most = 64;
    const auto entries = static_cast<std::size_t>(shape.entries);
    const std::size_t fitting = 6144 / entries;
    const std::size_t together = fitting < 8 ? 8 : (fitting < most ? fitting : most);
    for (std::size_t first = 0; first < shape.n_features; first += together) {
        const std::size_t left = shape.n_features - first;
        const std::size_t n = left < together ? left : together;
        float* here = tables + first * entries;
        for (std::size_t a = 0; a < n_rows; ++a) {
            if (steps[a] == 0.0f) continue;
            const Code* row = codes[a] + first;
            int at[most];
            float w[Degree + 1][most];
            for (std::size_t j = 0; j < n; ++j) {
                const Position p = split(shape, row[j]);
                float one[Degree + 1];
                weights<Degree>(p.fraction, one);
                at[j] = static_cast<int>(j) * shape.entries + p.bin;
                for (int d = 0; d <= Degree; ++d) w[d][j] = steps[a] * one[d];
            }
            for (std::size_t j = 0; j < n; ++j)
                for (int d = 0; d <= Degree; ++d) here[at[j] + d] += w[d][j];
        }
    }
}

[[maybe_unused]] void sum_loops(const Shape& shape, const Code* const* codes, const float* steps,
                                std::size_t n_rows, float* tables) {
    switch (shape.degree) {
        case 0: return sum_degree<0>(shape, codes, steps, n_rows, tables);
        case 1: return sum_degree<1>(shape, codes, steps, n_rows, tables);
        case 2: return sum_degree<2>(shape, codes, steps, n_rows, tables);
        default: return sum_degree<3>(shape, codes, steps, n_rows, tables);
    }
}

[[maybe_unused]] float norm_loops(const Shape& shape, const float* polynomial,
                                  const float* variance, const Code* codes) {
    float total = 0.0f;
    for (std::size_t j = 0; j < shape.n_features; ++j) {
        const Position at = split(shape, codes[j]);
        const float* q = polynomial + at.bin;
        float value = q[2 * shape.degree * shape.entries];
        for (int i = 2 * shape.degree - 1; i >= 0; --i)
            value = value * at.fraction + q[i * shape.entries];
        total += variance[j] * value;
    }
    return total;
}

[[maybe_unused]] void min_products_loops(const Shape& shape, const Code* x,
                                         const Code* const* codes, std::size_t n_rows, float* out) {
    const int bits = shape.fraction_bits;
    const int mask = (1 << bits) - 1;
    const float unit = 1.0f / static_cast<float>(1 << bits);
    for (std::size_t b = 0; b < n_rows; ++b) {
        const Code* y = codes[b];
        std::int64_t whole = 0;     // sum of min(x, y), in codes
        std::int64_t products = 0;  // sum of a a' - min(a, a') 2^bits where the bins agree
        for (std::size_t j = 0; j < shape.n_features; ++j) {
            const int low = x[j] < y[j] ? x[j] : y[j];
            whole += low;
            const int same = ((x[j] ^ y[j]) >> bits) == 0;
            const int a = x[j] & mask;
            const int c = y[j] & mask;
            const int product = a * c - ((a < c ? a : c) << bits);
            products += same ? product : 0;
        }
        out[b] = (static_cast<float>(whole) + static_cast<float>(products) * unit) * unit;
    }
}

[[maybe_unused]] void hat_products_loops(const Shape& shape, const Code* x,
                                         const Code* const* codes, std::size_t n_rows, float* out) {
    const int one = 1 << shape.fraction_bits;
    const float unit = 1.0f / static_cast<float>(one);
    for (std::size_t b = 0; b < n_rows; ++b) {
        const Code* y = codes[b];
        float total = 0.0f;
        for (std::size_t j = 0; j < shape.n_features; ++j) {
            const int a = x[j] & (one - 1);
            const int from_begin = y[j] - (x[j] - a);
            const int from_end = from_begin - one;
            const int left = one - (from_begin < 0 ? -from_begin : from_begin);
            const int right = one - (from_end < 0 ? -from_end : from_end);
            const int product = (left > 0 ? left : 0) * (one - a) + (right > 0 ? right : 0) * a;
            total += static_cast<float>(product);
        }
        out[b] = total * unit * unit;
    }
}

// Per feature, L B(y) of each row y once; then every product is a sum of Degree + 1 terms.
template <int Degree>
void products_degree(const Shape& shape, const float* smoother, const float* variance,
                     const Code* const* codes, std::size_t n_rows, float* out) {
    constexpr int most = splinear::simd::max_team;
    for (std::size_t j = 0; j < shape.n_features; ++j) {
        if (variance[j] == 0.0f) continue;
        int bin[most];
        float w[most][Degree + 1];
        for (std::size_t b = 0; b < n_rows; ++b) {
            const Position at = split(shape, codes[b][j]);
            bin[b] = at.bin;
            weights<Degree>(at.fraction, w[b]);
            float smooth[splinear::simd::max_entries];
            for (int k = 0; k < shape.entries; ++k) smooth[k] = 0.0f;
            for (int q = 0; q <= Degree; ++q) {
                if (smoother == nullptr)
                    smooth[at.bin + q] = variance[j] * w[b][q];
                else
                    axpy(variance[j] * w[b][q], smoother + (at.bin + q) * shape.entries, smooth,
                         shape.entries);
            }
            for (std::size_t a = 0; a < b; ++a) {
                float product = 0.0f;
                for (int p = 0; p <= Degree; ++p) product += w[a][p] * smooth[bin[a] + p];
                out[a * n_rows + b] += product;
            }
        }
    }
}

[[maybe_unused]] void products_loops(const Shape& shape, const float* smoother,
                                     const float* variance, const Code* const* codes,
                                     std::size_t n_rows, float* out) {
    switch (shape.degree) {
        case 0: return products_degree<0>(shape, smoother, variance, codes, n_rows, out);
        case 1: return products_degree<1>(shape, smoother, variance, codes, n_rows, out);
        case 2: return products_degree<2>(shape, smoother, variance, codes, n_rows, out);
        default: return products_degree<3>(shape, smoother, variance, codes, n_rows, out);
    }
}
