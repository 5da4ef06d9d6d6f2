// The kernels as plain loops over lanes, for the compiler to vectorize. Included, inside an unnamed
// namespace of its own, by every file that implements Kernels; see the warning in kernels.hpp.
#include "simd/clones.hpp"  // macros alone

constexpr int n_lanes = splinear::simd::lanes;
using splinear::simd::Shape;
using Code = std::uint16_t;
constexpr std::size_t most_together = 64;       // features that are added to at a time, and ...
constexpr std::size_t floats_together = 16384;  // ... the floats of their tables
constexpr int most_in_fours = 512;              // entries of tables of which some fit a near cache

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

// Asks for memory that will be read soon; also into the second cache alone, as the nearest one
// waits for few lines at a time; and for memory that will be written. Inlined always, as the
// compiler may take a call that changes nothing for one that does nothing.
SPLINEAR_INLINE void prefetch([[maybe_unused]] const void* at) {
#ifdef __GNUC__
    __builtin_prefetch(at);
#endif
}
SPLINEAR_INLINE void prefetch_far([[maybe_unused]] const void* at) {
#ifdef __GNUC__
    __builtin_prefetch(at, 0, 2);
#endif
}
SPLINEAR_INLINE void prefetch_to_write([[maybe_unused]] const void* at) {
#ifdef __GNUC__
    __builtin_prefetch(at, 1);
#endif
}

// Bins and fractions of the features of a tile, of one row: what the compiler can do in vectors.
struct Places {
    int bin[splinear::simd::tile];
    float fraction[splinear::simd::tile];

    void of_codes(const Shape& shape, const Code* codes, int n) {
        const int bits = shape.fraction_bits;
        const int mask = (1 << bits) - 1;
        const float unit = 1.0f / static_cast<float>(1 << bits);
        for (int i = 0; i < n; ++i) {
            bin[i] = codes[i] >> bits;
            fraction[i] = static_cast<float>(codes[i] & mask) * unit;
        }
    }

    // Values of the features from j on, along straight lines. NaN for those that are not finite.
    void along_lines(const splinear::simd::BinMap& map, std::size_t j, const float* values, int n) {
        const float* lo = map.lo + j;
        const float* slope = map.slope + j;
        const float* end = map.end + j;
        for (int i = 0; i < n; ++i) {
            float t = (values[i] - lo[i]) * slope[i];
            t = t > 0.0f ? t : 0.0f;
            t = t < end[i] ? t : end[i];
            bin[i] = static_cast<int>(t);
            fraction[i] = t - static_cast<float>(bin[i]) + values[i] * 0.0f;
        }
    }
};

#include "simd/fours.hpp"

// sum_f table_f' B(x_f) for n features of a tile: some chains of additions side by side.
template <int Degree>
inline float score_tile(const Shape& shape, const float* table, const Places& places, int n) {
    static_assert(Degree < 2);
    Four total = all_four(0.0f);
    const auto at = [&](int i) { return table + i * shape.entries + places.bin[i]; };
    int i = 0;
    for (; i + 4 <= n; i += 4) {
        if constexpr (Degree == 0) {
            total = total + four_of(*at(i), *at(i + 1), *at(i + 2), *at(i + 3));
        } else {
            Four first;
            Four second;
            load_twos([&](int k) { return at(i + k); }, first, second);
            total = total + (first + load_four(places.fraction + i) * (second - first));
        }
    }
    float rest = 0.0f;
    for (; i < n; ++i) {
        rest += at(i)[0];
        if constexpr (Degree == 1) rest += places.fraction[i] * (at(i)[1] - at(i)[0]);
    }
    return sum_of_four(total) + rest;
}

// The rows lie far apart, and each is read a tile at a time; tables are read for many rows.
template <int Degree>
void score_degree(const Shape& shape, const float* tables, const Code* const* codes,
                  std::size_t n_rows, float* out) {
    constexpr std::size_t step = splinear::simd::tile;
    for (std::size_t j = 0; j < shape.n_features; j += step) {
        const std::size_t left = shape.n_features - j;
        const int n = static_cast<int>(left < step ? left : step);
        const float* table = tables + j * static_cast<std::size_t>(shape.entries);
        for (std::size_t a = 0; a < n_rows; ++a) {
            prefetch(codes[a] + j + 2 * step);
            Places places;
            places.of_codes(shape, codes[a] + j, n);
            if constexpr (Degree > 1)
                out[a] += score_fours<Degree>(shape, table, places, n);
            else
                out[a] += score_tile<Degree>(shape, table, places, n);
        }
    }
}

