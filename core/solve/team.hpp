// A team of violators: the problem restricted to a few rows, solved on their Gram matrix.
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

// Collects rows until it is full; solve() then takes steps on them, over and over until little is
// left to gain, and writes the tables once. Products cost most of that; they are kept for a while.
template <DualLoss Loss>
class Team {
public:
    explicit Team(const DualData<Loss>& data) : data_(data) {}

    bool is_full() const noexcept { return rows_.size() == team_size; }
    bool is_empty() const noexcept { return rows_.empty(); }

    // score: of the row by the model, intercept included.
    void join(Row row, double score) {
        scores_[rows_.size()] = score;
        rows_.push_back(row);
    }

    // Leaves the team empty.
    void solve(DualState& state) {
        fill_gram(state);
        ++n_solved_;
        if (kept_.size() < most_kept)
            kept_.push_back({rows_, {gram_.data(), gram_.data() + rows_.size() * rows_.size()}});
        settle(state);
    }

    // Solves for the teams since forget() once more, by the products that were kept of them: rows
    // of different teams pull against each other, too.
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

    // Whether these are all teams since forget().
    bool has_kept_all() const noexcept { return n_solved_ == kept_.size(); }

    void forget() noexcept {
        kept_.clear();
        n_solved_ = 0;
    }

private:
    static constexpr int max_sweeps = 100;
    static constexpr double settled = 0.1;        // share of a team's gap that may be left
    static constexpr std::size_t most_kept = 64;  // teams, of 32 KB each

    // What a sweep reads and writes of one row, side by side.
    struct Member {
        double alpha;
        double y;
        double target;
        double curvature;
        double cost;
    };

    // A team, and the products of its members.
    struct Kept {
        std::vector<Row> rows;
        std::vector<double> gram;
    };

    // Takes steps on the members, by their products and scores. Leaves the team empty.
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

    // gram_[a * m + b]: product of the embeddings of members a and b, bias included.
    void fill_gram(DualState& state) {
        const std::size_t m = rows_.size();
        const double bias2 = data_.problem.bias * data_.problem.bias;
        if (m > 1) data_.rows.gram(rows_, gram_.data(), state.workspace);
        for (std::size_t a = 0; a < m; ++a) {
            gram_[a * m + a] = data_.curvature(index(rows_[a]));
            for (std::size_t b = a + 1; b < m; ++b) gram_[b * m + a] = gram_[a * m + b] += bias2;
        }
    }

    // One exact step on every member, each moving all members' scores; returns the sum of their
    // gaps as they were before their steps.
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

    // Carries the members' new alphas over, and the dual with them: 1/2 |w|^2 has grown by the
    // steps times the mean of the scores before and after.
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
    std::size_t n_solved_ = 0;  // teams since forget()
    std::vector<Row> rows_;
    std::array<Member, team_size> members_{};
    std::array<double, team_size> scores_{};  // intercept included
    std::array<double, team_size> scores_before_{};
    std::array<double, team_size> steps_{};
    std::array<double, team_size * team_size> gram_{};
};

}  // namespace splinear
