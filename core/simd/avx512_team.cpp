// Products within a team of rows by AVX-512, for short tables; lanes are rows.
#include "simd/avx2.hpp"
#include "simd/avx512.hpp"
#include "simd/clones.hpp"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)

#include <immintrin.h>

namespace {
#include "simd/avx512_tables.hpp"

constexpr int most = splinear::simd::max_team;
constexpr int n_groups = most / n_lanes;  // of rows
constexpr int some = 8;                   // features whose places are kept at a time

// Where all rows of a team are in some features, and their weights there, 16 rows a vector.
template <int Degree>
struct TeamPlaces {
    alignas(64) int bin[some][most];
    alignas(64) float weight[some][Degree + 1][most];

    void set(int f, int group, __m512i bins, __m512 a) {
        _mm512_store_si512(&bin[f][n_lanes * group], bins);
        __m512 w[Degree + 1];
        weigh(a, w);
        for (int p = 0; p <= Degree; ++p) _mm512_store_ps(&weight[f][p][n_lanes * group], w[p]);
    }

private:
    static void weigh(__m512 a, __m512* w) {
        const __m512 one = _mm512_set1_ps(1.0f);
        const __m512 rest = _mm512_sub_ps(one, a);
        if constexpr (Degree == 0) {
            w[0] = one;
        } else if constexpr (Degree == 1) {
            w[0] = rest;
            w[1] = a;
        } else if constexpr (Degree == 2) {
            const __m512 half = _mm512_set1_ps(0.5f);
            w[0] = _mm512_mul_ps(half, _mm512_mul_ps(rest, rest));
            w[2] = _mm512_mul_ps(half, _mm512_mul_ps(a, a));
            w[1] = _mm512_sub_ps(_mm512_sub_ps(one, w[0]), w[2]);
        } else {
            const __m512 sixth = _mm512_set1_ps(1.0f / 6.0f);
            w[0] = _mm512_mul_ps(sixth, _mm512_mul_ps(rest, _mm512_mul_ps(rest, rest)));
            w[1] = inner(a);
            w[2] = inner(rest);
            w[3] = _mm512_mul_ps(sixth, _mm512_mul_ps(a, _mm512_mul_ps(a, a)));
        }
    }

