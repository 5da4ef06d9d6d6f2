// The certificate of a fit: dual objective and duality gap over all rows, which bound how far the
// model is from the optimum.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "solve/dual_data.hpp"
#include "solve/dual_state.hpp"
#include "solve/stop_request.hpp"
#include "support/pieces.hpp"

namespace splinear {

// dual_i(alpha_i) + alpha_i t_i, the contribution of row i to the dual objective.
template <DualLoss Loss>
double dual_of_row(const DualData<Loss>& data, const DualState& state, std::size_t i) noexcept {
    const double c = state.cost(data.problem, i);
    const double alpha = state.alpha[i];
    return c == 0.0 ? 0.0 : data.loss.dual(alpha, c) + alpha * data.problem.target(i);
}

// The dual objective without its last part, -1/2 (|w|^2 - |w_0|^2).
template <DualLoss Loss>
double sum_of_duals(const DualData<Loss>& data, const DualState& state) noexcept {
    double sum = 0.0;
    for (std::size_t i = 0; i < state.alpha.size(); ++i) sum += dual_of_row(data, state, i);
    return sum;
}

// Computes dual objective and gap over all rows, including inactive ones, at w and at stretch * w,
// and decides anew which rows are active. Resets the stretch to 1 if it does not reduce the gap.
// Returns whether the relative gap is within the tolerance.
template <DualLoss Loss>
bool certify(const DualData<Loss>& data, StopRequest& stop, DualState& state) {
    struct Part {
        double dual = 0.0;
        double gap = 0.0;
        double stretched_gap = 0.0;
    };
    std::vector<Part> parts(index(n_pieces(data.rows.n_rows(), rows_per_task)));
    over_all_rows(data.rows, data.options.n_threads, stop, [&](Row begin, Row end) {
        std::array<Row, rows_per_score> rows;
        std::array<double, rows_per_score> scores;
        Part& part = parts[index(begin / rows_per_task)];
        const std::size_t m = index(end - begin);
        for (std::size_t a = 0; a < m; ++a) rows[a] = begin + static_cast<Row>(a);
        data.rows.score(std::span(rows).first(m), state.tables, scores.data());
        for (std::size_t a = 0; a < m; ++a) {
            const std::size_t k = index(rows[a]);
            const double c = state.cost(data.problem, k);
            if (c == 0.0) continue;
            const double alpha = state.alpha[k];
            const double f = scores[a] + data.problem.bias * state.bias_weight;
            const double margin = data.problem.margin(k, f);
            part.dual += dual_of_row(data, state, k);
            part.gap += data.loss.gap(alpha, margin, c);
            part.stretched_gap +=
                data.loss.gap(alpha, data.problem.margin(k, state.stretch * f), c);
            const bool at_rest = data.loss.at_rest(alpha, margin, data.curvature(k), c);
            const bool far = std::abs(data.loss.slope(alpha, margin, c)) > state.set_aside_above;
            state.active.set(rows[a], !(at_rest && far));
        }
    });
    const double square = squared_weight(data.rows, state);
    const double longer = state.stretch - 1.0;
    state.dual = -0.5 * (square - state.start_weight);
    state.gap = 0.0;
    state.proven_gap = 0.5 * longer * longer * square;
    for (const Part& part : parts) {
        state.dual += part.dual;
        state.gap += part.gap;
        state.proven_gap += part.stretched_gap;
    }
    if (!(state.proven_gap < state.gap)) {
        state.stretch = 1.0;
        state.proven_gap = state.gap;
    }
    return state.relative(state.proven_gap) <= data.options.tol;
}

}  // namespace splinear
