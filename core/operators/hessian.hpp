// Second derivatives, which primal methods sum over the rows; passes.hpp says what B_i is.
//
// They throw std::invalid_argument for groups that do not belong together, and for arrays of the
// wrong size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rows/group.hpp"
#include "support/buffer.hpp"

namespace splinear {

// The blocks of sum_i h_i B_i B_i' on its diagonal, one per feature, by bands: for feature j of a
// group, entry [(j * stride + k) * support + p] of the group's part is sum_i h_i B_jk B_j,k+p.
std::vector<double> blocks_all(Groups groups, std::span<const double> h, int n_threads);

// The whole of sum_i h_i (B_i, B)(B_i, B)' over the first h.size() rows, n x n, row by row. Entry k
// of B_i stands at places[k], which are 0, 1, ..., n - 2 in this order; a negative place leaves it
// out. The bias B is the last entry.
std::vector<double> hessian_some(Groups groups, std::span<const std::int64_t> places, std::size_t n,
                                 std::span<const double> h, double bias, int n_threads);

// The same of thinned groups, of B-splines of degree 0 and 1: the B_i of a group whose factor is m
// are those of curves with fewer coefficients, one for every m functions (degree 0), or one at the
// functions 0, m, 2m, ... and one behind the last of these, the coefficients between lying on
// straight lines (degree 1). A factor of 1 leaves a group as it is, and `places` are of what is
// left.
std::vector<double> hessian_thinned(Groups groups, std::span<const std::int64_t> factors,
                                    std::span<const std::int64_t> places, std::size_t n,
                                    std::span<const double> h, double bias, int n_threads);

// What a matrix, n x n, has on its diagonal and beyond it, row by row.
Buffer<double> upper_half(std::span<const double> matrix, std::size_t n, int n_threads);

}  // namespace splinear
