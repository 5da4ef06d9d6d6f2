// Rows added to the tables by AVX-512.
#include "simd/avx2.hpp"
#include "simd/avx512.hpp"
#include "simd/clones.hpp"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)

#include <immintrin.h>

namespace {
#include "simd/avx512_tables.hpp"

// One row alone: its few rows of the smoother go straight into the tables.
template <int Degree, class Length>
void add_one(const Shape& shape, const float* smoother, const float* variance, const Code* codes,
             float step, float* table) {
    const int entries = Length::entries(shape);
    for (std::size_t j = 0; j < shape.n_features; ++j, table += entries) {
        const Position at = split(shape, codes[j]);
        float w[Degree + 1];
        weights<Degree>(at.fraction, w);
        for (int p = 0; p <= Degree; ++p) w[p] *= variance[j] * step;
        if (smoother == nullptr) {
            for (int p = 0; p <= Degree; ++p) table[at.bin + p] += w[p];
            continue;
        }
        const float* from = smoother + at.bin * entries;
        for (int i = 0; i < entries / 16; ++i) {
            __m512 entry = _mm512_load_ps(table + 16 * i);
            for (int p = 0; p <= Degree; ++p)
                entry = _mm512_fmadd_ps(_mm512_set1_ps(w[p]),
                                        _mm512_load_ps(from + p * entries + 16 * i), entry);
            _mm512_store_ps(table + 16 * i, entry);
        }
    }
}

}  // namespace

namespace splinear::simd::avx512 {

void add(const Shape& shape, const float* smoother, const float* variance, const Code* const* codes,
         const float* steps, std::size_t n_rows, float* tables) {
    // Weights are added entry by entry: longer vectors do nothing for it.
    if (n_rows > 1) return avx2::add(shape, smoother, variance, codes, steps, n_rows, tables);
    by_shape(shape, [&]<int Degree, class Length>(Choice<Degree, Length>) {
        add_one<Degree, Length>(shape, smoother, variance, codes[0], steps[0], tables);
    });
}

}  // namespace splinear::simd::avx512

#endif
