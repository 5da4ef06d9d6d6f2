// Values as plain loops, feature by feature; between knots by cells, see KnotForm::fences. Included
// like loops.hpp, after it.

constexpr std::size_t n_in_column = splinear::simd::code_rows;  // values that are placed together
constexpr int n_columns = 16;  // features that are read together: a cache line of a row

// The values of n features from j on, each a column of rows, a multiple of four. Blocks of four
// rows and four features are turned together.
SPLINEAR_INLINE void load_columns(const float* const* x, std::size_t n_rows, std::size_t j,
                                  std::size_t n, float (*columns)[n_in_column]) {
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (std::size_t a = 0; a < n_rows; a += 4) {
            Four four[4];
            for (std::size_t k = 0; k < 4; ++k) four[k] = load_four(x[a + k] + j + i);
            turn_fours(four);
            for (std::size_t k = 0; k < 4; ++k) store_four(columns[i + k] + a, four[k]);
        }
    for (; i < n; ++i)
        for (std::size_t a = 0; a < n_rows; ++a) columns[i][a] = x[a][j + i];
}

// The cell of each value; see CellMap.
SPLINEAR_INLINE void find_cells(const splinear::simd::CellMap& map, const float* x, int* cell) {
    for (std::size_t i = 0; i < n_in_column; ++i) {
        float y = x[i] - map.origin;
        y = y > map.least ? y : map.least;  // also for a NaN
        y = y < map.most ? y : map.most;
        cell[i] = (__builtin_bit_cast(int, y) >> map.shift) - map.first;
    }
}

// From the first leaf of each value's cell to its own, by halving without a branch: which way a
// value goes cannot be predicted. The values go step by step together, so that none waits for
// another's. The fence before a leaf is its knot: what is below it is in the leaf before, too.
SPLINEAR_INLINE void find_leaves(const float* records, int window, const float* x, int* leaf) {
    for (int n = window; n > 1; n -= n / 2) {
        const int half = n / 2;
        for (std::size_t i = 0; i < n_in_column; ++i)
            leaf[i] += half & -static_cast<int>(x[i] >= records[4 * (leaf[i] + half)]);
    }
}

// use(i, of_knot, from_knot) for every four values from i on: a number of the knot of their leaf;
// and the distance from the knot times one of two others, that for values below it or that for
// those above. The latter is NaN for what is not finite.
template <class Use>
SPLINEAR_INLINE void between_knots(const float* tree, const float* x, const Use& use) {
    const auto whole = [&](int i) { return __builtin_bit_cast(std::int32_t, tree[i]); };
    const splinear::simd::CellMap map{tree[0], tree[1], tree[2], whole(3), whole(4), whole(5)};
    const int left_out = whole(6);
    const auto* leaves =
        reinterpret_cast<const std::uint8_t*>(tree + splinear::simd::cell_map_floats);
    const float* records = tree + splinear::simd::cell_floats;
    int at[n_in_column];
    find_cells(map, x, at);
    const auto look_up = [&](const auto& leaf) SPLINEAR_INLINE_LAMBDA {
        for (std::size_t i = 0; i < n_in_column; i += 4) {
            Four four[4];
            for (std::size_t k = 0; k < 4; ++k) four[k] = load_four(records + 4 * leaf(i + k));
            turn_fours(four);
            const Four from = load_four(x + i) - four[0];
            use(i, four[1], from * where_negative(from, four[2], four[3]));
        }
    };
    const auto of_cell = [&](std::size_t i) SPLINEAR_INLINE_LAMBDA {
        return static_cast<std::size_t>(leaves[static_cast<unsigned>(at[i])]);
    };
    // Most features have cells of one leaf or two.
    if (map.window == 1) return look_up(of_cell);
    if (map.window == 2)
        return look_up([&](std::size_t i) SPLINEAR_INLINE_LAMBDA {
            const std::size_t leaf = of_cell(i);
            return leaf + static_cast<std::size_t>(x[i] >= records[4 * leaf + 4]);
        });
    for (std::size_t i = 0; i < n_in_column; ++i) at[i] = leaves[at[i]] << left_out;
    find_leaves(records, map.window, x, at);
    look_up([&](std::size_t i) SPLINEAR_INLINE_LAMBDA { return static_cast<unsigned>(at[i]); });
}

// The same for a column of values, kept.
struct BetweenFences {
    alignas(16) float of_knot[n_in_column];
    alignas(16) float from_knot[n_in_column];

    SPLINEAR_INLINE BetweenFences(const float* tree, const float* x) {
        between_knots(tree, x, [&](std::size_t i, Four of, Four from) SPLINEAR_INLINE_LAMBDA {
            store_four(of_knot + i, of);
            store_four(from_knot + i, from);
        });
    }
};

// A feature whose bins lie along a straight line. What can be done in vectors has a loop of its
// own.
inline void add_fenced_line(const splinear::simd::BinMap& map, std::size_t j, const float* table,
                            const float* x, float* out) {
    const float lo = map.lo[j];
    const float slope = map.slope[j];
    const float end = map.end[j];
    int bin[n_in_column];
    float fraction[n_in_column];
    for (std::size_t i = 0; i < n_in_column; ++i) {
        float t = (x[i] - lo) * slope;
        t = t > 0.0f ? t : 0.0f;
        t = t < end ? t : end;
        bin[i] = static_cast<int>(t);
        fraction[i] = t - static_cast<float>(bin[i]) + x[i] * 0.0f;
    }
    for (std::size_t a = 0; a < n_in_column; a += 4) {
        Four first;
        Four second;
        load_twos([&](int k) { return table + bin[a + static_cast<std::size_t>(k)]; }, first,
                  second);
        const Four at = load_four(fraction + a);
        store_four(out + a, load_four(out + a) + first + at * (second - first));
    }
}

// Scores of degree 1, some of whose features may have knots: 64 rows by one before the next is
// read. A sum of few numbers at a time rounds less.
inline void decide_fences(const Shape& shape, const splinear::simd::BinMap& map,
                          const float* tables, const float* const* x, std::size_t n_rows,
                          float* out) {
    alignas(16) float columns[n_columns][n_in_column] = {};
    for (std::size_t j = 0; j < shape.n_features; j += n_columns)
        for (std::size_t a = 0; a < n_rows; a += n_in_column) {
            const std::size_t n = n_rows - a < n_in_column ? n_rows - a : n_in_column;
            const std::size_t left = shape.n_features - j;
            const std::size_t n_here = left < n_columns ? left : n_columns;
            for (std::size_t k = 0; k < n; ++k) prefetch_far(x[a + k] + j + 4 * n_columns);
            load_columns(x + a, n, j, n_here, columns);
            alignas(16) float sums[n_in_column];
            for (std::size_t k = 0; k < n_in_column; ++k) sums[k] = 0.0f;
            for (std::size_t i = 0; i < n_here; ++i) {
                const float* values = columns[i];
                if (map.trees == nullptr || map.trees[j + i] == nullptr) {
                    const auto entries = static_cast<std::size_t>(shape.entries);
                    add_fenced_line(map, j + i, tables + (j + i) * entries, values, sums);
                    continue;
                }
                between_knots(map.trees[j + i], values,
                              [&](std::size_t k, Four of, Four from) SPLINEAR_INLINE_LAMBDA {
                                  store_four(sums + k, load_four(sums + k) + (of + from));
                              });
            }
            for (std::size_t k = 0; k < n; ++k) out[a + k] += sums[k];
        }
}
