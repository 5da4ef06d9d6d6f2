// Dual coordinate descent for a linear model on embeddings that are computed on the fly.
//
//   primal:  min_w    P(w) = 1/2 |w - w_0|^2 + sum_i c_i loss(y_i w'phi_i - t_i)
//   dual:    max_a    D(a) = sum_i (dual_i(a_i) + a_i t_i) + 1/2 |w_0|^2 - 1/2 |w|^2,
//                     w = w_0 + sum_i a_i y_i phi_i
//
// with phi_i the embedding of row i (see operator.hpp) and the bias B as one more entry.
// Classification has y_i = -1 or 1 and t_i = 0; regression has y_i = 1 and the target t_i, and its
// "margin" is the residual. w_0 is 0 but for training that goes on from an earlier model. After
// Hsieh et al., "A dual coordinate descent method for large-scale linear SVM" (ICML 2008), with
// three changes. Rows are scored in batches, and most are found to be at their optimum: they are
// done. The others, the violators, are collected into a team; the problem restricted to a team is
// solved by coordinate steps that need only the products of its members' embeddings, over and over
// until little is left to gain, so that rows which pull against each other (as all do through an
// intercept) settle at once and not over many passes. And the tables are written once per team.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "model/loss/any.hpp"
#include "operators/grouped_rows.hpp"
#include "rows/blocks.hpp"
#include "simd/vector.hpp"
#include "solve/active_set.hpp"
#include "support/parallel.hpp"
#include "support/random.hpp"

namespace splinear {

// What is fixed during a fit, beside the operator.
struct DualProblem {
    std::span<const std::int8_t> y;   // -1 or 1
    std::span<const double> targets;  // of regression; empty: all 0
    std::span<const double> weights;  // of the rows; empty: all 1. A row of weight 0 is left out
    double cost_negative;             // of a row of unit weight
    double cost_positive;
    double bias;  // B; 0: no intercept

    double cost(std::size_t i) const noexcept {
        const double c = y[i] > 0 ? cost_positive : cost_negative;
        return weights.empty() ? c : c * weights[i];
    }
    double target(std::size_t i) const noexcept { return targets.empty() ? 0.0 : targets[i]; }
    double margin(std::size_t i, double f) const noexcept { return y[i] * f - target(i); }
};

// Where to begin. Empty spans stand for zeros.
struct DualStart {
    std::span<const double> alpha;  // dual variables of an earlier fit to the same rows
    std::span<const double> coef;   // w_0, as coefficients: an earlier model, all groups
    double intercept = 0.0;         // of that model
};

struct DualOptions {
    double tol;  // relative duality gap to reach
    int max_iter;
    std::uint64_t seed;
    int n_threads;
};

struct Progress {
    int n_iter;
    double gap;  // relative; an estimate from the rows visited in the pass
    std::ptrdiff_t n_active;
};

// Told how a fit goes. Either call may stop it, by returning true.
class Monitor {
public:
    virtual ~Monitor() = default;
    virtual bool poll() = 0;  // a few times a second
    virtual bool pass(const Progress&) = 0;
};

struct DualResult {
    std::vector<double> coef;   // of all groups, one after the other, n_features x stride each
    std::vector<double> alpha;  // the dual variables, if they were asked for
    double intercept;
    double primal;
    double dual;
    double gap;  // relative to the primal
    int n_iter;
    bool converged;
};

template <DualLoss Loss>
class DualCoordinateDescent {
public:
    DualCoordinateDescent(const GroupedRows& rows, const Loss& loss, const DualProblem& problem,
                          const DualOptions& options, Monitor& monitor)
        : rows_(rows),
          loss_(loss),
          problem_(problem),
          options_(options),
          monitor_(monitor),
          random_(options.seed),
          active_(rows.n_rows(), rows_per_unit(rows)),
          alpha_(problem.y.size(), 0.0),
          squared_norm_(problem.y.size()),
          tables_(rows.zero_tables()) {
        over_rows(
            [&](Row i) { squared_norm_[index(i)] = static_cast<float>(rows_.squared_norm(i)); });
        for (std::size_t i = 0; i < alpha_.size(); ++i) {
            const double c = cost(i);
            if (c == 0.0)
                active_.set(static_cast<Row>(i), false);
            else
                gap_ += c * loss_.value(problem_.margin(i, 0.0));
        }
    }

