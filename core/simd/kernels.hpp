// The inner loops of B-spline training on 16-bit codes, one set per instruction set.
//
// Only plain arrays and plain functions cross this interface, and the files that implement it
// include nothing that could leave an inline function behind: each is compiled for its own
// processor, and the linker would keep any one of several copies of such a function, for all
// processors.
#pragma once

#include <cstddef>
#include <cstdint>

namespace splinear::simd {

inline constexpr int lanes = 16;  // rows that are scored together
inline constexpr int tile = 32;   // features come in tiles; tables are padded to whole tiles
inline constexpr int short_entries = 64;  // of a table that fits a few registers
inline constexpr int max_entries = 2048;  // of one feature's table
inline constexpr int max_series = 32;     // functions per feature of a Fourier or Hermite basis
inline constexpr int max_team = 64;       // rows whose products are asked for at once
inline constexpr std::size_t max_ramp = std::size_t{1} << 19;  // features of min_products()

// Where a code's bits lie and how the tables are laid out.
struct Shape {
    int degree;
    int fraction_bits;  // of a code; the bin is above them
    int order;          // d of D_d
    int n_basis;        // functions per feature
    int entries;        // floats per feature's table; see padded_entries()
    std::size_t n_features;
};

// Fourier and Hermite curves: every function is non-zero everywhere.
struct SeriesShape {
    int degree;
    int size;  // functions per feature, at most max_series; also the length of a table
    std::size_t n_features;
    const float* first;  // per feature: the argument of the basis is first + width * code
    const float* width;
    const float* smoother;  // per function: the diagonal of L
};

// The members of Kernels of the same names, for 16 rows; missing rows are given a step of 0. gram()
// takes n_groups times 16 rows, at most max_team, and adds to out[a * max_team + b].
struct SeriesKernels {
    void (*score)(const SeriesShape& shape, const float* tables, const std::uint16_t* const* codes,
                  float* out);
    void (*norm)(const SeriesShape& shape, const float* variance, const std::uint16_t* const* codes,
                 float* out);
    void (*add)(const SeriesShape& shape, const float* variance, const std::uint16_t* const* codes,
                const float* steps, float* tables);
    void (*gram)(const SeriesShape& shape, const float* variance, const std::uint16_t* const* codes,
                 std::size_t n_groups, float* out);
};

// How decide() and code_tile() take knots: as trees (see knot_tree.hpp) with first one number of
// all leaves and then the next; as trees in sections, longer ones with the numbers of a leaf side
// by side; or as leaves in a row, in one of few of which, with fences between them, a value is by
// its cell (CellMap). The latter two are for curves of degree 1: of others decide() then takes
// BinMap::knots.
enum class KnotForm { columns, sections, fences };

// Per feature, the map from values to bins: a straight line, or straight lines between knots.
struct BinMap {
    const float* lo;
    const float* slope;  // bins per unit of a straight line
    const float* end;    // of a straight line, its number of bins; with knots, the last of them
    const unsigned char* is_warped;  // whether the feature has knots
    // Null if no feature has knots; else, per feature, `entries` floats and as many again: the
    // lower end of each bin, infinity after the last; and 1 / the width of each bin.
    const float* knots;
    // In place of knots, for kernels that search in trees: null if no feature has knots; else, per
    // feature, null or a tree and what is in its leaves, which predict/tree_pieces.hpp says.
    int depth;
    int sections;  // 0: a tree without
    const float* const* trees;
};

inline constexpr int code_rows = 64;  // rows that are coded together

// Per feature, the map from values to codes: a straight line, as in simd/coding.hpp, or straight
// lines between knots.
struct CodeMap {
    const double* prescale;
    const double* lo;
    const double* slope;  // codes per unit
    double rounding;
    double last;
    std::int32_t nan;  // the code of a NaN
    int depth;         // of all trees
    int sections;      // as in BinMap
    // Null for a straight line; else a tree, with KnotForm::columns of bins: where each begins,
    // codes per unit, and the code of its beginning, a whole number of 32 bits. Otherwise of pairs
    // of neighbors (PairTrees): the knot between the two, its code, codes per unit below and above;
    // values are rounded to the nearest code then.
    const float* const* trees;
    float doubt;  // how far from a whole number single precision is sure where to round
};

// codes[a]: the codes of row a. A table is `entries` floats per feature, 64-byte aligned.
struct Kernels {
    const char* name;