[[maybe_unused]] void score_loops(const Shape& shape, const float* tables, const Code* const* codes,
                                  std::size_t n_rows, float* out) {
    switch (shape.degree) {
        case 0: return score_degree<0>(shape, tables, codes, n_rows, out);
        case 1: return score_degree<1>(shape, tables, codes, n_rows, out);
        case 2: return score_degree<2>(shape, tables, codes, n_rows, out);
        default: return score_degree<3>(shape, tables, codes, n_rows, out);
    }
}

// Halving without a branch: which way a value goes cannot be predicted. Each step waits for the one
// before, so the values of 16 rows take it in turn.
inline void between_knots(const Shape& shape, const splinear::simd::BinMap& map, std::size_t j,
                          const float* const* x, Position* out) {
    const float* knots = map.knots + 2 * static_cast<std::size_t>(shape.entries) * j;
    const float* per_unit = knots + shape.entries;
    float inside[n_lanes];
    int bin[n_lanes];
    for (int a = 0; a < n_lanes; ++a) {
        float value = x[a][j];
        value = value > map.lo[j] ? value : map.lo[j];  // also for a NaN
        inside[a] = value < map.end[j] ? value : map.end[j];
        bin[a] = 0;
    }
    for (int n = shape.entries; n > 1; n -= n / 2) {
        const int half = n / 2;
        for (int a = 0; a < n_lanes; ++a)
            bin[a] += half * static_cast<int>(knots[bin[a] + half] <= inside[a]);
    }
    for (int a = 0; a < n_lanes; ++a)
        out[a] = {bin[a], (inside[a] - knots[bin[a]]) * per_unit[bin[a]] + x[a][j] * 0.0f};
}

template <class Bin>
inline void put(int bin, Bin& to) {
    to = static_cast<Bin>(bin);
}

// Puts the places of features that have knots, of n from j on, to those of 16 rows.
template <class Rows>
inline void place_between_knots(const Shape& shape, const splinear::simd::BinMap& map,
                                std::size_t j, int n, const float* const* x, Rows& rows) {
    if (map.knots == nullptr) return;
    for (int i = 0; i < n; ++i) {
        const std::size_t k = j + static_cast<std::size_t>(i);
        if (map.is_warped[k] == 0) continue;
        Position at[n_lanes];
        between_knots(shape, map, k, x, at);
        for (int a = 0; a < n_lanes; ++a) {
            put(at[a].bin, rows[a].bin[i]);
            rows[a].fraction[i] = at[a].fraction;
        }
    }
}

template <int Degree>
void decide_degree(const Shape& shape, const splinear::simd::BinMap& map, const float* tables,
                   const float* const* x, std::size_t n_rows, float* out) {
    constexpr std::size_t step = splinear::simd::tile;
    for (std::size_t j = 0; j < shape.n_features; j += step) {
        const std::size_t left = shape.n_features - j;
        const int n = static_cast<int>(left < step ? left : step);
        const float* table = tables + j * static_cast<std::size_t>(shape.entries);
        for (std::size_t first = 0; first < n_rows; first += n_lanes) {
            Places places[n_lanes];
            for (std::size_t a = 0; a < n_lanes; ++a) {
                const float* row = x[first + a] + j;
                for (std::size_t k = 2; k < 4; ++k) prefetch(row + 16 * k);  // of 64 bytes
                places[a].along_lines(map, j, row, n);
            }
            place_between_knots(shape, map, j, n, x + first, places);
            for (std::size_t a = 0; a < n_lanes; ++a)
                out[first + a] += score_fours<Degree>(shape, table, places[a], n);
        }
    }
}

