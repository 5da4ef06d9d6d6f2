// Hessians of sums of losses: sum_i h_i B_i B_i', where h_i is the second derivative of row i's
// loss and B_i its vector of basis functions (see passes.hpp).
//
// All functions throw std::invalid_argument if groups do not fit together or arrays have the wrong
// size. No result depends on n_threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rows/group.hpp"
#include "support/buffer.hpp"

namespace splinear {

// The diagonal blocks, one per feature, as bands: group after group, n_features x stride x support
// numbers each, where entry [j, k, p] is sum_i h_i B_ijk B_ij(k+p).
std::vector<double> blocks_all(Groups groups, std::span<const double> h, int n_threads);

// The whole matrix sum_i h_i (B_i, bias)(B_i, bias)' over the first h.size() rows, n x n in
// row-major order. Entry k of B_i has row and column places[k] of the matrix, or none if that is
// negative; places that are not negative are 0, 1, ..., n - 2 in this order. The bias is last.
std::vector<double> hessian_some(Groups groups, std::span<const std::int64_t> places, std::size_t n,
                                 std::span<const double> h, double bias, int n_threads);

// The same for thinned curves. In a group with factor m > 1, B-splines of degree 0 or 1 on dense
// rows, curves have fewer coefficients: one per m neighboring functions (degree 0), or one at
// functions 0, m, 2m, ... and one beyond the last of these, with linear interpolation between
// (degree 1). A factor of 1 leaves a group as it is. `places` has one entry per thinned
// coefficient.
std::vector<double> hessian_thinned(Groups groups, std::span<const std::int64_t> factors,
                                    std::span<const std::int64_t> places, std::size_t n,
                                    std::span<const double> h, double bias, int n_threads);

// The diagonal and upper triangle of an n x n matrix, row by row: n (n + 1) / 2 numbers.
Buffer<double> upper_half(std::span<const double> matrix, std::size_t n, int n_threads);

}  // namespace splinear
