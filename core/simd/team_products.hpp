// Products within a team of rows, by tiles of features. Included, after Splitter, TeamTile,
// embed(), score_parts() and add_sums_of() of an instruction set, by the file that implements its
// products().

// found[a] += the products of row b, which the tables of 16 features hold, with the rows a < b.
template <int Degree, class Length>
inline void score_earlier(const Shape& shape, const float* table, const TeamTile<Degree>& team,
                          int first, std::size_t b, float* found) {
    for (std::size_t a = 0; a < b; a += summed_together) {
        Parts parts[summed_together];
        for (std::size_t r = 0; r < summed_together; ++r)
            parts[r] = score_parts<Degree, Length>(shape, table, team.row[a + r].bin + first,
                                                   team.weights[a + r]);
        add_sums_of(parts, found + a);
    }
}

// Every row in turn is written to tables of its own, 16 features at a time, and the rows before it
// are scored by them; what is known of those is computed once.
template <int Degree, class Length>
void products_shape(const Shape& shape, const float* smoother, const float* variance,
                    const Code* const* codes, std::size_t n_rows, float* out) {
    constexpr int longest = Length::most < most_in_tiles ? Length::most : most_in_tiles;
    const Splitter split(shape);
    TeamTile<Degree> team = {};
    alignas(64) float tables[16 * longest] = {};
    alignas(64) float found[most][most] = {};
    for (std::size_t j = 0; j < shape.n_features; j += tile) {
        for (std::size_t a = 0; a < n_rows; ++a)
            split.load(codes[a], j, shape.n_features, team.row[a]);
        for (int first = 0; first < tile; first += 16) {
            team.weigh(split, first, n_rows);
            for (std::size_t b = 1; b < n_rows; ++b) {
                for (int f = 0; f < 16; ++f) {
                    const std::size_t k = j + static_cast<std::size_t>(first + f);
                    embed<Degree, Length>(shape, smoother,
                                          k < shape.n_features ? variance[k] : 0.0f,
                                          team.row[b].bin[first + f], team.weights_of(b, f),
                                          tables + f * Length::entries(shape));
                }
                score_earlier<Degree, Length>(shape, tables, team, first, b, found[b]);
            }
        }
    }
    for (std::size_t b = 1; b < n_rows; ++b)
        for (std::size_t a = 0; a < b; ++a) out[a * n_rows + b] += found[b][a];
}

inline void team_products(const Shape& shape, const float* smoother, const float* variance,
                          const Code* const* codes, std::size_t n_rows, float* out) {
    if (shape.entries > most_in_tiles)
        return products_loops(shape, smoother, variance, codes, n_rows, out);
    by_shape(shape, [&]<int Degree, class Length>(Choice<Degree, Length>) {
        products_shape<Degree, Length>(shape, smoother, variance, codes, n_rows, out);
    });
}
