// A product with a Hessian: scores of a direction, weighted, and summed back.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "rows/group.hpp"
#include "support/buffer.hpp"

namespace splinear {

struct CurvedSums {
    Buffer<double> scores;
    double level = 0.0;
    double total = 0.0;  // the sum of h_i scores_i
    std::vector<double> sums;
};

// Scores coef'B_i + level, the level being the given one or, if there is none, that of which their
// sum with weights h is 0; and the sum of h_i scores_i B_i. For what B_i is, and what it throws,
// see passes.hpp. Threads change no bit.
CurvedSums curved_sums(Groups groups, std::span<const double> coef, std::span<const double> h,
                       std::optional<double> level, int n_threads);

}  // namespace splinear
