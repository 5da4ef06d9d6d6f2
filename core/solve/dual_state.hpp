// What moves while a problem is solved: the dual variables, and the model that they make.
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

inline constexpr std::size_t team_size = 64;

struct DualState {
    static constexpr double unbounded = std::numeric_limits<double>::infinity();

    template <DualLoss Loss>
    explicit DualState(const DualData<Loss>& data)
        : active(data.rows.n_rows(), rows_per_unit(data.rows)),
          alpha(data.problem.y.size(), 0.0),
          tables(data.rows.zero_tables()),
          workspace(data.rows.workspace()) {}

    double relative(double some_gap) const noexcept {
        return some_gap > 0.0 ? some_gap / (dual + some_gap) : 0.0;
    }
    double primal() const noexcept { return dual + gap; }

    // The cost of a row in the problem at hand.
    double cost(const DualProblem& problem, std::size_t i) const noexcept {
        return cost_factor * problem.cost(i);
    }

    ActiveSet active;  // the rows that are still visited
    std::vector<double> alpha;
    GroupedRows::Tables tables;  // w
    GroupedRows::Workspace workspace;
    double bias_weight = 0.0;
    double start_weight = 0.0;  // |w_0|^2
    double cost_factor = 1.0;   // all costs are those of the problem times this
    double dual = 0.0;
    double gap = 0.0;  // of the rows seen in the last pass; of all rows after certify()
    double set_aside_above = unbounded;  // a slope
    double stretch = 1.0;                // the model to return is w times this; see stretch.hpp
    double proven_gap = 0.0;             // of that model and all rows, by certify()
};

// |w|^2, the bias included.
inline double squared_weight(const GroupedRows& rows, const DualState& state) {
    return rows.squared_weight(state.tables) + state.bias_weight * state.bias_weight;
}

// Adds every row's embedding, times what its dual variable has grown by, to the model.
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
