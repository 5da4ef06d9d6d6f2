// A team of violators: the dual problem restricted to up to 64 rows, solved on their Gram matrix.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "rows/row.hpp"
#include "simd/vector.hpp"
#include "solve/dual_data.hpp"
#include "solve/dual_state.hpp"

namespace splinear {

// Collects rows until it is full. solve() then sweeps over them with exact coordinate steps until
// little of their gap is left, and updates the model once. The Gram matrix is the expensive part,
// so matrices are kept and used again by solve_again().
template <DualLoss Loss>
class Team {
public:
    explicit Team(const DualData<Loss>& data) : data_(data) {}

    bool is_full() const noexcept { return rows_.size() == team_size; }
    bool is_empty() const noexcept { return rows_.empty(); }

    // Adds a row. `score` is its current score, including the intercept.
    void join(Row row, double score) {
        scores_[rows_.size()] = score;
        rows_.push_back(row);
    }

    // Solves for the rows that have joined; the team is empty afterward.
    void solve(DualState& state) {
        fill_gram(state);
        ++n_solved_;
        if (kept_.size() < most_kept)
            kept_.push_back({rows_, {gram_.data(), gram_.data() + rows_.size() * rows_.size()}});
        settle(state);
    }

    // Solves for all kept teams once more: steps of different teams work against each other, too.
    void solve_again(DualState& state) {
        if (kept_.size() < 2) return;
        for (const Kept& team : kept_) {
            rows_ = team.rows;
            std::copy(team.gram.begin(), team.gram.end(), gram_.begin());
            data_.rows.score(rows_, state.tables, scores_.data());
            for (std::size_t a = 0; a < rows_.size(); ++a)
                scores_[a] += data_.problem.bias * state.bias_weight;
            settle(state);
        }
    }

    // Whether all teams solved since forget() were kept.
    bool has_kept_all() const noexcept { return n_solved_ == kept_.size(); }

    void forget() noexcept {
        kept_.clear();
        n_solved_ = 0;
    }

private:
    static constexpr int max_sweeps = 100;
    static constexpr double settled = 0.1;        // sweeps end at this share of the team's gap
    static constexpr std::size_t most_kept = 64;  // kept teams, 32 KB each

    // Everything that a sweep reads and writes of one row, contiguous in memory.
    struct Member {
        double alpha;
        double y;
        double target;
        double curvature;
        double cost;
    };

    // A solved team and its Gram matrix.
    struct Kept {
        std::vector<Row> rows;
        std::vector<double> gram;
    };

    // Sweeps over the members, given their Gram matrix and scores, and updates the model. The team
    // is empty afterward.
    void settle(DualState& state) {
        const std::size_t m = rows_.size();
        std::copy_n(scores_.begin(), m, scores_before_.begin());
        for (std::size_t a = 0; a < m; ++a) {
            const std::size_t k = index(rows_[a]);
            members_[a] = {state.alpha[k], static_cast<double>(data_.problem.y[k]),
                           data_.problem.target(k), data_.curvature(k),
                           state.cost(data_.problem, k)};
        }
        const double before = sweep();
        for (int i = 1; m > 1 && i < max_sweeps; ++i)
            if (sweep() <= settled * before) break;
        take_steps(state);
        data_.rows.add(rows_, steps_.data(), state.tables, state.workspace);
        rows_.clear();
    }

    // gram_[a * m + b] = phi_a'phi_b for members a and b, including the bias; m members.
    void fill_gram(DualState& state) {
        const std::size_t m = rows_.size();
        const double bias2 = data_.problem.bias * data_.problem.bias;
        if (m > 1) data_.rows.gram(rows_, gram_.data(), state.workspace);
        for (std::size_t a = 0; a < m; ++a) {
            gram_[a * m + a] = data_.curvature(index(rows_[a]));
            for (std::size_t b = a + 1; b < m; ++b) gram_[b * m + a] = gram_[a * m + b] += bias2;
        }
    }

    // One exact coordinate step on every member; each updates the scores of all members. Returns
    // the sum of the members' gaps, each before its step.
    double sweep() {
        const std::size_t m = rows_.size();
        double gap = 0.0;
        for (std::size_t a = 0; a < m; ++a) {
            Member& member = members_[a];
            const double margin = member.y * scores_[a] - member.target;
            gap += data_.loss.gap(member.alpha, margin, member.cost);
            const double next =
                data_.loss.step(member.alpha, margin, member.curvature, member.cost);
            if (next == member.alpha) continue;
            simd::axpy(member.y * (next - member.alpha), &gram_[a * m], scores_.data(), m);
            member.alpha = next;
        }
        return gap;
    }

    // Copies the members' new alphas to the state and updates the dual objective. 1/2 |w|^2 changes
    // by the sum over members of the step times the mean of the scores before and after.
    void take_steps(DualState& state) {
        for (std::size_t a = 0; a < rows_.size(); ++a) {
            const Member& member = members_[a];
            double& alpha = state.alpha[index(rows_[a])];
            steps_[a] = member.y * (member.alpha - alpha);
            state.dual += data_.loss.dual(member.alpha, member.cost) -
                          data_.loss.dual(alpha, member.cost) +
                          (member.alpha - alpha) * member.target -
                          0.5 * steps_[a] * (scores_before_[a] + scores_[a]);
            state.bias_weight += steps_[a] * data_.problem.bias;
            alpha = member.alpha;
        }
    }

    const DualData<Loss>& data_;
    std::vector<Kept> kept_;
    std::size_t n_solved_ = 0;  // teams solved since forget()
    std::vector<Row> rows_;
    std::array<Member, team_size> members_{};
    std::array<double, team_size> scores_{};  // including the intercept
    std::array<double, team_size> scores_before_{};
    std::array<double, team_size> steps_{};  // change of y alpha
    std::array<double, team_size * team_size> gram_{};
};

}  // namespace splinear
