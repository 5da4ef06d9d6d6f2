// How the kernels code a tile of features. Included, inside an unnamed namespace of its own, by the
// files that implement Kernels::code_tile, after loops.hpp.

using splinear::simd::CodeMap;
constexpr int n_coded = splinear::simd::code_rows;
constexpr int n_pairs = splinear::simd::tile / 2;

// The values of a tile of features, each a column of rows.
struct Columns {
    alignas(64) float at[splinear::simd::tile][n_coded];
};

// The codes of a tile, two features side by side, each pair a column of rows.
struct CodePairs {
    alignas(64) std::uint32_t at[n_pairs][n_coded];
};

// The rows lie far apart, and are more than a processor follows by itself. Pair by pair of the
// features, some rows are asked for: what is read three tiles later, and what is written next. All
// rows at once would be waited for.
SPLINEAR_INLINE void ask_ahead(const float* const* x, std::uint16_t* const* out, std::size_t j,
                               std::size_t pair) {
    constexpr std::size_t n_rows = n_coded / n_pairs;
    constexpr std::size_t n = splinear::simd::tile;
    for (std::size_t a = n_rows * pair; a < n_rows * (pair + 1); ++a) {
        prefetch_far(x[a] + j + 3 * n);
        prefetch_far(x[a] + j + 3 * n + 16);
        prefetch_to_write(out[a] + j + 2 * n - 1);
    }
}

// Kernels::code_tile. What differs: load(x, j, n, columns), zero beyond the last of n features;
// code<IsOdd>(map, j, x, pairs), which writes the codes of one feature, or adds them to those of
// the one before, and returns the doubtful rows; store(pairs, n, out, j).
template <class Coding>
SPLINEAR_INLINE void code_tile_by(const CodeMap& map, std::size_t j, std::size_t n,
                                  const float* const* x, std::uint16_t* const* out,
                                  std::uint64_t* doubts) {
    Columns columns;
    CodePairs pairs;
    if (n < splinear::simd::tile) pairs = {};
    Coding::load(x, j, n, columns);
    for (std::size_t f = 0; f < n; f += 2) {
        std::uint32_t* to = pairs.at[f / 2];
        ask_ahead(x, out, j, f / 2);
        doubts[f] = Coding::template code<false>(map, j + f, columns.at[f], to);
        if (f + 1 < n)
            doubts[f + 1] = Coding::template code<true>(map, j + f + 1, columns.at[f + 1], to);
    }
    Coding::store(pairs, n, out, j);
}