// Of degree 2 or 3.
[[maybe_unused]] void decide_loops(const Shape& shape, const splinear::simd::BinMap& map,
                                   const float* tables, const float* const* x, std::size_t n_rows,
                                   float* out) {
    switch (shape.degree) {
        case 2: return decide_degree<2>(shape, map, tables, x, n_rows, out);
        default: return decide_degree<3>(shape, map, tables, x, n_rows, out);
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

// tables_f[k] += sum_a steps[a] B_k(codes[a][f]) for the n features from `first` on. Row by row, so
// that a table entry is rarely written twice in a row.
template <int Degree>
inline void sum_rows(const Shape& shape, const Code* const* codes, const float* steps,
                     std::size_t n_rows, std::size_t first, std::size_t n, float* tables) {
    for (std::size_t a = 0; a < n_rows; ++a) {
        if (steps[a] == 0.0f) continue;
        const Code* row = codes[a] + first;
        if constexpr (Degree > 1) {
            constexpr std::size_t step = splinear::simd::tile;
            for (std::size_t j = 0; j < n; j += step) {
                const int n_here = static_cast<int>(n - j < step ? n - j : step);
                Places places;
                places.of_codes(shape, row + j, n_here);
                add_fours<Degree>(shape, places, steps[a], n_here,
                                  tables + j * static_cast<std::size_t>(shape.entries));
            }
            continue;
        }
        int at[most_together];
        float w[Degree + 1][most_together];
        for (std::size_t j = 0; j < n; ++j) {
            const Position p = split(shape, row[j]);
            float one[Degree + 1];
            weights<Degree>(p.fraction, one);
            at[j] = static_cast<int>(j) * shape.entries + p.bin;
            for (int d = 0; d <= Degree; ++d) w[d][j] = steps[a] * one[d];
        }
        for (std::size_t j = 0; j < n; ++j)
            for (int d = 0; d <= Degree; ++d) tables[at[j] + d] += w[d][j];
    }
}

// Some features at a time, so that their tables stay in the nearest cache.
template <class Body>
inline void over_features(const Shape& shape, const Body& body) {
    const std::size_t fitting = floats_together / static_cast<std::size_t>(shape.entries);
    const std::size_t together = fitting < most_together ? fitting : most_together;
    for (std::size_t first = 0; first < shape.n_features; first += together) {
        const std::size_t left = shape.n_features - first;
        body(first, left < together ? left : together);
    }
}

// The rows' weights are summed per basis function first, and then smoothed.
template <int Degree>
void add_degree(const Shape& shape, const float* variance, const Code* const* codes,
                const float* steps, std::size_t n_rows, float* tables) {
    const auto entries = static_cast<std::size_t>(shape.entries);
    over_features(shape, [&](std::size_t first, std::size_t n) {
        float sums[floats_together];
        for (std::size_t k = 0; k < n * entries; ++k) sums[k] = 0.0f;
        sum_rows<Degree>(shape, codes, steps, n_rows, first, n, sums);
        for (std::size_t j = 0; j < n; ++j) {
            if (variance[first + j] == 0.0f) continue;
            smooth_sums(shape, sums + j * entries);
            axpy(variance[first + j], sums + j * entries, tables + (first + j) * entries,
                 shape.n_basis);
        }
    });
}

// The smoother is not needed: its steps are.
[[maybe_unused]] void add_loops(const Shape& shape, const float*, const float* variance,
                                const Code* const* codes, const float* steps, std::size_t n_rows,
                                float* tables) {
    switch (shape.degree) {
        case 0: return add_degree<0>(shape, variance, codes, steps, n_rows, tables);
        case 1: return add_degree<1>(shape, variance, codes, steps, n_rows, tables);
        case 2: return add_degree<2>(shape, variance, codes, steps, n_rows, tables);
        default: return add_degree<3>(shape, variance, codes, steps, n_rows, tables);
    }
}

template <int Degree>
void sum_degree(const Shape& shape, const Code* const* codes, const float* steps,
                std::size_t n_rows, float* tables) {
    over_features(shape, [&](std::size_t first, std::size_t n) {
        sum_rows<Degree>(shape, codes, steps, n_rows, first, n,
                         tables + first * static_cast<std::size_t>(shape.entries));
    });
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

template <int Degree>
float norm_degree(const Shape& shape, const float* polynomial, const float* variance,
                  const Code* codes) {
    float total = 0.0f;
    for (std::size_t j = 0; j < shape.n_features; ++j) {
        const Position at = split(shape, codes[j]);
        const float* q = polynomial + at.bin;
        float value = q[2 * Degree * shape.entries];
        for (int i = 2 * Degree - 1; i >= 0; --i)
            value = value * at.fraction + q[i * shape.entries];
        total += variance[j] * value;
    }
    return total;
}

[[maybe_unused]] float norm_loops(const Shape& shape, const float* polynomial,
                                  const float* variance, const Code* codes) {
    switch (shape.degree) {
        case 0: return norm_degree<0>(shape, polynomial, variance, codes);
        case 1: return norm_degree<1>(shape, polynomial, variance, codes);
        case 2: return norm_degree<2>(shape, polynomial, variance, codes);
        default: return norm_degree<3>(shape, polynomial, variance, codes);
    }
}

#include "simd/pair_loops.hpp"

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

template <int Degree>
void products_of(const Shape& shape, const float* smoother, const float* variance,
                 const Code* const* codes, std::size_t n_rows, float* out) {
    if (shape.entries > most_in_fours)
        products_degree<Degree>(shape, smoother, variance, codes, n_rows, out);
    else
        products_fours<Degree>(shape, smoother, variance, codes, n_rows, out);
}

[[maybe_unused]] void products_loops(const Shape& shape, const float* smoother,
                                     const float* variance, const Code* const* codes,
                                     std::size_t n_rows, float* out) {
    switch (shape.degree) {
        case 0: return products_degree<0>(shape, smoother, variance, codes, n_rows, out);
        case 1: return products_degree<1>(shape, smoother, variance, codes, n_rows, out);
        case 2: return products_of<2>(shape, smoother, variance, codes, n_rows, out);
        default: return products_of<3>(shape, smoother, variance, codes, n_rows, out);
    }
}
