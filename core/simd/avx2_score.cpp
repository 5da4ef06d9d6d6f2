// Scores of codes by AVX2.
#include "simd/avx2.hpp"

#if defined(__AVX2__) && defined(__FMA__)

#include <immintrin.h>

namespace {
#include "simd/avx2_tables.hpp"
// After what it uses.
#include "simd/avx2_rows.hpp"

// sum_f table_f' B(x_f) over the tile's features, added to total. Degree 0: some chains of
// additions side by side.
template <class Length>
inline __m256 add_steps(const Shape& shape, __m256 total, const float* table, const RowTile& row) {
    const int entries = Length::entries(shape);
    __m128 sum[4] = {};
    for (int i = 0; i < tile; i += 4)
        for (int k = 0; k < 4; ++k)
            sum[k] = _mm_add_ss(sum[k], _mm_load_ss(table + (i + k) * entries + row.bin[i + k]));
    const __m128 all = _mm_add_ss(_mm_add_ss(sum[0], sum[1]), _mm_add_ss(sum[2], sum[3]));
    return _mm256_add_ps(total, _mm256_zextps128_ps256(all));
}

// The bins of four features, read at once: loads are what scores wait for.
struct FourBins {
    std::uint64_t all;

    explicit FourBins(const Code* bin) { __builtin_memcpy(&all, bin, sizeof all); }

    // The entries of two of them, k and k + 1, in the table of the first of the four.
    template <class Length>
    __m128 entries(const Shape& shape, const float* table, int k) const {
        const auto at = [&](int f) {
            return table + f * Length::entries(shape) + ((all >> (16 * f)) & 0xffff);
        };
        return _mm_loadh_pi(load_two(at(k)), reinterpret_cast<const __m64*>(at(k + 1)));
    }
};

template <int Degree, class Length>
inline __m256 add_tile(const Shape& shape, const Splitter& split, __m256 total, const float* table,
                       const RowTile& row) {
    if constexpr (Degree == 0) {
        return add_steps<Length>(shape, total, table, row);
    } else {
        __m256 other = _mm256_setzero_ps();
        for_each_eight([&]<int I>(Number<I>) {
            const Weights<Degree> weights(split.fractions<I % 16>(row.fraction + I / 16 * 16));
            const FourBins low(row.bin + I);
            const FourBins high(row.bin + I + 8);
            for (int v = 0; v < Weights<Degree>::n; v += 2) {
                const auto at = [&](int k) {
                    if constexpr (Degree > 1)
                        return fetch<Degree, Length, 8>(shape, table, row.bin, I, k);
                    const auto two = [&](const FourBins& bins, int f) {
                        return bins.entries<Length>(shape, table + f * Length::entries(shape),
                                                    2 * k);
                    };
                    return _mm256_set_m128(two(high, I + 8), two(low, I));
                };
                total = _mm256_fmadd_ps(weights.w[v], at(v), total);
                other = _mm256_fmadd_ps(weights.w[v + 1], at(v + 1), other);
            }
        });
        return _mm256_add_ps(total, other);
    }
}

template <int Degree, class Length>
void score_rows(const Shape& shape, const float* tables, const Code* const* codes,
                std::size_t n_rows, float* out) {
    const Splitter split(shape);
    Totals total(n_rows);
    for (std::size_t j = 0; j < shape.n_features; j += tile) {
        const float* table = tables + j * static_cast<std::size_t>(Length::entries(shape));
        for (std::size_t first = 0; first < n_rows; first += n_lanes) {
            RowTile rows[n_lanes];
            for (std::size_t a = 0; a < n_lanes; ++a) {
                ask_ahead(codes[first + a] + j);
                split.load(codes[first + a], j, shape.n_features, rows[a]);
            }
            for (std::size_t a = 0; a < n_lanes; ++a)
                total.of[first + a] =
                    add_tile<Degree, Length>(shape, split, total.of[first + a], table, rows[a]);
        }
    }
    for (std::size_t a = 0; a < n_rows; ++a) out[a] += sum_of(total.of[a]);
}

}  // namespace

namespace splinear::simd::avx2 {

void score(const Shape& shape, const float* tables, const Code* const* codes, std::size_t n_rows,
           float* out) {
    by_shape(shape, [&]<int Degree, class Length>(Choice<Degree, Length>) {
        in_blocks(n_rows, [&](std::size_t a, std::size_t n) {
            score_rows<Degree, Length>(shape, tables, codes + a, n, out + a);
        });
    });
}

}  // namespace splinear::simd::avx2

#endif
