// Four floats side by side. Quadratic and cubic curves as plain loops: these are the weights at one
// place, or the entries of a table that they are for. Included by loops.hpp.

#ifdef __GNUC__
using Four = float __attribute__((vector_size(16)));

SPLINEAR_INLINE Four all_four(float v) { return Four{v, v, v, v}; }
SPLINEAR_INLINE Four four_of(float a, float b, float c, float d) { return Four{a, b, c, d}; }
SPLINEAR_INLINE float entry_of(const Four& four, int k) { return four[k]; }
SPLINEAR_INLINE Four load_four(const float* at) {
    Four four;
    __builtin_memcpy(&four, at, sizeof four);
    return four;
}
SPLINEAR_INLINE void store_four(float* at, const Four& four) {
    __builtin_memcpy(at, &four, sizeof four);
}
SPLINEAR_INLINE Four where_negative(Four x, Four yes, Four no) {
    return x < all_four(0.0f) ? yes : no;
}
#else
struct Four {
    float v[4];
};

SPLINEAR_INLINE Four all_four(float v) { return {{v, v, v, v}}; }
SPLINEAR_INLINE Four four_of(float a, float b, float c, float d) { return {{a, b, c, d}}; }
SPLINEAR_INLINE float entry_of(const Four& four, int k) { return four.v[k]; }
SPLINEAR_INLINE Four load_four(const float* at) { return {{at[0], at[1], at[2], at[3]}}; }
SPLINEAR_INLINE void store_four(float* at, const Four& four) {
    for (int k = 0; k < 4; ++k) at[k] = four.v[k];
}
SPLINEAR_INLINE Four operator+(Four x, Four y) {
    for (int k = 0; k < 4; ++k) x.v[k] += y.v[k];
    return x;
}
SPLINEAR_INLINE Four operator-(Four x, Four y) {
    for (int k = 0; k < 4; ++k) x.v[k] -= y.v[k];
    return x;
}
SPLINEAR_INLINE Four where_negative(Four x, Four yes, Four no) {
    for (int k = 0; k < 4; ++k) x.v[k] = x.v[k] < 0.0f ? yes.v[k] : no.v[k];
    return x;
}
SPLINEAR_INLINE Four operator*(Four x, Four y) {
    for (int k = 0; k < 4; ++k) x.v[k] *= y.v[k];
    return x;
}
#endif

// Four vectors of four numbers, turned.
SPLINEAR_INLINE void turn_fours(Four (&in)[4]) {
#if defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 12)
    const Four low01 = __builtin_shufflevector(in[0], in[1], 0, 4, 1, 5);
    const Four low23 = __builtin_shufflevector(in[2], in[3], 0, 4, 1, 5);
    const Four high01 = __builtin_shufflevector(in[0], in[1], 2, 6, 3, 7);
    const Four high23 = __builtin_shufflevector(in[2], in[3], 2, 6, 3, 7);
    in[0] = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
    in[1] = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
    in[2] = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
    in[3] = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
#else
    const Four was[4] = {in[0], in[1], in[2], in[3]};
    for (int i = 0; i < 4; ++i)
        in[i] = four_of(entry_of(was[0], i), entry_of(was[1], i), entry_of(was[2], i),
                        entry_of(was[3], i));
#endif
}

// What is at four places, and what is behind it there. at(k): place k.
template <class At>
SPLINEAR_INLINE void load_twos(const At& at, Four& first, Four& second) {
#if defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 12)
    const auto two = [&](int k) {
        const float* from = at(k);
        double both;
        __builtin_memcpy(&both, from, sizeof both);
        return both;
    };
    using Two = double __attribute__((vector_size(16)));
    const auto low = __builtin_bit_cast(Four, Two{two(0), two(1)});
    const auto high = __builtin_bit_cast(Four, Two{two(2), two(3)});
    first = __builtin_shufflevector(low, high, 0, 2, 4, 6);
    second = __builtin_shufflevector(low, high, 1, 3, 5, 7);
#else
    first = four_of(at(0)[0], at(1)[0], at(2)[0], at(3)[0]);
    second = four_of(at(0)[1], at(1)[1], at(2)[1], at(3)[1]);
#endif
}

SPLINEAR_INLINE float sum_of_four(const Four& v) {
    return (entry_of(v, 0) + entry_of(v, 1)) + (entry_of(v, 2) + entry_of(v, 3));
}

