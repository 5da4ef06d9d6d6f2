// Sums over rows, by tiles of features. Included, after RowTile, Splitter, add_tile() and
// add_sums() of an instruction set, by the file that implements its add() and sum().

// table_f[k] += sum_a steps[a] B_k(x_af) for a tile of features from j on. Tables beyond the last
// feature take what nobody reads.
template <int Degree, class Length>
void add_rows(const Shape& shape, const Code* const* codes, const float* steps, std::size_t n_rows,
              std::size_t j, float* table) {
    constexpr std::size_t ahead = 4;
    const Splitter split(shape);
    RowTile rows[ahead];
    for (std::size_t a = 0; a < n_rows; a += ahead) {
        const std::size_t n = n_rows - a < ahead ? n_rows - a : ahead;
        for (std::size_t i = 0; i < n; ++i) split.load(codes[a + i], j, shape.n_features, rows[i]);
        for (std::size_t i = 0; i < n; ++i)
            if (steps[a + i] != 0.0f)
                add_tile<Degree, Length>(shape, split, rows[i], steps[a + i], table);
    }
}

// The rows' weights are summed per basis function first, for a tile of features at a time.
template <int Degree, class Length>
void add_shape(const Shape& shape, const float* variance, const Code* const* codes,
               const float* steps, std::size_t n_rows, float* tables) {
    const int entries = Length::entries(shape);
    constexpr int most = Length::most < most_in_tiles ? Length::most : most_in_tiles;
    alignas(64) float sums[tile * most];
    for (std::size_t j = 0; j < shape.n_features; j += tile) {
        for (int k = 0; k < tile * entries; ++k) sums[k] = 0.0f;
        add_rows<Degree, Length>(shape, codes, steps, n_rows, j, sums);
        const std::size_t left = shape.n_features - j;
        const std::size_t n = left < tile ? left : tile;
        for (std::size_t f = 0; f < n; ++f) {
            const std::size_t at = f * static_cast<std::size_t>(entries);
            if (variance[j + f] != 0.0f)
                add_sums(shape, variance[j + f], sums + at,
                         tables + j * static_cast<std::size_t>(entries) + at);
        }
    }
}

inline void add_tiles(const Shape& shape, const float* smoother, const float* variance,
                      const Code* const* codes, const float* steps, std::size_t n_rows,
                      float* tables) {
    if (shape.entries > most_in_tiles)
        return add_loops(shape, smoother, variance, codes, steps, n_rows, tables);
    by_shape(shape, [&]<int Degree, class Length>(Choice<Degree, Length>) {
        add_shape<Degree, Length>(shape, variance, codes, steps, n_rows, tables);
    });
}

inline void sum_tiles(const Shape& shape, const Code* const* codes, const float* steps,
                      std::size_t n_rows, float* tables) {
    by_shape(shape, [&]<int Degree, class Length>(Choice<Degree, Length>) {
        const auto entries = static_cast<std::size_t>(Length::entries(shape));
        for (std::size_t j = 0; j < shape.n_features; j += tile)
            add_rows<Degree, Length>(shape, codes, steps, n_rows, j, tables + j * entries);
    });
}
