// Scores and sums of several outputs at once: lanes are outputs, so a code is looked up once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace splinear::simd {

inline constexpr std::size_t output_lanes = 16;  // outputs at a time

// B-splines of degree 0 or 1 on 16-bit codes; those of degree 0 have no bits of a fraction.
// `tables` holds, per feature, `entries` rows of `output_lanes` floats; a code's bin is the first
// row that counts, and for degree 1 the next one counts too.
struct ManyShape {
    int degree;
    int fraction_bits;
    std::size_t entries;
    std::size_t n_features;
};

// out[a * output_lanes + o] += sum_j table_j' B(codes[a][j]) of output o, for n_rows rows.
void score_many(const ManyShape& shape, const float* tables, const std::uint16_t* const* codes,
                std::size_t n_rows, float* out);

// table_j += sum_a B(codes[a][j]) r[a * output_lanes + o], for n_rows rows.
void sum_many(const ManyShape& shape, const std::uint16_t* const* codes, const float* r,
              std::size_t n_rows, float* tables);

// Products of a feature's own functions: with first and second = B_bin, B_bin+1 at the code,
// own[bin] += r (first^2, first second, second^2), and for degree 0 r (1, 0, 0). `own` holds, per
// feature, `entries` times 3 rows of `output_lanes` floats.
void own_many(const ManyShape& shape, const std::uint16_t* const* codes, const float* r,
              std::size_t n_rows, float* own);

// The same of one output, r[a] per row: `entries` times 4 floats per feature, the last of them 0.
void own_one(const ManyShape& shape, const std::uint16_t* const* codes, const float* r,
             std::size_t n_rows, float* own);

// Scores and sums of one output and few features, which fill no vector: tables are `entries` floats
// per feature. out[a] += sum_j table_j' B(codes[a][j]), and table_j += sum_a r[a] B(codes[a][j]).
void score_few(const ManyShape& shape, const float* tables, const std::uint16_t* const* codes,
               std::size_t n_rows, float* out);
void sum_few(const ManyShape& shape, const std::uint16_t* const* codes, const float* r,
             std::size_t n_rows, float* tables);

}  // namespace splinear::simd
