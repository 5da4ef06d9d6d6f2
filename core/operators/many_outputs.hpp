// score_all(), sum_all() and blocks_all() of several outputs, which share the reading of the rows.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "rows/group.hpp"
#include "support/buffer.hpp"

namespace splinear {

// score_all() of n_outputs vectors of coefficients, one after the other: n_outputs x n_rows.
Buffer<double> score_many(Groups groups, std::size_t n_outputs, std::span<const double> coef,
                          int n_threads);

// sum_all() of n_outputs vectors of numbers per row: n_outputs times the length of all tables.
std::vector<double> sum_many(Groups groups, std::size_t n_outputs, std::span<const double> r,
                             int n_threads);

// blocks_all() of n_outputs vectors of numbers per row, one after the other.
std::vector<double> blocks_many(Groups groups, std::size_t n_outputs, std::span<const double> h,
                                int n_threads);

}  // namespace splinear