// The weights of weights(), as polynomials in a; of degree 2 the last is zero.
template <int Degree>
SPLINEAR_INLINE Four four_weights(float fraction) {
    static_assert(Degree == 2 || Degree == 3);
    const Four a = all_four(fraction);
    if constexpr (Degree == 2) {
        const Four square = four_of(0.5f, -1.0f, 0.5f, 0.0f);
        const Four slope = four_of(-1.0f, 1.0f, 0.0f, 0.0f);
        return four_of(0.5f, 0.5f, 0.0f, 0.0f) + a * (slope + a * square);
    } else {
        constexpr float sixth = 1.0f / 6.0f;
        const Four cube = four_of(-sixth, 0.5f, -0.5f, sixth);
        const Four square = four_of(0.5f, -1.0f, 0.5f, 0.0f);
        const Four slope = four_of(-0.5f, 0.0f, 0.5f, 0.0f);
        return four_of(sixth, 4 * sixth, sixth, 0.0f) + a * (slope + a * (square + a * cube));
    }
}

// sum_f table_f' B(x_f) for n features of a tile.
template <int Degree>
SPLINEAR_INLINE float score_fours(const Shape& shape, const float* table, const Places& places,
                                  int n) {
    Four total[2] = {all_four(0.0f), all_four(0.0f)};
    const auto value = [&](int i) {
        return four_weights<Degree>(places.fraction[i]) *
               load_four(table + i * shape.entries + places.bin[i]);
    };
    int i = 0;
    for (; i + 2 <= n; i += 2)
        for (int k = 0; k < 2; ++k) total[k] = total[k] + value(i + k);
    if (i < n) total[0] = total[0] + value(i);
    return sum_of_four(total[0] + total[1]);
}

// table_f[k] += step B_k(x_f) for n features of a tile.
template <int Degree>
SPLINEAR_INLINE void add_fours(const Shape& shape, const Places& places, float step, int n,
                               float* table) {
    for (int i = 0; i < n; ++i) {
        float* at = table + i * shape.entries + places.bin[i];
        store_four(at, load_four(at) + all_four(step) * four_weights<Degree>(places.fraction[i]));
    }
}

// Where the rows of a team are in some features, and their weights there.
template <int Degree>
struct TeamFours {
    static constexpr int n_some = 16;
    static constexpr int most = splinear::simd::max_team;
    int at[most][n_some];  // in the tables of all these features
    int bin[most][n_some];
    Four weights[most][n_some];

    TeamFours(const Shape& shape, const Code* const* codes, std::size_t n_rows, std::size_t j,
              int n) {
        for (std::size_t a = 0; a < n_rows; ++a) {
            Places places;
            places.of_codes(shape, codes[a] + j, n);
            for (int f = 0; f < n; ++f) {
                bin[a][f] = places.bin[f];
                at[a][f] = f * shape.entries + places.bin[f];
                weights[a][f] = four_weights<Degree>(places.fraction[f]);
            }
        }
    }

    // table <- variance L B(x) of row b in feature f.
    void embed(const Shape& shape, const float* smoother, float variance, std::size_t b, int f,
               float* table) const {
        const Four w = all_four(variance) * weights[b][f];
        const float* rows = smoother + bin[b][f] * shape.entries;
        for (int k = 0; k <= shape.n_basis; k += 4) {
            Four entry = all_four(0.0f);
            for (int p = 0; p <= Degree && smoother != nullptr; ++p)
                entry = entry + all_four(entry_of(w, p)) * load_four(rows + p * shape.entries + k);
            store_four(table + k, entry);
        }
        if (smoother == nullptr) store_four(table + bin[b][f], w);
    }

    float product(const float* tables, std::size_t a, int n) const {
        Four total[2] = {all_four(0.0f), all_four(0.0f)};
        int f = 0;
        for (; f + 2 <= n; f += 2)
            for (int k = 0; k < 2; ++k)
                total[k] = total[k] + weights[a][f + k] * load_four(tables + at[a][f + k]);
        if (f < n) total[0] = total[0] + weights[a][f] * load_four(tables + at[a][f]);
        return sum_of_four(total[0] + total[1]);
    }
};

// Every row in turn is written to tables of its own, some features at a time, and the rows before
// it are scored by them.
template <int Degree>
void products_fours(const Shape& shape, const float* smoother, const float* variance,
                    const Code* const* codes, std::size_t n_rows, float* out) {
    constexpr std::size_t n_some = TeamFours<Degree>::n_some;
    float tables[n_some * most_in_fours] = {};
    for (std::size_t j = 0; j < shape.n_features; j += n_some) {
        const std::size_t left = shape.n_features - j;
        const int n = static_cast<int>(left < n_some ? left : n_some);
        const TeamFours<Degree> team(shape, codes, n_rows, j, n);
        for (std::size_t b = 1; b < n_rows; ++b) {
            for (int f = 0; f < n; ++f)
                team.embed(shape, smoother, variance[j + static_cast<std::size_t>(f)], b, f,
                           tables + f * shape.entries);
            for (std::size_t a = 0; a < b; ++a) out[a * n_rows + b] += team.product(tables, a, n);
        }
    }
}
