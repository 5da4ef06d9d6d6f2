// One pass of dual coordinate descent: every active row is visited once, in random order.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rows/blocks.hpp"
#include "solve/dual_data.hpp"
#include "solve/dual_state.hpp"
#include "solve/stop_request.hpp"
#include "solve/team.hpp"
#include "support/pieces.hpp"
#include "support/random.hpp"

namespace splinear {

// Rows are scored in batches. Rows that violate optimality join a team (team.hpp), which is solved
// when it is full. Rows at a bound that are unlikely to leave it become inactive ("shrinking").
template <DualLoss Loss>
class DualPass {
public:
    DualPass(const DualData<Loss>& data, StopRequest& stop)
        : data_(data), stop_(stop), random_(data.options.seed), team_(data) {}

    // Returns the sum of the visited rows' gaps, each at the time of its visit.
    double run(DualState& state) {
        quiet_ = quiet_share * data_.options.tol * state.scale() /
                 static_cast<double>(data_.rows.n_rows());
        state.gap = 0.0;
        violation_ = 0.0;
        state.active.deal(random_);
        // Blocks of nearly equal size: the last one visited biases the model, a small one more so.
        const std::size_t n_units = state.active.units().size();
        const std::size_t n_blocks = n_pieces(n_units, units_per_block);
        for (std::size_t b = 0; b < n_blocks && !stop_.made(); ++b)
            visit_block(b * n_units / n_blocks, (b + 1) * n_units / n_blocks, state);
        const double share = data_.rows.scores_one_by_one() ? far_share : 1.0;
        state.set_aside_above = violation_ > 0.0 ? share * violation_ : DualState::unbounded;
        return state.gap;
    }

private:
    static constexpr std::size_t max_batch = 1024;
    // How often the teams of a block are solved again, with the Gram matrices that were kept. It
    // pays more where those are expensive: for cubic curves it saves three quarters of the passes.
    static constexpr int n_again = 2;
    static constexpr int n_again_often = 20;
    // Rows whose gap is below this share of tol * scale / n_rows are not worth a step.
    static constexpr double quiet_share = 0.1;
    // A row at its bound becomes inactive if its |slope| exceeds the largest violation of the last
    // pass, or this share of it for sparse rows: these overlap little, so steps on some rows change
    // the scores of few others.
    static constexpr double far_share = 0.1;

    // Visits the active rows of units()[begin, end). Rows on disk are visited twice while they are
    // in memory, as in Yu et al., "Large linear classification when data cannot fit in memory"
    // (KDD 2010), and then released; their gaps and violations are those of the first visit.
    void visit_block(std::size_t begin, std::size_t end, DualState& state) {
        visit_units(begin, end, state);
        if (state.active.units().size() == 1) return;
        const double gap = state.gap;
        const double violation = violation_;
        visit_units(begin, end, state);
        state.gap = gap;
        violation_ = violation;
        const Row size = rows_per_unit(data_.rows);
        for (const std::uint32_t unit : state.active.units().subspan(begin, end - begin))
            done_with(data_.rows, unit * size, std::min(data_.rows.n_rows(), (unit + 1) * size));
    }

    void visit_units(std::size_t begin, std::size_t end, DualState& state) {
        batch_.clear();
        state.active.for_each_in_random_order(begin, end, random_, [&](Row i) {
            if (stop_.made()) return;
            batch_.push_back(i);
            if (batch_.size() == batch_size_) visit_batch(state);
        });
        visit_batch(state);
        solve_team(state);
        const bool often = team_.has_kept_all() && data_.rows.has_expensive_products();
        const int n_turns = often ? n_again_often : n_again;
        for (int i = 0; i < n_turns && !stop_.made(); ++i) team_.solve_again(state);
        team_.forget();
    }

    // Scores and screens the rows of the batch. When the team is full it is solved, which changes
    // the model, so the rest of the batch is scored again.
    void visit_batch(DualState& state) {
        std::span<const Row> left = batch_;
        while (!left.empty() && !stop_.made()) {
            stop_.poll();
            data_.rows.score(left, state.tables, scores_.data());
            std::size_t seen = 0;
            while (seen < left.size() && !team_.is_full()) {
                screen(left[seen], scores_[seen], state);
                ++seen;
            }
            screened_ += seen;
            left = left.subspan(seen);
            if (team_.is_full()) solve_team(state);
        }
        batch_.clear();
    }

    // Adds the row to the team if a step on it is worthwhile; makes it inactive if it is at its
    // bound and its slope is too large for the steps of a pass to move it away.
    void screen(Row i, double score, DualState& state) {
        const std::size_t k = index(i);
        const Loss& loss = data_.loss;
        const double alpha = state.alpha[k];
        const double c = state.cost(data_.problem, k);
        const double f = score + data_.problem.bias * state.bias_weight;
        const double margin = data_.problem.margin(k, f);
        const double gap = loss.gap(alpha, margin, c);
        const double slope = loss.slope(alpha, margin, c);
        state.gap += gap;
        if (loss.at_rest(alpha, margin, data_.curvature(k), c)) {
            if (std::abs(slope) > state.set_aside_above) state.active.set(i, false);
            return;
        }
        violation_ = std::max(violation_, std::abs(slope));
        if (gap > quiet_) team_.join(i, f);
    }

    void solve_team(DualState& state) {
        if (team_.is_empty()) return;
        team_.solve(state);
        // The next team will fill after about as many rows; a batch is half of that, because what
        // is left of a batch must be scored again. Batches stay short where they save nothing.
        constexpr auto whole = static_cast<std::size_t>(rows_per_score);
        const std::size_t most = data_.rows.scores_one_by_one() ? whole : max_batch;
        batch_size_ = std::clamp(screened_ / 2 / whole * whole, whole, most);
        screened_ = 0;
    }

    const DualData<Loss>& data_;
    StopRequest& stop_;
    Random random_;
    Team<Loss> team_;
    double violation_ = 0.0;  // largest |slope| of a violator in this pass
    double quiet_ = 0.0;      // rows with a smaller gap get no step
    std::vector<Row> batch_;
    std::size_t batch_size_ = team_size;
    std::size_t screened_ = 0;  // rows screened since the last team was solved
    std::array<double, max_batch> scores_{};
};

}  // namespace splinear
