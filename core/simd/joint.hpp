// Sums of products per pair of cells: the inner loop of second derivatives.
#pragma once

#include <cstddef>
#include <cstdint>

namespace splinear::simd {

// One column of numbers: row i is in cell[i] and has `width` weights there, 1, 2 or 4 of them.
struct CellColumn {
    const std::int32_t* cell;
    const double* weight;  // n x width; null: all are 1, and so is the width
    int width;
};

// Where sums go. Rows that follow each other in one cell would wait for each other: four copies of
// the sums, `apart` numbers from each other, take turns; 0: all are one.
struct Sums {
    double* first;
    std::size_t apart;
};

// Adds a.weight[i, p] b.weight[i, q] to the sum [((a.cell[i] * n_cells + b.cell[i]) * a.width + p)
// * b.width + q] for n rows i, n_cells being those of b. The weights of a are given. The same to
// the bit on every processor.
void add_joint(const CellColumn& a, const CellColumn& b, std::int32_t n_cells, std::size_t n,
               const Sums& sums);

// The same for two columns that are always in the same cell: [(a.cell[i] * a.width + p) * b.width +
// q].
void add_own(const CellColumn& a, const CellColumn& b, std::size_t n, const Sums& sums);

}  // namespace splinear::simd
