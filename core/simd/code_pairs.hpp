// Sums over features of a function of two codes. Included, after Units, load_codes(), not_seen()
// and the kinds of functions of an instruction set, by the file that implements its min_products()
// and hat_products(). There are at least as many features as a vector has codes.

constexpr std::size_t chunk = 256;  // vectors of codes that are prepared at a time

// The place of a vector: the last one ends with the last feature.
inline std::size_t place(std::size_t i, std::size_t n_features) {
    return codes_in_vector * (i + 1) <= n_features ? codes_in_vector * i
                                                   : n_features - codes_in_vector;
}

// sums[k] += those of row k, by the features from vector `first` on.
template <class Kind, std::size_t N>
inline void add_chunk(const Units& units, const Kind* x, std::size_t first, std::size_t n,
                      std::size_t n_features, const Code* const* codes, float* out) {
    typename Kind::Sum sums[N];
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t at = place(first + i, n_features);
        for (std::size_t k = 0; k < N; ++k) x[i].add(units, load_codes(codes[k] + at), sums[k]);
    }
    for (std::size_t k = 0; k < N; ++k) out[k] = sums[k].value(units, n);
}

// out[b] = the sum over features of what Kind says of x and y_b.
template <class Kind>
void add_pairs(const Shape& shape, const Code* x, const Code* const* codes, std::size_t n_rows,
               float* out) {
    const Units units(shape.fraction_bits);
    const std::size_t n_features = shape.n_features;
    const std::size_t n_vectors = (n_features + codes_in_vector - 1) / codes_in_vector;
    double total[most] = {};
    for (std::size_t first = 0; first < n_vectors; first += chunk) {
        const std::size_t n = n_vectors - first < chunk ? n_vectors - first : chunk;
        Kind prepared[chunk];
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t at = place(first + i, n_features);
            const std::size_t n_seen = codes_in_vector * (first + i) - at;
            prepared[i].set(units, load_codes(x + at), not_seen(n_seen));
        }
        float part[4];
        for (std::size_t b = 0; b < n_rows; b += 4) {
            const std::size_t n_some = n_rows - b < 4 ? n_rows - b : 4;
            if (n_some == 4)
                add_chunk<Kind, 4>(units, prepared, first, n, n_features, codes + b, part);
            for (std::size_t k = 0; k < n_some; ++k) {
                if (n_some < 4)
                    add_chunk<Kind, 1>(units, prepared, first, n, n_features, codes + b + k,
                                       part + k);
                total[b + k] += static_cast<double>(part[k]);
            }
        }
    }
    for (std::size_t b = 0; b < n_rows; ++b) out[b] = static_cast<float>(total[b]);
}

inline void min_pairs(const Shape& shape, const Code* x, const Code* const* codes,
                      std::size_t n_rows, float* out) {
    if (shape.n_features >= codes_in_vector)
        add_pairs<Minimum>(shape, x, codes, n_rows, out);
    else
        min_products_loops(shape, x, codes, n_rows, out);
}

inline void hat_pairs(const Shape& shape, const Code* x, const Code* const* codes,
                      std::size_t n_rows, float* out) {
    if (shape.n_features >= codes_in_vector && shape.fraction_bits < 15)  // a bin fits a sign
        add_pairs<Hats>(shape, x, codes, n_rows, out);
    else
        hat_products_loops(shape, x, codes, n_rows, out);
}