    // Begins at another model, from other dual variables, or both.
    void start_at(const DualStart& start) {
        if (!start.coef.empty()) {
            tables_ = rows_.tables_of(start.coef);
            bias_weight_ = problem_.bias > 0.0 ? start.intercept / problem_.bias : 0.0;
            start_weight_ = squared_weight();
            moved_ = true;
        }
        if (!start.alpha.empty()) {
            std::copy(start.alpha.begin(), start.alpha.end(), alpha_.begin());
            add_all([&](std::size_t i) { return alpha_[i]; });
            moved_ = true;
        }
    }

    // Goes on with all costs times `factor`. The dual variables follow a straight line, over the
    // costs, through their values in the last two problems (in none, before the first), as far as
    // that is good for the dual.
    void change_costs(double factor) {
        const std::vector<double> before = alpha_;
        extrapolate(factor);
        const double last = std::exchange(cost_factor_, factor * cost_factor_);
        const auto tables_before = tables_;
        const double bias_before = bias_weight_;
        add_growth(before, factor);
        // Smaller costs may have made the old values infeasible.
        if (solved_ && factor > 1.0) step_back(before, tables_before, bias_before);
        if (solved_) {
            last_alpha_ = before;
            last_factor_ = last;
        }
        gap_ *= factor;  // a guess, until rows are visited
        dual_ = sum_of_duals() - 0.5 * (squared_weight() - start_weight_);
    }

    DualResult run() {
        int n_iter = 0;
        set_aside_above_ = unbounded;
        bool certified = moved_ && certify();
        while (n_iter < options_.max_iter && !certified && !stopped_) {
            const double estimate = pass();
            ++n_iter;
            if (monitor_.pass({n_iter, relative(estimate), active_.count()})) stopped_ = true;
            // Steps later in the pass have made the gap smaller than it was when rows were visited.
            if (relative(estimate) <= check_early * options_.tol) certified = certify();
        }
        if (!certified) certified = certify();
        moved_ = false;
        solved_ = true;
        return {rows_.coefficients(tables_),
                {},
                problem_.bias * bias_weight_,
                primal(),
                dual_,
                relative(gap_),
                n_iter,
                certified};
    }

    bool stopped() const noexcept { return stopped_; }
    const std::vector<double>& alpha() const noexcept { return alpha_; }

private:
    static constexpr std::size_t block_size = 16;
    static constexpr std::size_t team_size = 64;
    static constexpr std::size_t max_batch = 1024;
    static constexpr int max_sweeps = 100;
    static constexpr double settled = 0.1;  // share of a team's gap that may be left
    static constexpr double check_early = 1.5;
    // A row whose part of the gap is below this share of its part of the tolerance is left alone.
    static constexpr double quiet_share = 0.1;

    // A row on the team: what a sweep reads and writes, side by side.
    struct Member {
        double alpha;
        double y;
        double target;
        double curvature;
        double cost;
    };

    static std::size_t index(Row i) noexcept { return static_cast<std::size_t>(i); }

    // The squared length of a row's embedding, bias included: exact even where the bias is large.
    double curvature(std::size_t i) const noexcept {
        return static_cast<double>(squared_norm_[i]) + problem_.bias * problem_.bias;
    }

    double cost(std::size_t i) const noexcept { return cost_factor_ * problem_.cost(i); }

