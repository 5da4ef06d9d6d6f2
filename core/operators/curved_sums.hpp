// The product of the losses' Hessian with a direction: score the direction, multiply the scores by
// the rows' second derivatives, and sum back.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "rows/group.hpp"
#include "support/buffer.hpp"

namespace splinear {

struct CurvedSums {
    Buffer<double> scores;     // coef'B_i + level, one per row
    double level = 0.0;        // the intercept's part of the direction
    double total = 0.0;        // sum_i h_i scores_i, the intercept's part of the product
    std::vector<double> sums;  // sum_i h_i scores_i B_i, the rest of the product
};

// Multiplies sum_i h_i (B_i, 1)(B_i, 1)' by (coef, level). Without a given level, it is chosen such
// that `total` is 0: the optimal free intercept. B_i and exceptions are as in passes.hpp. The
// result does not depend on n_threads.
CurvedSums curved_sums(Groups groups, std::span<const double> coef, std::span<const double> h,
                       std::optional<double> level, int n_threads);

}  // namespace splinear
