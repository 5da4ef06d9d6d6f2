// Warm starts along a path of problems that differ by a common factor of all costs.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "solve/certificate.hpp"
#include "solve/dual_data.hpp"
#include "solve/dual_state.hpp"
#include "support/golden.hpp"

namespace splinear {

// As a function of the cost factor, every dual variable is extrapolated along the straight line
// through its values in the last two problems (before the first one it is 0, at cost 0). If costs
// grow, it goes only as far along that line as increases the dual objective.
template <DualLoss Loss>
class CostPath {
public:
    explicit CostPath(const DualData<Loss>& data) : data_(data) {}

    // Multiplies all costs by `factor` and moves the state to the start of the new problem.
    // `solved`: the state is the solution of a problem, and is remembered for the next call.
    void change_costs(double factor, bool solved, DualState& state) {
        const std::vector<double> before = state.alpha;
        extrapolate(factor, state);
        const double last = std::exchange(state.cost_factor, factor * state.cost_factor);
        const auto tables_before = state.tables;
        const double bias_before = state.bias_weight;
        follow(before, factor, state);
        // With smaller costs the old dual variables may not be feasible, so there is no going back.
        if (solved && factor > 1.0) step_back(before, tables_before, bias_before, state);
        if (solved) {
            last_alpha_ = before;
            last_factor_ = last;
        }
        state.gap *= factor;  // an estimate until rows are visited
        state.dual = sum_of_duals(data_, state) -
                     0.5 * (squared_weight(data_.rows, state) - state.start_weight);
    }

private:
    // Extrapolates every dual variable to the new cost, clipped to its feasible range.
    void extrapolate(double factor, DualState& state) {
        std::vector<double>& alpha = state.alpha;
        const double reach =
            (factor - 1.0) * state.cost_factor / (state.cost_factor - last_factor_);
        last_alpha_.resize(alpha.size(), 0.0);
        for (std::size_t i = 0; i < alpha.size(); ++i)
            alpha[i] = data_.loss.nearest(alpha[i] + reach * (alpha[i] - last_alpha_[i]),
                                          factor * state.cost(data_.problem, i));
    }

    // Updates the model for the change of the dual variables from `before` to state.alpha.
    void follow(const std::vector<double>& before, double factor, DualState& state) {
        const std::vector<double>& alpha = state.alpha;
        std::size_t n_moved = 0;
        std::size_t n_bent = 0;
        for (std::size_t i = 0; i < alpha.size(); ++i) {
            n_moved += alpha[i] != before[i];
            n_bent += alpha[i] != factor * before[i];
        }
        // If most dual variables grow in proportion to the costs, scale the model first, so that
        // fewer rows have to be added. Otherwise scaling would only amplify rounding errors.
        const double grown = n_bent < n_moved && state.start_weight == 0.0 ? factor : 1.0;
        if (grown != 1.0) data_.rows.blend(grown, state.tables, 0.0, state.tables);
        state.bias_weight *= grown;
        add_growth(data_, [&](std::size_t i) { return alpha[i] - grown * before[i]; }, state);
    }

    // Moves back along the segment to the old point (`before`, `tables`, `bias_weight`), to where
    // the dual objective is highest. On the segment |w|^2 is quadratic, so the tables are blended
    // only once.
    void step_back(const std::vector<double>& before, const GroupedRows::Tables& tables,
                   double bias_weight, DualState& state) {
        const GroupedRows& rows = data_.rows;
        const std::vector<double> goal = state.alpha;
        auto change = state.tables;
        rows.blend(1.0, change, -1.0, tables);
        const double bias_change = state.bias_weight - bias_weight;
        const double square = rows.squared_weight(change) + bias_change * bias_change;
        const double at_goal = squared_weight(rows, state);
        const double at_start = rows.squared_weight(tables) + bias_weight * bias_weight;
        const auto move_to = [&](double share) {
            for (std::size_t i = 0; i < goal.size(); ++i)
                state.alpha[i] = before[i] + share * (goal[i] - before[i]);
        };
        const auto dual_at = [&](double share) {
            move_to(share);
            const double along = at_goal - at_start - square;
            return sum_of_duals(data_, state) - 0.5 * share * (along + share * square);
        };
        constexpr int n_sections = 9;  // accurate to about 0.01
        const double share = highest_in_unit_interval(dual_at, n_sections);
        move_to(share);
        rows.blend(share, state.tables, 1.0 - share, tables);
        state.bias_weight = bias_weight + share * bias_change;
    }

    const DualData<Loss>& data_;
    std::vector<double> last_alpha_;  // solution of the problem before the current one, if any
    double last_factor_ = 0.0;        // its cost factor
};

}  // namespace splinear
