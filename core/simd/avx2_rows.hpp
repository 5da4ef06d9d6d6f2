// Rows summed per basis function, a tile of features at a time. Included like avx2_tables.hpp, and
// in its place, by what adds rows to tables for AVX2 and for AVX-512: longer vectors do nothing for
// it.
#include "simd/avx2_tables.hpp"

inline void add_two(float* at, __m128 w) {
    _mm_storel_pi(reinterpret_cast<__m64*>(at), _mm_add_ps(load_two(at), w));
}

inline void add_four(float* at, __m128 w) { _mm_storeu_ps(at, _mm_add_ps(_mm_loadu_ps(at), w)); }

// Adds what fetch() would read its weights with.
template <int Degree, class Length>
inline void scatter(const Shape& shape, float* table, const Code* bin, int i, int v, __m256 w) {
    const auto at = [&](int f) { return table + f * Length::entries(shape) + bin[f]; };
    const __m128 low = _mm256_castps256_ps128(w);
    const __m128 high = _mm256_extractf128_ps(w, 1);
    if constexpr (Degree == 1) {
        const int f = i + 2 * v;
        add_two(at(f), low);
        add_two(at(f + 1), _mm_movehl_ps(low, low));
        add_two(at(f + 8), high);
        add_two(at(f + 9), _mm_movehl_ps(high, high));
    } else {
        add_four(at(i + v), low);
        add_four(at(i + v + 8), high);
    }
}

// table_f[k] += step B_k(x_f) for the n features of a tile. Features in turn: no addition waits for
// the one before.
template <int Degree, class Length>
inline void add_tile(const Shape& shape, const Splitter& split, const RowTile& row, float step,
                     float* table) {
    if constexpr (Degree == 0) {
        const int entries = Length::entries(shape);
        for (int f = 0; f < tile; ++f) table[f * entries + row.bin[f]] += step;
    } else {
        for_each_eight([&]<int I>(Number<I>) {
            Weights<Degree> weights(split.fractions<I % 16>(row.fraction + I / 16 * 16));
            weights.scale(_mm256_set1_ps(step));
            for (int v = 0; v < Weights<Degree>::n; ++v)
                scatter<Degree, Length>(shape, table, row.bin, I, v, weights.w[v]);
        });
    }
}

// The same for any number of rows, and features from j on. Tables beyond the last feature take what
// nobody reads.
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
