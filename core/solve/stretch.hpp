// The multiple s of the model w at which the duality gap is smallest.
//
// The primal objective may be evaluated at any model. The one that the dual variables define, w,
// tends to be slightly too short before convergence, when rows still fall short of the margin. At
// s w the gap is
//
//   P(s w) - D(a) = sum_i gap_i(a_i, margin_i at s w) + 1/2 (1 - s)^2 |w|^2,
//
// whatever w_0 is. Where classes are separable, a shortfall of 1e-3 per row costs more than the
// longer model, and choosing s saves a third of the passes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "rows/row.hpp"
#include "solve/dual_data.hpp"
#include "solve/dual_state.hpp"
#include "support/golden.hpp"

namespace splinear {

template <DualLoss Loss>
class Stretch {
public:
    explicit Stretch(const DualData<Loss>& data) : data_(data) {}

    // Whether active rows are few enough that scoring them all is cheap. They suffice to choose s,
    // since inactive rows are far from where the loss bends.
    bool is_cheap(const DualState& state) const noexcept {
        return state.active.units().size() == 1 &&
               n_rows_per_active * state.active.count() <= data_.rows.n_rows();
    }

    // Sets state.stretch to the best s in [1, 2]; returns the gap there, over the active rows.
    double choose(DualState& state) {
        gather(state);
        const double square = squared_weight(data_.rows, state);
        const auto gap_at = [&](double s) {
            double gap = 0.5 * (1.0 - s) * (1.0 - s) * square;
            for (std::size_t a = 0; a < rows_.size(); ++a) {
                const std::size_t k = index(rows_[a]);
                gap += data_.loss.gap(state.alpha[k], data_.problem.margin(k, s * scores_[a]),
                                      state.cost(data_.problem, k));
            }
            return gap;
        };
        constexpr int n_sections = 24;  // accurate to about 1e-5
        const double share = highest_in_unit_interval(
            [&](double longer) { return -gap_at(1.0 + longer); }, n_sections);
        state.stretch = 1.0 + share;
        return gap_at(state.stretch);
    }

private:
    static constexpr Row n_rows_per_active = 16;  // cheap if at most one row in 16 is active

    // Collects the active rows and computes their scores.
    void gather(const DualState& state) {
        rows_.clear();
        state.active.for_each([&](Row i) { rows_.push_back(i); });
        scores_.resize(rows_.size());
        if (!rows_.empty()) data_.rows.score(rows_, state.tables, scores_.data());
        for (double& score : scores_) score += data_.problem.bias * state.bias_weight;
    }

    const DualData<Loss>& data_;
    std::vector<Row> rows_;
    std::vector<double> scores_;
};

}  // namespace splinear