    // 2/3 - a^2 (1 - a / 2)
    static __m512 inner(__m512 a) {
        const __m512 slope = _mm512_fnmadd_ps(_mm512_set1_ps(0.5f), a, _mm512_set1_ps(1.0f));
        return _mm512_fnmadd_ps(_mm512_mul_ps(a, a), slope, _mm512_set1_ps(2.0f / 3.0f));
    }
};

// variance L B(x), in registers.
template <int Degree, int Entries>
inline RegisterTable<Entries> embedding(const TeamPlaces<Degree>& team, int f, std::size_t b,
                                        const float* smoother, float variance) {
    RegisterTable<Entries> table;
    const float* row = smoother + team.bin[f][b] * Entries;
    for (int i = 0; i < Entries / 16; ++i) table.part[i] = _mm512_setzero_ps();
    for (int p = 0; p <= Degree; ++p) {
        const __m512 w = _mm512_set1_ps(variance * team.weight[f][p][b]);
        for (int i = 0; i < Entries / 16; ++i)
            table.part[i] =
                _mm512_fmadd_ps(w, _mm512_load_ps(row + p * Entries + 16 * i), table.part[i]);
    }
    return table;
}

// found[k][g] += the products of rows b + k with the rows of group g, by some features.
template <int Degree, int Entries, int N>
inline void multiply(const TeamPlaces<Degree>& team, int n, const float* smoother,
                     const float* variance, std::size_t b, float (*found)[most]) {
    const int groups = static_cast<int>((b + N - 2) / n_lanes) + 1;  // of the rows before the last
    __m512 total[N][n_groups];
    for (int k = 0; k < N; ++k)
        for (int g = 0; g < n_groups; ++g) total[k][g] = _mm512_setzero_ps();
    for (int f = 0; f < n; ++f) {
        if (variance[f] == 0.0f) continue;
        RegisterTable<Entries> table[N];
        for (int k = 0; k < N; ++k)
            table[k] = embedding<Degree, Entries>(team, f, b + static_cast<std::size_t>(k),
                                                  smoother, variance[f]);
        const auto add = [&](int g) {
            __m512i at = _mm512_load_si512(&team.bin[f][n_lanes * g]);
            for (int p = 0; p <= Degree; ++p) {
                const __m512 w = _mm512_load_ps(&team.weight[f][p][n_lanes * g]);
                for (int k = 0; k < N; ++k)
                    total[k][g] = _mm512_fmadd_ps(w, table[k][at], total[k][g]);
                if (p < Degree) at = _mm512_add_epi32(at, _mm512_set1_epi32(1));
            }
        };
        add(0);
        if (groups > 1) add(1);
        if (groups > 2) add(2);
        if (groups > 3) add(3);
    }
    for (int k = 0; k < N; ++k)
        for (int g = 0; g < groups; ++g) {
            float* out = found[b + static_cast<std::size_t>(k)] + n_lanes * g;
            _mm512_store_ps(out, _mm512_add_ps(_mm512_load_ps(out), total[k][g]));
        }
}

// Every row in turn becomes tables, in registers, by which the rows before it are scored.
template <int Degree, int Entries>
void team_products_of(const Shape& shape, const float* smoother, const float* variance,
                      const Code* const* codes, std::size_t n_rows, float* out) {
    const Splitter split(shape);
    TeamPlaces<Degree> team;
    alignas(64) float found[most][most] = {};
    const Code* rows[most];
    for (std::size_t a = 0; a < most; ++a) rows[a] = codes[a < n_rows ? a : 0];
    const int groups = static_cast<int>((n_rows + n_lanes - 1) / n_lanes);
    for (std::size_t j = 0; j < shape.n_features; j += tile) {
        __m512i pairs[n_groups][16];
        for (int g = 0; g < groups; ++g)
            load_tile(rows + n_lanes * g, j, shape.n_features, pairs[g]);
        for (int first = 0; first < tile; first += some) {
            const std::size_t at = j + static_cast<std::size_t>(first);
            if (at >= shape.n_features) break;
            for (int g = 0; g < groups; ++g)
                for (int f = 0; f < some; ++f) {
                    const __m512i both = pairs[g][(first + f) / 2];
                    const __m512i code = f % 2 == 0
                                             ? _mm512_and_si512(both, _mm512_set1_epi32(0xffff))
                                             : _mm512_srli_epi32(both, 16);
                    team.set(f, g, split.bin(code), split.fraction(code));
                }
            const std::size_t left = shape.n_features - at;
            const int n = left < some ? static_cast<int>(left) : some;
            std::size_t b = 1;
            for (; b + 1 < n_rows; b += 2)
                multiply<Degree, Entries, 2>(team, n, smoother, variance + at, b, found);
            if (b < n_rows)
                multiply<Degree, Entries, 1>(team, n, smoother, variance + at, b, found);
        }
    }
    for (std::size_t b = 1; b < n_rows; ++b)
        for (std::size_t a = 0; a < b; ++a) out[a * n_rows + b] += found[b][a];
}

}  // namespace

namespace splinear::simd::avx512 {

// Longer tables are fetched from memory entry by entry, to which longer vectors add nothing.
void products(const Shape& shape, const float* smoother, const float* variance,
              const Code* const* codes, std::size_t n_rows, float* out) {
    if (shape.degree < 2 || shape.entries > 32 || smoother == nullptr)
        return avx2::products(shape, smoother, variance, codes, n_rows, out);
    const auto by_length = [&]<int Degree>() {
        if (shape.entries == 16)
            team_products_of<Degree, 16>(shape, smoother, variance, codes, n_rows, out);
        else
            team_products_of<Degree, 32>(shape, smoother, variance, codes, n_rows, out);
    };
    if (shape.degree == 2)
        by_length.template operator()<2>();
    else
        by_length.template operator()<3>();
}

}  // namespace splinear::simd::avx512

#endif
