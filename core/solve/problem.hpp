// Input, options, progress reports and result of dual coordinate descent (see dual_cd.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace splinear {

// Labels, targets and costs of the rows. All spans have one entry per row unless empty, and are
// not owned: the caller keeps the arrays alive.
struct DualProblem {
    std::span<const std::int8_t> y;   // -1 or 1; always 1 in regression
    std::span<const double> targets;  // regression targets t_i; empty: all 0
    std::span<const double> weights;  // empty: all 1. Rows of weight 0 are ignored
    double cost_negative;             // cost of a row with y = -1 and weight 1
    double cost_positive;             // cost of a row with y = 1 and weight 1
    double bias;                      // B, the constant entry of every embedding; 0: no intercept
    // |phi_i|^2 without the bias (see squared_norms() in train.hpp); computed if empty. Pass it in
    // to share it between problems on the same rows.
    std::span<const float> squared_norm = {};

    double cost(std::size_t i) const noexcept {
        const double c = y[i] > 0 ? cost_positive : cost_negative;
        return weights.empty() ? c : c * weights[i];
    }
    double target(std::size_t i) const noexcept { return targets.empty() ? 0.0 : targets[i]; }
    // The margin y_i f of score f; in regression, the residual f - t_i.
    double margin(std::size_t i, double f) const noexcept { return y[i] * f - target(i); }
};

// The starting point. Empty spans stand for zeros.
struct DualStart {
    std::span<const double> alpha;  // dual variables of an earlier fit to the same rows
    std::span<const double> coef;   // w_0, an earlier model: the coefficients of all groups
    double intercept = 0.0;         // the intercept of that model
};

struct DualOptions {
    double tol;    // relative duality gap to reach
    int max_iter;  // maximum number of passes over the active rows
    std::uint64_t seed;
    int n_threads;
    bool keep_alpha = false;  // return the dual variables of the last fit
};

// The state of a fit after a pass.
struct Progress {
    int n_iter;               // passes so far
    double gap;               // relative; an estimate from the rows visited in this pass
    std::ptrdiff_t n_active;  // rows that the next pass will visit
};

// Observes a fit. Both functions return true to stop it, and are called from the thread that runs
// the solver.
class Monitor {
public:
    virtual ~Monitor() = default;
    virtual bool poll() = 0;                 // called at most every 50 ms
    virtual bool pass(const Progress&) = 0;  // called after every pass
};

struct DualResult {
    std::vector<double> coef;   // group after group, n_features x stride each
    std::vector<double> alpha;  // dual variables, one per row; empty unless keep_alpha
    double intercept;
    double primal;   // objective P at the returned model
    double dual;     // objective D at the dual variables
    double gap;      // (primal - dual) / primal, over all rows
    int n_iter;      // passes
    bool converged;  // gap <= tol
};

}  // namespace splinear
