// Dual coordinate descent for a linear model on embeddings that are computed on the fly.
//
//   primal:  min_w    P(w) = 1/2 |w - w_0|^2 + sum_i c_i loss(y_i w'phi_i - t_i)
//   dual:    max_a    D(a) = sum_i (dual_i(a_i) + a_i t_i) + 1/2 |w_0|^2 - 1/2 |w|^2,
//                     w = w_0 + sum_i a_i y_i phi_i
//
// phi_i is the embedding of row i (see operators/operator.hpp), with the bias B as one more entry.
// Classification has y_i = -1 or 1 and t_i = 0; regression has y_i = 1 and the target t_i, and its
// "margin" is the residual. w_0 is 0 unless training continues from an earlier model.
//
// The method is that of Hsieh et al., "A dual coordinate descent method for large-scale linear SVM"
// (ICML 2008), with three changes:
// - Rows are scored in batches. Most turn out to be at their optimum and need no step.
// - The others, the violators, are collected into a team of up to 64 rows. The problem restricted
//   to the team is solved by coordinate steps that need only the Gram matrix of its embeddings, so
//   rows whose steps work against each other (all do, through the intercept) settle within the team
//   instead of over many passes.
// - The model is updated once per team.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "solve/certificate.hpp"
#include "solve/cost_path.hpp"
#include "solve/dual_data.hpp"
#include "solve/dual_pass.hpp"
#include "solve/dual_state.hpp"
#include "solve/problem.hpp"
#include "solve/stop_request.hpp"
#include "solve/stretch.hpp"

namespace splinear {

// Solves one problem, or a path of problems that differ by a factor of all costs. Not thread-safe;
// uses options.n_threads threads internally, whose number does not change the result.
template <DualLoss Loss>
class DualCoordinateDescent {
public:
    // `rows`, the arrays of `problem` and `monitor` must outlive the solver.
    DualCoordinateDescent(const GroupedRows& rows, const Loss& loss, const DualProblem& problem,
                          const DualOptions& options, Monitor& monitor)
        : stop_(monitor),
          squared_norm_(problem.squared_norm.empty() ? squared_norms(rows, options.n_threads, stop_)
                                                     : std::vector<float>{}),
          data_{rows, loss, problem, options,
                squared_norm_.empty() ? problem.squared_norm : squared_norm_},
          state_(data_),
          pass_(data_, stop_),
          path_(data_),
          stretch_(data_) {
        for (std::size_t i = 0; i < state_.alpha.size(); ++i) {
            const double c = state_.cost(problem, i);
            if (c == 0.0)
                state_.active.set(static_cast<Row>(i), false);
            else
                state_.gap += c * loss.value(problem.margin(i, 0.0));
        }
    }

    DualCoordinateDescent(const DualCoordinateDescent&) = delete;  // members refer to each other
    DualCoordinateDescent& operator=(const DualCoordinateDescent&) = delete;

    // Starts from another model w_0, from other dual variables, or both, instead of zeros.
    void start_at(const DualStart& start) {
        const double bias = data_.problem.bias;
        if (!start.coef.empty()) {
            state_.tables = data_.rows.tables_of(start.coef);
            state_.bias_weight = bias > 0.0 ? start.intercept / bias : 0.0;
            state_.start_weight = squared_weight(data_.rows, state_);
            moved_ = true;
        }
        if (!start.alpha.empty()) {
            std::copy(start.alpha.begin(), start.alpha.end(), state_.alpha.begin());
            add_growth(data_, [&](std::size_t i) { return state_.alpha[i]; }, state_);
            moved_ = true;
        }
    }

    // Multiplies all costs by `factor` and prepares a warm start; see CostPath.
    void change_costs(double factor) { path_.change_costs(factor, solved_, state_); }

    // Runs passes until the gap over all rows is at most tol, max_iter is reached, or the monitor
    // stops the fit. The result is certified over all rows in every case.
    DualResult run() {
        int n_iter = 0;
        state_.set_aside_above = DualState::unbounded;
        state_.stretch = 1.0;
        bool certified = moved_ && certify(data_, stop_, state_);
        while (n_iter < data_.options.max_iter && !certified && !stop_.made()) {
            const Estimate estimate = estimated_gap(pass_.run(state_));
            ++n_iter;
            stop_.pass({n_iter, estimate.gap, state_.active.count()});
            if (estimate.is_near) certified = certify(data_, stop_, state_);
        }
        if (!certified) certified = certify(data_, stop_, state_);
        moved_ = false;
        solved_ = true;
        return result(n_iter, certified);
    }

    bool stopped() const noexcept { return stop_.made(); }

    // Moves the dual variables out; the solver cannot be used afterward.
    std::vector<double> take_alpha() noexcept { return std::move(state_.alpha); }

private:
    // A certificate is worth computing once the estimated gap is below this multiple of tol: steps
    // later in a pass have reduced the gap since its rows were visited.
    static constexpr double check_early = 1.5;
    // Stretching the model divides the gap by about this much at most.
    static constexpr double most_by_stretch = 32.0;

    struct Estimate {
        double gap;    // relative
        bool is_near;  // whether a certificate is likely to succeed
    };

    // `visited` is the sum of the visited rows' gaps, each at the time of its visit. Where that is
    // cheap and the gap is near the tolerance, the gap is computed anew, at the best stretch.
    Estimate estimated_gap(double visited) {
        const double tol = data_.options.tol;
        const double gap = state_.relative(visited);
        if (!stretch_.is_cheap(state_)) return {gap, gap <= check_early * tol};
        if (gap > most_by_stretch * tol) return {gap, false};
        const double now = state_.relative(stretch_.choose(state_));
        return {now, now <= tol};
    }

    DualResult result(int n_iter, bool certified) const {
        const double s = state_.stretch;
        std::vector<double> coef = data_.rows.coefficients(state_.tables);
        for (double& value : coef) value *= s;
        return {std::move(coef),
                {},
                s * data_.problem.bias * state_.bias_weight,
                state_.dual + state_.proven_gap,
                state_.dual,
                state_.relative(state_.proven_gap),
                n_iter,
                certified};
    }

    StopRequest stop_;
    const std::vector<float> squared_norm_;  // empty if the problem provides them
    const DualData<Loss> data_;
    DualState state_;
    DualPass<Loss> pass_;
    CostPath<Loss> path_;
    Stretch<Loss> stretch_;
    bool moved_ = false;   // the start is not zero: run() must compute dual and gap first
    bool solved_ = false;  // the state is the solution of a problem
};

}  // namespace splinear
