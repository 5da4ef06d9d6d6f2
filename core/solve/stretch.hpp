// How long a model should be.
//
// The primal may be taken at any model; the one that the dual variables make, w, is a bit too short
// as long as rows that could be beyond the margin are not. At s w it is
//
//   P(s w) - D(a) = sum_i gap_i(a_i, margin_i at s w) + 1/2 (1 - s)^2 |w|^2,
//
// whatever w_0 is; s = 1 is what every row's part of the gap adds up to. Where classes can be told
// apart, losses of 1e-3 a row count for more than the model's norm, and this saves a third of the
// passes.
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

    // Whether few enough rows are visited that scoring them costs little: s follows from them, as
    // the others are far from where the loss bends.
    bool is_cheap(const DualState& state) const noexcept {
        return state.active.units().size() == 1 &&
               n_rows_per_active * state.active.count() <= data_.rows.n_rows();
    }

    // Sets state.stretch to the best s. Returns the gap there, of the rows that are visited.
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
        constexpr int n_sections = 24;  // of an interval that becomes 1e5 times shorter by them
        const double share = highest_in_unit_interval(
            [&](double longer) { return -gap_at(1.0 + longer); }, n_sections);
        state.stretch = 1.0 + share;
        return gap_at(state.stretch);
    }

private:
    static constexpr Row n_rows_per_active = 16;

    // The rows that are visited, and their scores.
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