    // Moves every dual variable to where the line through its last two values meets the new cost.
    void extrapolate(double factor) {
        const double reach = (factor - 1.0) * cost_factor_ / (cost_factor_ - last_factor_);
        last_alpha_.resize(alpha_.size(), 0.0);
        for (std::size_t i = 0; i < alpha_.size(); ++i)
            alpha_[i] =
                loss_.nearest(alpha_[i] + reach * (alpha_[i] - last_alpha_[i]), factor * cost(i));
    }

    // Carries over to the tables that the dual variables were `before` and are alpha_ now.
    void add_growth(const std::vector<double>& before, double factor) {
        std::size_t n_moved = 0;
        std::size_t n_bent = 0;
        for (std::size_t i = 0; i < alpha_.size(); ++i) {
            n_moved += alpha_[i] != before[i];
            n_bent += alpha_[i] != factor * before[i];
        }
        // Where most dual variables grow with the costs, the tables do as well, and fewer rows are
        // left to add. Elsewhere scaling would do nothing but enlarge the tables' rounding errors.
        const double scale = n_bent < n_moved && start_weight_ == 0.0 ? factor : 1.0;
        if (scale != 1.0) rows_.blend(scale, tables_, 0.0, tables_);
        bias_weight_ *= scale;
        add_all([&](std::size_t i) { return alpha_[i] - scale * before[i]; });
    }

    // Goes back towards the values `before`, to where the dual is highest on the way.
    void step_back(const std::vector<double>& before, const GroupedRows::Tables& tables,
                   double bias_weight) {
        const std::vector<double> goal = alpha_;
        auto change = tables_;
        rows_.blend(1.0, change, -1.0, tables);
        const double bias_change = bias_weight_ - bias_weight;
        const double square = rows_.squared_weight(change) + bias_change * bias_change;
        const double at_goal = squared_weight();
        const double at_start = rows_.squared_weight(tables) + bias_weight * bias_weight;
        const auto move_to = [&](double share) {
            for (std::size_t i = 0; i < goal.size(); ++i)
                alpha_[i] = before[i] + share * (goal[i] - before[i]);
        };
        const auto dual_at = [&](double share) {
            move_to(share);
            const double along = at_goal - at_start - square;
            return sum_of_duals() - 0.5 * share * (along + share * square);
        };
        const double share = highest_in_unit_interval(dual_at);
        move_to(share);
        rows_.blend(share, tables_, 1.0 - share, tables);
        bias_weight_ = bias_weight + share * bias_change;
    }

    // Where a concave function is highest, to about a hundredth: golden sections, and the ends.
    template <class Function>
    static double highest_in_unit_interval(const Function& f) {
        constexpr double golden = 0.6180339887498949;
        constexpr int n_sections = 9;
        double low = 0.0;
        double high = 1.0;
        double left = 1.0 - golden;
        double right = golden;
        double f_left = f(left);
        double f_right = f(right);
        for (int i = 0; i < n_sections; ++i) {
            if (f_left > f_right) {
                high = std::exchange(right, left);
                f_right = f_left;
                left = high - golden * (high - low);
                f_left = f(left);
            } else {
                low = std::exchange(left, right);
                f_left = f_right;
                right = low + golden * (high - low);
                f_right = f(right);
            }
        }
        return low == 0.0 ? 0.0 : high == 1.0 ? 1.0 : 0.5 * (low + high);
    }

    double sum_of_duals() const noexcept {
        double sum = 0.0;
        for (std::size_t i = 0; i < alpha_.size(); ++i) sum += dual_of(i);
        return sum;
    }

    // A row's part of the dual.
    double dual_of(std::size_t i) const noexcept {
        const double c = cost(i);
        return c == 0.0 ? 0.0 : loss_.dual(alpha_[i], c) + alpha_[i] * problem_.target(i);
    }

    // |w|^2, the bias included.
    double squared_weight() const {
        return rows_.squared_weight(tables_) + bias_weight_ * bias_weight_;
    }

    double primal() const noexcept { return dual_ + gap_; }
    double relative(double gap) const noexcept { return gap > 0.0 ? gap / (dual_ + gap) : 0.0; }

