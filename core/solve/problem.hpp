// What dual coordinate descent is given, and what it returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace splinear {

// The rows' targets and costs.
struct DualProblem {
    std::span<const std::int8_t> y;   // -1 or 1
    std::span<const double> targets;  // of regression; empty: all 0
    std::span<const double> weights;  // of the rows; empty: all 1. A row of weight 0 is left out
    double cost_negative;             // of a row of unit weight
    double cost_positive;
    double bias;  // B; 0: no intercept
    // Of the rows' embeddings, without the bias; empty: they are computed. Problems of the same
    // rows have them in common.
    std::span<const float> squared_norm = {};

    double cost(std::size_t i) const noexcept {
        const double c = y[i] > 0 ? cost_positive : cost_negative;
        return weights.empty() ? c : c * weights[i];
    }
    double target(std::size_t i) const noexcept { return targets.empty() ? 0.0 : targets[i]; }
    double margin(std::size_t i, double f) const noexcept { return y[i] * f - target(i); }
};

// Where to begin. Empty spans stand for zeros.
struct DualStart {
    std::span<const double> alpha;  // dual variables of an earlier fit to the same rows
    std::span<const double> coef;   // w_0, as coefficients: an earlier model, all groups
    double intercept = 0.0;         // of that model
};

struct DualOptions {
    double tol;  // relative duality gap to reach
    int max_iter;
    std::uint64_t seed;
    int n_threads;
    bool keep_alpha = false;  // return the dual variables of the last fit
};

struct Progress {
    int n_iter;
    double gap;  // relative; an estimate from the rows visited in the pass
    std::ptrdiff_t n_active;
};

// Told how a fit goes. Either call may stop it, by returning true.
class Monitor {
public:
    virtual ~Monitor() = default;
    virtual bool poll() = 0;  // a few times a second
    virtual bool pass(const Progress&) = 0;
};

struct DualResult {
    std::vector<double> coef;   // of all groups, one after the other, n_features x stride each
    std::vector<double> alpha;  // the dual variables, if they were asked for
    double intercept;
    double primal;
    double dual;
    double gap;  // relative to the primal
    int n_iter;
    bool converged;
};

}  // namespace splinear
