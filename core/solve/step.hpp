// One step of Newton's method for the curves of one output: a quadratic model is minimized inside a
// trust region by preconditioned conjugate gradients (Steihaug's method). It is the twin of
// splinear/solvers/newton.py for rows in memory.
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

// The quadratic model q(s) = g's + 1/2 s'H s of the objective, where s holds the parameters of all
// groups, then the intercept, and H = sum_i h_i (B_i, 1)(B_i, 1)' + S with the penalty's matrix S.
// A free intercept is eliminated: it always has the value that minimizes q given the rest of s.
// Nothing is owned.
struct StepModel {
    Groups groups;                                   // all groups, with their rows
    std::span<const double> h;                       // second derivative of the loss, per row
    std::span<const GroupPenalty* const> penalties;  // one per group
    std::span<const ArrowGroup* const> blocks;       // the preconditioner M, one per group
    double intercept_curvature;               // the intercept's diagonal entry of M: s in arrow.hpp
    std::optional<double> intercept_penalty;  // the intercept's penalty; none: it is free
};

// When conjugate gradients end. "Gap" is the duality gap of the quadratic model: 1/2 r'S^{-1}r,
// where the residual r is its negative gradient at s. See docs/mathematics.md, "Newton's method".
struct StepLimits {
    double radius;      // trust region: sqrt(s'M s) <= radius
    double accuracy;    // end when sqrt(r'M^{-1}r) is this share of its initial value
    double gap;         // end when the gap is at most this
    int max_products;   // maximum number of products with H
    bool keeps_scores;  // return the scores of s. The rows are then all rows, not a sample, and the
                        // step may yield a certificate, which needs a small gap
    bool is_quadratic;  // the losses are quadratic, so the model is exact
    double max_score_change;  // largest change of a score with which a step can yield a certificate
};

struct FoundStep {
    std::vector<double> step;  // s: the parameters of all groups, then the intercept
    Buffer<double> scores;     // (B_i, 1)'s of every row; empty unless keeps_scores
    double decrease = 0.0;     // -q(s)
    double gap = 0.0;          // the gap at s; infinite if it was not computed
    double length = 0.0;       // sqrt(s'M s)
    int n_products = 0;        // products with H
    bool at_edge = false;      // the step ended at the boundary of the trust region
};

// Minimizes the model inside the trust region. If the monitor asks to stop, returns the step
// reached so far. Throws std::invalid_argument for arguments that do not fit together. The result
// does not depend on n_threads.
FoundStep least_step(const StepModel& model, std::span<const double> gradient,
                     const StepLimits& limits, Monitor& monitor, int n_threads);

}  // namespace splinear
