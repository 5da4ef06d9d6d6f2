// The mutable half of dual coordinate descent: the dual variables, and the model w they define.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <vector>

#include "operators/grouped_rows.hpp"
#include "rows/blocks.hpp"
#include "solve/active_set.hpp"
#include "solve/dual_data.hpp"
#include "support/pieces.hpp"

namespace splinear {

inline constexpr std::size_t team_size = 64;  // rows whose steps are computed jointly, see team.hpp

struct DualState {
    static constexpr double unbounded = std::numeric_limits<double>::infinity();

    template <DualLoss Loss>
    explicit DualState(const DualData<Loss>& data)
        : active(data.rows.n_rows(), rows_per_unit(data.rows)),
          alpha(data.problem.y.size(), 0.0),
          tables(data.rows.zero_tables()),
          workspace(data.rows.workspace()) {}

    // some_gap relative to the primal objective dual + some_gap and to 1/2 |w_0|^2: where w_0 fits
    // all rows already, the objective is 0 at the optimum, and nothing would be small beside it.
    double relative(double some_gap) const noexcept {
        return some_gap > 0.0 ? some_gap / (dual + some_gap + 0.5 * start_weight) : 0.0;
    }
    // What gaps are relative to.
    double scale() const noexcept { return dual + gap + 0.5 * start_weight; }

    // The cost c_i of a row at the current point of a path of costs.
    double cost(const DualProblem& problem, std::size_t i) const noexcept {
        return cost_factor * problem.cost(i);
    }

    ActiveSet active;            // rows that passes visit
    std::vector<double> alpha;   // one per row
    GroupedRows::Tables tables;  // w without the bias entry
    GroupedRows::Workspace workspace;
    double bias_weight = 0.0;   // the entry of w for the bias: the intercept is B times this
    double start_weight = 0.0;  // |w_0|^2
    double cost_factor = 1.0;   // multiplies all costs of the problem
    double dual = 0.0;          // D(alpha)
    double gap = 0.0;  // sum over the rows seen in the last pass; over all rows after certify()
    double set_aside_above = unbounded;  // rows at a bound with a larger |slope| become inactive
    double stretch = 1.0;                // the returned model is stretch * w; see stretch.hpp
    double proven_gap = 0.0;             // P(stretch * w) - D(alpha) over all rows, by certify()
};

// |w|^2, including the bias entry.
inline double squared_weight(const GroupedRows& rows, const DualState& state) {
    return rows.squared_weight(state.tables) + state.bias_weight * state.bias_weight;
}

// w += sum_i growth(i) y_i phi_i, where growth(i) is the change of alpha_i.
template <DualLoss Loss, class Growth>
void add_growth(const DualData<Loss>& data, const Growth& growth, DualState& state) {
    constexpr auto together = static_cast<Row>(team_size);
    std::vector<Row> moved;
    std::array<double, team_size> steps;
    read_in_order(data.rows, data.rows.n_rows(), together, [&](Row begin, Row end) {
        moved.clear();
        for (Row i = begin; i < end; ++i) {
            const double step = data.problem.y[index(i)] * growth(index(i));
            if (step == 0.0) continue;
            steps[moved.size()] = step;
            state.bias_weight += step * data.problem.bias;
            moved.push_back(i);
        }
        if (!moved.empty()) data.rows.add(moved, steps.data(), state.tables, state.workspace);
    });
}

}  // namespace splinear
