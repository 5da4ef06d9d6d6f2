// From the solution of one problem to a start of the next, whose costs are all larger or smaller.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "solve/certificate.hpp"
#include "solve/dual_data.hpp"
#include "solve/dual_state.hpp"
#include "support/golden.hpp"

namespace splinear {

// Remembers the last solution. The dual variables follow a straight line, over the costs, through
// their values in the last two problems (in none, before the first), as far as that is good for the
// dual.
template <DualLoss Loss>
class CostPath {
public:
    explicit CostPath(const DualData<Loss>& data) : data_(data) {}

    // Moves on to all costs times `factor`. solved: the state is the solution of a problem.
    void change_costs(double factor, bool solved, DualState& state) {
        const std::vector<double> before = state.alpha;
        extrapolate(factor, state);
        const double last = std::exchange(state.cost_factor, factor * state.cost_factor);
        const auto tables_before = state.tables;
        const double bias_before = state.bias_weight;
        follow(before, factor, state);
        // Smaller costs may have made the old values infeasible.
        if (solved && factor > 1.0) step_back(before, tables_before, bias_before, state);
        if (solved) {
            last_alpha_ = before;
            last_factor_ = last;
        }
        state.gap *= factor;  // a guess, until rows are visited
        state.dual = sum_of_duals(data_, state) -
                     0.5 * (squared_weight(data_.rows, state) - state.start_weight);
    }

private:
    // Moves every dual variable to where the line through its last two values meets the new cost.
    void extrapolate(double factor, DualState& state) {
        std::vector<double>& alpha = state.alpha;
        const double reach =
            (factor - 1.0) * state.cost_factor / (state.cost_factor - last_factor_);
        last_alpha_.resize(alpha.size(), 0.0);
        for (std::size_t i = 0; i < alpha.size(); ++i)
            alpha[i] = data_.loss.nearest(alpha[i] + reach * (alpha[i] - last_alpha_[i]),
                                          factor * state.cost(data_.problem, i));
    }

    // Carries over to the model that the dual variables were `before`.
    void follow(const std::vector<double>& before, double factor, DualState& state) {
        const std::vector<double>& alpha = state.alpha;
        std::size_t n_moved = 0;
        std::size_t n_bent = 0;
        for (std::size_t i = 0; i < alpha.size(); ++i) {
            n_moved += alpha[i] != before[i];
            n_bent += alpha[i] != factor * before[i];
        }
        // Where most dual variables grow with the costs, the tables do as well, and fewer rows are
        // left to add. Elsewhere scaling would do nothing but enlarge the tables' rounding errors.
        const double grown = n_bent < n_moved && state.start_weight == 0.0 ? factor : 1.0;
        if (grown != 1.0) data_.rows.blend(grown, state.tables, 0.0, state.tables);
        state.bias_weight *= grown;
        add_growth(data_, [&](std::size_t i) { return alpha[i] - grown * before[i]; }, state);
    }

    // Goes back toward the values `before`, to where the dual is highest on the way.
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
        constexpr int n_sections = 9;  // to about a hundredth
        const double share = highest_in_unit_interval(dual_at, n_sections);
        move_to(share);
        rows.blend(share, state.tables, 1.0 - share, tables);
        state.bias_weight = bias_weight + share * bias_change;
    }

    const DualData<Loss>& data_;
    std::vector<double> last_alpha_;  // of the problem before, if there was one
    double last_factor_ = 0.0;        // its cost factor
};

}  // namespace splinear
