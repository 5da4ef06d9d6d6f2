// How the kernels for AVX2 go through rows. Included like avx2_tables.hpp, after it.

constexpr std::size_t most_rows = 64;  // that are scored together: a tile's tables stay near

// Sums of some rows, a lane of 8 features each.
struct Totals {
    __m256 of[most_rows];

    explicit Totals(std::size_t n_rows) {
        for (std::size_t a = 0; a < n_rows; ++a) of[a] = _mm256_setzero_ps();
    }
};

// The rows lie far apart: without asking for them ahead, each tile of each row would be waited for.
// For the second cache, as the nearest one waits for few lines at a time.
template <class Value>
SPLINEAR_INLINE void ask_ahead(const Value* row) {
    constexpr std::size_t lines = 4;
    prefetch_far(row + lines * 64 / sizeof(Value));
}

// body(first, n) for rows that are scored together.
template <class Body>
inline void in_blocks(std::size_t n_rows, const Body& body) {
    for (std::size_t a = 0; a < n_rows; a += most_rows)
        body(a, n_rows - a < most_rows ? n_rows - a : most_rows);
}
