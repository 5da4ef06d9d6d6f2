// What primal methods do with the rows: score all of them, and sum over them.
//
// B_i is row i's vector of basis functions, all features one after the other (n_features x size
// entries, few of them non-zero for B-splines). Sums are taken in single precision over 2,048
// rows at most and in double precision over these, or in double precision throughout on the
// reference path; the result does not depend on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "basis/any.hpp"
#include "row_source.hpp"

namespace splinear {

// coef'B_i of every row i.
std::vector<double> score_all(const AnyRows& rows, const AnyBasis& basis,
                              std::span<const double> coef, int n_threads);

// sum_i r_i B_i; the length of the result is n_features x size.
std::vector<double> sum_all(const AnyRows& rows, const AnyBasis& basis, std::size_t n_features,
                            std::span<const double> r, int n_threads);

// The blocks of sum_i h_i B_i B_i' on its diagonal, one a feature, by bands: entry
// [(j * size + k) * support + p] is sum_i h_i B_jk B_j,k+p.
std::vector<double> blocks_all(const AnyRows& rows, const AnyBasis& basis, std::size_t n_features,
                               std::span<const double> h, int n_threads);

// The whole of sum_i h_i (B_i, B)(B_i, B)' over the first h.size() rows, n x n, row by row.
// Function k of feature j stands at places[j * size + k], ascending; a negative place leaves it
// out. The bias B is the last entry.
std::vector<double> hessian_some(const AnyRows& rows, const AnyBasis& basis,
                                 std::span<const std::int64_t> places, std::size_t n,
                                 std::span<const double> h, double bias, int n_threads);

}  // namespace splinear
