// A step of Newton's method for the curves of one output, by conjugate gradients.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "model/group_penalty.hpp"
#include "rows/group.hpp"
#include "solve/arrow.hpp"
#include "solve/problem.hpp"
#include "support/buffer.hpp"

namespace splinear {

// A quadratic model g's + 1/2 s'H s of steps s, the parameters of all groups and the intercept's
// at the end, with H = sum_i h_i (B_i, 1)(B_i, 1)' + S, S being the penalty's matrix. An intercept
// that is free follows every step: it is where the model is least for the other parameters.
struct StepModel {
    Groups groups;                                   // and their rows
    std::span<const double> h;                       // second derivatives of the rows
    std::span<const GroupPenalty* const> penalties;  // of the groups
    std::span<const ArrowGroup* const> blocks;       // of the groups: what preconditions
    double of_blocks;                    // the intercept's own entry there, see arrow.hpp
    std::optional<double> of_intercept;  // its penalty's; none: it is free
};

// When a step ends, as solvers/newton/steps.py says it: it may do so once the gap of the model is
// `gap`.
struct StepLimits {
    double radius;    // of steps, in the norm of what preconditions
    double accuracy;  // of the gradient, what may be left
    double gap;
    int max_products;
    bool keeps_scores;  // as the rows are all rows: steps may prove something
    bool is_quadratic;  // the losses
    double farthest;    // a score may move by that in a step that proves something
};

struct FoundStep {
    std::vector<double> to;
    Buffer<double> scores;  // of the step, if they are kept
    double decrease = 0.0;
    double left = 0.0;  // the gap of the model, infinite where it was not asked for
    double length = 0.0;
    int n_products = 0;
    bool at_edge = false;
};

// Minimizes the model over steps no longer than the radius; ends where it is when the monitor asks
// to stop. Throws std::invalid_argument for what does not belong together. Threads change no bit.
FoundStep least_step(const StepModel& model, std::span<const double> gradient,
                     const StepLimits& limits, Monitor& monitor, int n_threads);

}  // namespace splinear