    // out[a] += sum_{j < n} table_j' B(codes[a][j]), a < n_rows, a multiple of 16; n =
    // shape.n_features. Which rows come together changes no bit.
    void (*score)(const Shape& shape, const float* tables, const std::uint16_t* const* codes,
                  std::size_t n_rows, float* out);

    // table_j[k] += variance[j] sum_a steps[a] sum_p B_p(codes[a][j]) smoother[(bin + p) * entries
    // + k], for the n_rows rows a: the rows' embeddings added to the coefficients. smoother is L_d,
    // one padded row per basis function; null stands for L_0, the identity.
    void (*add)(const Shape& shape, const float* smoother, const float* variance,
                const std::uint16_t* const* codes, const float* steps, std::size_t n_rows,
                float* tables);

    // table_j[k] += sum_a steps[a] B_k(codes[a][j]) for many rows: add() without variance and
    // smoother.
    void (*sum)(const Shape& shape, const std::uint16_t* const* codes, const float* steps,
                std::size_t n_rows, float* tables);

    // out[a] += sum_j table_j' B(t), t being where the map sends x[a][j], for n_rows rows of
    // values, a multiple of 16, and degrees from 1 on; NaN for a row with a value that is not
    // finite. Which rows come together changes no bit.
    void (*decide)(const Shape& shape, const BinMap& map, const float* tables,
                   const float* const* x, std::size_t n_rows, float* out);

    // sum_j variance[j] q_bin(fraction), with q_bin the polynomial of degree 2 * degree whose
    // coefficients are polynomial[i * entries + bin], lowest first.
    float (*norm)(const Shape& shape, const float* polynomial, const float* variance,
                  const std::uint16_t* codes);

    // out[b] = sum_j (min(x_j, y_bj) + [same bin] (a_j a'_bj - min(a_j, a'_bj))) for the n_rows
    // rows y_b, in units of a bin: phi^1(x)'phi^1(y_b) for degrees 0 and 1, less 1 per feature.
    // Fewer than max_ramp features, and at most max_team rows.
    void (*min_products)(const Shape& shape, const std::uint16_t* x,
                         const std::uint16_t* const* codes, std::size_t n_rows, float* out);

    // out[b] = sum_j B(x_j)'B(y_bj) for degree 1, in the same way. Null where products(), or what
    // stands in for it, is as fast.
    void (*hat_products)(const Shape& shape, const std::uint16_t* x,
                         const std::uint16_t* const* codes, std::size_t n_rows, float* out);

    // out[a * n_rows + b] += sum_j variance[j] B(codes[a][j])' L B(codes[b][j]) for a < b. Null
    // where it is faster to score the rows b by tables that hold row a alone.
    void (*products)(const Shape& shape, const float* smoother, const float* variance,
                     const std::uint16_t* const* codes, std::size_t n_rows, float* out);

    SeriesKernels fourier;
    SeriesKernels hermite;

    // out[a][k] = the code of x[a][k] for k = j, ..., j + n - 1, n <= tile, of code_rows rows a; to
    // the bit those of double precision, but for the rows in doubts[k - j], one bit each. Null
    // where there is nothing faster than coding.hpp.
    void (*code_tile)(const CodeMap& map, std::size_t j, std::size_t n, const float* const* x,
                      std::uint16_t* const* out, std::uint64_t* doubts);

    KnotForm knot_form;
};

const Kernels& portable_kernels();
const Kernels* avx2_kernels();  // null where the compiler has no such instructions
const Kernels* avx512_kernels();
const Kernels* neon_kernels();

}  // namespace splinear::simd
