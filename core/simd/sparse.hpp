// The inner loops of B-spline training on sparse rows.
#pragma once

#include <cstddef>
#include <cstdint>

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

// Ramps: degree 1 under D_1 where the first coefficient is held at zero, the curves that a sparse
// table has unless it is asked for others. L_d B(t) is min(k, t) there, and B(t)'L_d B(u) is
// min(u, b) and t - b times the part of u in b, for t in bin b: nothing needs to be looked up.

// table[k] += step s_j^2 min(k, argument) for a row's entries.
void add_ramps(float step, const SparseEntry<float>* entries, std::size_t n, float* tables);
void add_ramps(double step, const SparseEntry<double>* entries, std::size_t n, double* tables);

inline constexpr std::size_t ramp_lanes = 32;  // rows of a team that are compared at once

// A value of a row, whose feature is `number` among those that rows of a team share.
template <class Real>
struct SharedEntry {
    std::uint32_t number;
    Real argument;
};

// out[a] = sum of s^2 B'L_d B of a row's entries and those of the rows a < n_before, whose
// arguments are others[number * stride + a], 0 where a row does not have the feature. stride is a
// multiple of ramp_lanes, and out has room for as many numbers.
void multiply_ramps(const SharedEntry<float>* entries, std::size_t n, const float* variance,
                    const float* others, std::size_t stride, std::size_t n_before, float* out);
void multiply_ramps(const SharedEntry<double>* entries, std::size_t n, const double* variance,
                    const double* others, std::size_t stride, std::size_t n_before, double* out);

}  // namespace splinear::simd