    // One visit of every active row; returns the sum of their gaps, each as it was on the visit.
    double pass() {
        quiet_ = quiet_share * options_.tol * primal() / static_cast<double>(rows_.n_rows());
        gap_ = 0.0;
        violation_ = 0.0;
        active_.deal(random_);
        // Blocks of nearly one size: the rows of a small one would pull the model their way.
        const std::size_t n_units = active_.units().size();
        const std::size_t n_blocks = (n_units + units_per_block - 1) / units_per_block;
        for (std::size_t b = 0; b < n_blocks && !stopped_; ++b)
            visit_block(b * n_units / n_blocks, (b + 1) * n_units / n_blocks);
        set_aside_above_ = violation_ > 0.0 ? violation_ : unbounded;
        return gap_;
    }

    // Visits the active rows of some units, and lets them go. Rows from disk are visited once more
    // while they are here, after Yu et al., "Large linear classification when data cannot fit in
    // memory" (KDD 2010); their gaps count as they were on the first visit.
    void visit_block(std::size_t begin, std::size_t end) {
        visit_units(begin, end);
        if (active_.units().size() == 1) return;
        const double gap = gap_;
        const double violation = violation_;
        visit_units(begin, end);
        gap_ = gap;
        violation_ = violation;
        const Row size = rows_per_unit(rows_);
        for (const std::uint32_t unit : active_.units().subspan(begin, end - begin))
            done_with(rows_, unit * size, std::min(rows_.n_rows(), (unit + 1) * size));
    }

    void visit_units(std::size_t begin, std::size_t end) {
        batch_.clear();
        active_.for_each_in_random_order(begin, end, random_, [&](Row i) {
            if (stopped_) return;
            batch_.push_back(i);
            if (batch_.size() == batch_size_) visit_batch();
        });
        visit_batch();
        solve_team();
    }

    // Scores the rows of the batch and screens them. When the team is full it is solved for, and
    // the rest of the batch, whose scores have changed by that, is scored again.
    void visit_batch() {
        std::span<const Row> left = batch_;
        while (!left.empty() && !stopped_) {
            poll();
            rows_.score(left, tables_, batch_scores_.data());
            std::size_t seen = 0;
            while (seen < left.size() && team_.size() < team_size) {
                screen(left[seen], batch_scores_[seen]);
                ++seen;
            }
            screened_ += seen;
            left = left.subspan(seen);
            if (team_.size() == team_size) solve_team();
        }
        batch_.clear();
    }

    // Puts the row on the team if a step on it would gain something; sets it aside if it is so
    // far inside its bound that no step of the size of the last pass would bring it back.
    void screen(Row i, double score) {
        const std::size_t k = index(i);
        const double c = cost(k);
        const double f = score + problem_.bias * bias_weight_;
        const double margin = problem_.margin(k, f);
        const double gap = loss_.gap(alpha_[k], margin, c);
        const double slope = loss_.slope(alpha_[k], margin, c);
        gap_ += gap;
        if (loss_.at_rest(alpha_[k], margin, curvature(k), c)) {
            if (std::abs(slope) > set_aside_above_) active_.set(i, false);
            return;
        }
        violation_ = std::max(violation_, std::abs(slope));
        if (gap <= quiet_) return;
        scores_[team_.size()] = f;
        team_.push_back(i);
    }

    void solve_team() {
        const std::size_t m = team_.size();
        if (m == 0) return;
        fill_gram();
        std::copy_n(scores_.begin(), m, scores_before_.begin());
        for (std::size_t a = 0; a < m; ++a) {
            const std::size_t k = index(team_[a]);
            members_[a] = {alpha_[k], static_cast<double>(problem_.y[k]), problem_.target(k),
                           curvature(k), cost(k)};
        }
        const double before = sweep_team();
        for (int sweep = 1; m > 1 && sweep < max_sweeps; ++sweep)
            if (sweep_team() <= settled * before) break;
        take_steps();
        rows_.add(team_, steps_.data(), tables_);
        team_.clear();
        // The next team will take about as many rows to fill; half of them make a batch.
        batch_size_ = std::clamp(screened_ / 2 / block_size * block_size, block_size, max_batch);
        screened_ = 0;
    }

