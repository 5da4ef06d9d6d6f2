// Values between knots as plain loops, feature by feature; see KnotForm::fences. Included like
// loops.hpp, after it.

constexpr std::size_t n_in_column = splinear::simd::code_rows;  // values that are placed together
constexpr int n_columns = 16;     // features that are read together: a cache line of a row
constexpr int most_counted = 48;  // fences that are passed faster than searched

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

// The leaf of each value, which is how many fences are not above it. Every value is compared with
// every fence but the last, behind which there is no leaf; infinity is not below any ...
SPLINEAR_INLINE void count_fences(const float* fences, int n_leaves, const float* x, int* leaf) {
    for (std::size_t i = 0; i < n_in_column; ++i) leaf[i] = 0;
    const auto count = [](float value, float fence) { return value >= fence ? 1 : 0; };
    int k = 0;
    for (; k + 4 < n_leaves; k += 4) {
        const float a = fences[k];
        const float b = fences[k + 1];
        const float c = fences[k + 2];
        const float d = fences[k + 3];
        for (std::size_t i = 0; i < n_in_column; ++i)
            leaf[i] += count(x[i], a) + count(x[i], b) + count(x[i], c) + count(x[i], d);
    }
    for (; k + 1 < n_leaves; ++k) {
        const float a = fences[k];
        for (std::size_t i = 0; i < n_in_column; ++i) leaf[i] += count(x[i], a);
    }
}

// ... or goes by halving; the values go step by step together, so that none waits for another's.
SPLINEAR_INLINE void search_fences(const float* fences, int n_leaves, const float* x, int* leaf) {
    for (std::size_t i = 0; i < n_in_column; ++i) leaf[i] = 0;
    for (int n = n_leaves; n > 1; n -= n / 2) {
        const int half = n / 2;
        for (std::size_t i = 0; i < n_in_column; ++i)
            leaf[i] += half & -static_cast<int>(x[i] >= fences[leaf[i] + half - 1]);
    }
}

// What the leaves of some values say: a number of the knot in the leaf; and the distance from the
// knot times one of two others, that for values below it or that for those above. The latter is NaN
// for what is not finite.
struct BetweenFences {
    alignas(16) float of_knot[n_in_column];
    alignas(16) float from_knot[n_in_column];

    SPLINEAR_INLINE BetweenFences(const float* tree, int n_leaves, const float* x) {
        int leaf[n_in_column];
        if (n_leaves <= most_counted)
            count_fences(tree, n_leaves, x, leaf);
        else
            search_fences(tree, n_leaves, x, leaf);
        const float* records = tree + n_leaves;
        for (std::size_t i = 0; i < n_in_column; i += 4) {
            Four four[4];
            for (std::size_t k = 0; k < 4; ++k) four[k] = load_four(records + 4 * leaf[i + k]);
            turn_fours(four);
            const Four from = load_four(x + i) - four[0];
            const Four below = lesser(from, all_four(0.0f));  // not a NaN
            store_four(of_knot + i, four[1]);
            store_four(from_knot + i, below * four[2] + (from - below) * four[3]);
        }
    }
};

// A feature whose bins lie along a straight line. What can be done in vectors has a loop of its
// own.
inline void add_fenced_line(const splinear::simd::BinMap& map, std::size_t j, const float* table,
                            const float* x, std::size_t n_rows, float* out) {
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
    for (std::size_t a = 0; a < n_rows; ++a) {
        const float* entry = table + bin[a];
        out[a] += (1.0f - fraction[a]) * entry[0] + fraction[a] * entry[1];
    }
}

// Scores of degree 1 where some features have trees: all rows by one before the next is read.
inline void decide_fences(const Shape& shape, const splinear::simd::BinMap& map,
                          const float* tables, const float* const* x, std::size_t n_rows,
                          float* out) {
    alignas(16) float columns[n_columns][n_in_column] = {};
    for (std::size_t j = 0; j < shape.n_features; j += n_columns)
        for (std::size_t a = 0; a < n_rows; a += n_in_column) {
            const std::size_t n = n_rows - a < n_in_column ? n_rows - a : n_in_column;
            const std::size_t left = shape.n_features - j;
            const std::size_t n_here = left < n_columns ? left : n_columns;
            for (std::size_t k = 0; k < n; ++k) prefetch(x[a + k] + j + 4 * n_columns);
            load_columns(x + a, n, j, n_here, columns);
            for (std::size_t i = 0; i < n_here; ++i) {
                const float* values = columns[i];
                if (map.trees[j + i] == nullptr) {
                    const auto entries = static_cast<std::size_t>(shape.entries);
                    add_fenced_line(map, j + i, tables + (j + i) * entries, values, n, out + a);
                    continue;
                }
                const BetweenFences found(map.trees[j + i], map.sections, values);
                for (std::size_t k = 0; k < n; ++k)
                    out[a + k] += found.of_knot[k] + found.from_knot[k];
            }
        }
}
