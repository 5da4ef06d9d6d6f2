// score_all() and sum_all() of passes.hpp and blocks_all() of hessian.hpp for several outputs (e.g.
// classes), which share the reading of the rows. Arrays of several outputs are stored output by
// output.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "rows/group.hpp"
#include "support/buffer.hpp"

namespace splinear {

// Scores for coef (n_outputs x n_coefficients): n_outputs x n_rows.
Buffer<double> score_many(Groups groups, std::size_t n_outputs, std::span<const double> coef,
                          int n_threads);

// Sums for r (n_outputs x n_rows): n_outputs x n_coefficients.
std::vector<double> sum_many(Groups groups, std::size_t n_outputs, std::span<const double> r,
                             int n_threads);

// Blocks for h (n_outputs x n_rows): n_outputs times what blocks_all() returns.
std::vector<double> blocks_many(Groups groups, std::size_t n_outputs, std::span<const double> h,
                                int n_threads);

}  // namespace splinear