    // gram_[a * m + b]: product of the embeddings of members a and b, bias included.
    void fill_gram() {
        const std::size_t m = team_.size();
        const double bias2 = problem_.bias * problem_.bias;
        if (m > 1) rows_.gram(team_, gram_.data());
        for (std::size_t a = 0; a < m; ++a) {
            gram_[a * m + a] = curvature(index(team_[a]));
            for (std::size_t b = a + 1; b < m; ++b) gram_[b * m + a] = gram_[a * m + b] += bias2;
        }
    }

    // One exact step on every member, each moving all members' scores; returns the sum of their
    // gaps as they were before their steps.
    double sweep_team() {
        const std::size_t m = team_.size();
        double gap = 0.0;
        for (std::size_t a = 0; a < m; ++a) {
            Member& member = members_[a];
            const double margin = member.y * scores_[a] - member.target;
            gap += loss_.gap(member.alpha, margin, member.cost);
            const double next = loss_.step(member.alpha, margin, member.curvature, member.cost);
            if (next == member.alpha) continue;
            simd::axpy(member.y * (next - member.alpha), &gram_[a * m], scores_.data(), m);
            member.alpha = next;
        }
        return gap;
    }

    // Carries the members' new alphas over, and the dual with them: 1/2 |w|^2 has grown by the
    // steps times the mean of the scores before and after.
    void take_steps() {
        for (std::size_t a = 0; a < team_.size(); ++a) {
            const Member& member = members_[a];
            double& alpha = alpha_[index(team_[a])];
            steps_[a] = member.y * (member.alpha - alpha);
            dual_ += loss_.dual(member.alpha, member.cost) - loss_.dual(alpha, member.cost) +
                     (member.alpha - alpha) * member.target -
                     0.5 * steps_[a] * (scores_before_[a] + scores_[a]);
            bias_weight_ += steps_[a] * problem_.bias;
            alpha = member.alpha;
        }
    }

    // Computes the exact dual and gap over all rows, and chooses anew which of them to visit.
    bool certify() {
        struct Sums {
            double dual = 0.0;
            double gap = 0.0;
        };
        const Row n = rows_.n_rows();
        std::vector<Sums> parts(index((n + rows_per_task - 1) / rows_per_task));
        over_blocks([&](Row begin, Row end) {
            std::array<Row, block_size> block;
            std::array<double, block_size> scores;
            Sums& part = parts[index(begin / rows_per_task)];
            const auto m = index(end - begin);
            for (std::size_t a = 0; a < m; ++a) block[a] = begin + static_cast<Row>(a);
            rows_.score(std::span(block).first(m), tables_, scores.data());
            for (std::size_t a = 0; a < m; ++a) {
                const std::size_t k = index(block[a]);
                const double c = cost(k);
                if (c == 0.0) continue;
                const double f = scores[a] + problem_.bias * bias_weight_;
                const double margin = problem_.margin(k, f);
                part.dual += dual_of(k);
                part.gap += loss_.gap(alpha_[k], margin, c);
                const bool at_rest = loss_.at_rest(alpha_[k], margin, curvature(k), c);
                const bool far = std::abs(loss_.slope(alpha_[k], margin, c)) > set_aside_above_;
                active_.set(block[a], !(at_rest && far));
            }
        });
        dual_ = -0.5 * (squared_weight() - start_weight_);
        gap_ = 0.0;
        for (const Sums& part : parts) {
            dual_ += part.dual;
            gap_ += part.gap;
        }
        return relative(gap_) <= options_.tol;
    }

