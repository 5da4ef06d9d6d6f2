// The inner loops of B-spline training on sparse rows.
#pragma once

#include <cstddef>

#include "rows/sparse_entry.hpp"

namespace splinear::simd {

inline constexpr std::size_t sparse_lanes = 8;  // coefficients that a step reaches at once

struct SparseShape {
    int degree;
    int n_bins;
};

// A table holds the coefficients of one feature and lies where the entries say; the two numbers
// before it are s_j^2 and how many coefficients there are. What lies behind a table is read, and
// multiplied or added to by 0.

// The sum over a row's entries of table' B(argument).
float score_sparse(const SparseShape& shape, const float* tables, const SparseEntry<float>* entries,
                   std::size_t n);
double score_sparse(const SparseShape& shape, const double* tables,
                    const SparseEntry<double>* entries, std::size_t n);

// table[k] += step s_j^2 sum_p B_p smoother[(bin + p) * stride + k] for a row's entries. smoother
// is L_d, one row per basis function, and stride a multiple of sparse_lanes.
void add_sparse(const SparseShape& shape, const float* smoother, std::size_t stride, float step,
                const SparseEntry<float>* entries, std::size_t n, float* tables);
void add_sparse(const SparseShape& shape, const double* smoother, std::size_t stride, double step,
                const SparseEntry<double>* entries, std::size_t n, double* tables);

}  // namespace splinear::simd