    static constexpr Row rows_per_task = 4096;  // a multiple of 64: tasks share no word of active_
    static constexpr double unbounded = std::numeric_limits<double>::infinity();

    // body(begin, end) for all blocks of rows, spread over threads in tasks of rows_per_task.
    template <class Body>
    void over_blocks(const Body& body) {
        constexpr auto step = static_cast<Row>(block_size);
        const Row n = rows_.n_rows();
        const Row n_tasks = (n + rows_per_task - 1) / rows_per_task;
        const Row tasks_at_once = 8 * static_cast<Row>(options_.n_threads);
        Trail trail(rows_);
        for (Row t = 0; t < n_tasks; t += tasks_at_once) {
            poll();
            parallel_for(std::min(tasks_at_once, n_tasks - t), options_.n_threads, [&](Row task) {
                const Row end = std::min(n, (t + task + 1) * rows_per_task);
                for (Row i = (t + task) * rows_per_task; i < end; i += step)
                    body(i, std::min(end, i + step));
            });
            trail.reached(std::min(n, (t + tasks_at_once) * rows_per_task));
        }
    }

    template <class Body>
    void over_rows(const Body& body) {
        over_blocks([&](Row begin, Row end) {
            for (Row i = begin; i < end; ++i) body(i);
        });
    }

    void poll() {
        using namespace std::chrono_literals;
        const auto now = std::chrono::steady_clock::now();
        if (now - last_poll_ < 50ms) return;
        last_poll_ = now;
        if (monitor_.poll()) stopped_ = true;
    }

    // Adds every row's embedding, times what its dual variable has grown by, to the tables.
    template <class Growth>
    void add_all(const Growth& growth) {
        const Row n = rows_.n_rows();
        Trail trail(rows_);
        for (Row begin = 0; begin < n; begin += static_cast<Row>(team_size)) {
            trail.reached(begin);
            team_.clear();
            for (Row i = begin; i < std::min(n, begin + static_cast<Row>(team_size)); ++i) {
                const double step = problem_.y[index(i)] * growth(index(i));
                if (step == 0.0) continue;
                steps_[team_.size()] = step;
                bias_weight_ += step * problem_.bias;
                team_.push_back(i);
            }
            if (!team_.empty()) rows_.add(team_, steps_.data(), tables_);
        }
        team_.clear();
    }

    const GroupedRows& rows_;
    const Loss loss_;
    const DualProblem problem_;
    const DualOptions options_;
    Monitor& monitor_;
    Random random_;

    // The moving state.
    ActiveSet active_;
    std::vector<double> alpha_;
    std::vector<float> squared_norm_;  // of the embedding, without the bias
    GroupedRows::Tables tables_;
    double bias_weight_ = 0.0;
    double start_weight_ = 0.0;  // |w_0|^2
    double cost_factor_ = 1.0;
    std::vector<double> last_alpha_;  // of the problem before, if there was one
    double last_factor_ = 0.0;        // its cost_factor_
    bool moved_ = false;              // to another start: dual and gap are to be computed first
    bool solved_ = false;
    bool stopped_ = false;
    double dual_ = 0.0;
    double gap_ = 0.0;  // of the rows seen in the last pass; of all rows after certify()
    double set_aside_above_ = unbounded;

    // Of the pass and the team at hand.
    double violation_ = 0.0;
    double quiet_ = 0.0;
    std::vector<Row> batch_;
    std::size_t batch_size_ = team_size;
    std::size_t screened_ = 0;  // rows since the last team was solved for
    std::array<double, max_batch> batch_scores_{};
    std::vector<Row> team_;
    std::array<Member, team_size> members_{};
    std::array<double, team_size> scores_{};  // of the team, intercept included
    std::array<double, team_size> scores_before_{};
    std::array<double, team_size> steps_{};
    std::array<double, team_size * team_size> gram_{};
    std::chrono::steady_clock::time_point last_poll_ = std::chrono::steady_clock::now();
};

}  // namespace splinear
