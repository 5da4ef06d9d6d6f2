#include "solve/step.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "operators/curved_sums.hpp"
#include "operators/partial_sums.hpp"
#include "solve/stop_request.hpp"
#include "support/checks.hpp"
#include "support/dot.hpp"
#include "support/pieces.hpp"

namespace splinear {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr Row rows_per_task = 8192;

double sum(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
}

// to += share * more.
void add(double share, const double* more, std::size_t n, double* to) noexcept {
    for (std::size_t i = 0; i < n; ++i) to[i] += share * more[i];
}

// Lengths in the norm of the preconditioner M, by recurrences instead of products with M.
struct Length {
    double radius;
    double direction;    // d'M d, for the direction d
    double step = 0.0;   // s'M s, for the step s
    double cross = 0.0;  // s'M d

    // Updates the lengths for s += t d, with t reduced so that s stays within the radius. Returns
    // that t, and whether the radius was reached.
    std::pair<double, bool> advance(double t) {
        const double before = step;
        const double longer = before + 2.0 * t * cross + t * t * direction;
        const double edge = radius * radius;
        if (longer < edge) {
            step = longer;
            return {t, false};
        }
        const double room = edge - before;
        const double root = std::sqrt(cross * cross + direction * room);
        const double far = std::max(cross + root, std::numeric_limits<double>::min());
        step = edge;
        return {far < infinite ? room / far : 0.0, true};
    }

    // Updates the lengths for the next direction z + beta d, after a step of t along d; rz = r'z.
    void turn(double t, double beta, double rz) {
        cross = beta * (cross + t * direction);
        direction = rz + beta * beta * direction;
    }
};

// The vectors of conjugate gradients and the operations on them. Parameters are processed in
// parallel tasks of some features (ArrowPart), whose dot products are added in order.
class Vectors {
public:
    Vectors(const StepModel& model, std::span<const double> gradient, bool keeps_scores,
            int n_threads)
        : model_(model),
          n_threads_(n_threads),
          n_(gradient.size() - 1),
          parts_(arrow_parts(model.blocks)),
          has_missing_(std::ranges::any_of(
              model.blocks, [](const ArrowGroup* group) { return !group->mean.empty(); })),
          step_(n_ + 1),
          residual_(n_ + 1),
          z_(n_ + 1),
          direction_(n_ + 1),
          product_(n_ + 1),
          tables_(has_missing_ ? n_ : 0),
          tilts_(n_features()),
          levels_(n_features()),
          dots_(parts_.size()),
          more_dots_(parts_.size()),
          scores_(keeps_scores ? model.h.size() : 0) {
        std::ranges::transform(gradient, residual_.begin(), [](double g) { return -g; });
        if (is_free()) residual_[n_] = 0.0;  // a free intercept is at its optimum
        over_rows(
            [&](std::size_t first, std::size_t n) { std::fill_n(scores_.data() + first, n, 0.0); });
    }

    // z = M^{-1} r; returns r'z.
    double precondition() {
        return solve([](const ArrowPart&, std::size_t) {});
    }

    // d = z + beta d.
    void turn(double beta) {
        for (std::size_t i = 0; i <= n_; ++i) direction_[i] = z_[i] + beta * direction_[i];
    }

    // Computes H d, with a free intercept eliminated; returns d'H d and d'r.
    std::array<double, 2> multiply() {
        const auto level = is_free() ? std::nullopt : std::optional(direction_[n_]);
        curved_ = curved_sums(model_.groups, tables(), model_.h, level, n_threads_);
        direction_[n_] = curved_.level;
        product_[n_] = curved_.total + model_.intercept_penalty.value_or(0.0) * curved_.level;
        over_parts([&](const ArrowPart& part, std::size_t p, std::size_t n) {
            double* own = &product_[part.start];
            gather(part, &curved_.sums[part.start], own);
            model_.penalties[part.number]->add_pull(part.first, part.last, &direction_[part.start],
                                                    own);
            dots_[p] = dot(&direction_[part.start], own, n);
            more_dots_[p] = dot(&direction_[part.start], &residual_[part.start], n);
        });
        return {sum(dots_) + direction_[n_] * product_[n_],
                sum(more_dots_) + direction_[n_] * residual_[n_]};
    }

    // s += t d, and likewise its scores.
    void advance(double t) {
        add(t, direction_.data(), n_ + 1, step_.data());
        over_rows([&](std::size_t first, std::size_t n) {
            add(t, curved_.scores.data() + first, n, scores_.data() + first);
        });
    }

    // r -= t H d, then z = M^{-1} r; returns r'z.
    double update_residual(double t) {
        residual_[n_] -= t * product_[n_];
        return solve([&](const ArrowPart& part, std::size_t n) {
            add(-t, &product_[part.start], n, &residual_[part.start]);
        });
    }

    // The gap of the quadratic model at s: 1/2 r'S^{-1} r.
    double gap() {
        over_parts([&](const ArrowPart& part, std::size_t, std::size_t n) {
            const GroupPenalty& penalty = *model_.penalties[part.number];
            const std::size_t at = part.first * penalty.stride();
            std::vector<double> own(n);
            for (std::size_t k = 0; k < n; ++k)
                own[k] = penalty.is_used(at + k) ? residual_[part.start + k] : 0.0;
            if (has_levels(penalty)) penalty.take_slopes(part.first, part.last, own.data());
            penalty.write_softness(part.first, part.last, own.data(), &tilts_[part.feature]);
        });
        const double of_b =
            is_free() ? 0.0 : residual_[n_] * residual_[n_] / *model_.intercept_penalty;
        return 0.5 * (sum(tilts_) + of_b);
    }

    // The largest absolute change of a row's score.
    double reach() {
        std::vector<double> found(n_pieces(scores_.size(), index(rows_per_task)));
        over_rows([&](std::size_t first, std::size_t n) {
            const double* own = scores_.data() + first;
            double most = 0.0;
            for (std::size_t i = 0; i < n; ++i) most = std::max(most, std::abs(own[i]));
            found[first / index(rows_per_task)] = most;
        });
        return found.empty() ? 0.0 : *std::ranges::max_element(found);
    }

    // Moves s and its scores to `out`; no other call may follow.
    void move_to(FoundStep& out) {
        out.step = std::move(step_);
        out.scores = std::move(scores_);
    }

private:
    bool is_free() const noexcept { return !model_.intercept_penalty; }
    // Whether levels of curves are moved to the (free) intercept.
    bool has_levels(const GroupPenalty& penalty) const noexcept {
        return is_free() && !penalty.level_weights().empty();
    }
    std::size_t n_features() const noexcept {
        std::size_t n = 0;
        for (const ArrowGroup* group : model_.blocks) n += group->n_features();
        return n;
    }

    // Calls use(part, index of the part, number of parameters) for all parts, in parallel.
    template <class Use>
    void over_parts(const Use& use) {
        parallel_for(std::ssize(parts_), n_threads_, [&](std::ptrdiff_t p) {
            const ArrowPart& part = parts_[index(p)];
            use(part, index(p), (part.last - part.first) * part.group->stride());
        });
    }

    // Calls use(first row, number of rows) for pieces of scores_, in parallel; no calls if scores
    // are not kept.
    template <class Use>
    void over_rows(const Use& use) {
        parallel_pieces(0, static_cast<Row>(scores_.size()), rows_per_task, n_threads_,
                        [&](Row first, Row last) { use(index(first), index(last - first)); });
    }

    // z = M^{-1} r, with the levels of curves moved to the intercept; returns r'z. Calls
    // before(part, number of parameters) first, in the same task.
    template <class Before>
    double solve(const Before& before) {
        over_parts([&](const ArrowPart& part, std::size_t p, std::size_t n) {
            before(part, n);
            const double* r = &residual_[part.start];
            double* z = &z_[part.start];
            solve_part(part, model_.intercept_curvature, r, residual_[n_], z,
                       &tilts_[part.feature]);
            const GroupPenalty& penalty = *model_.penalties[part.number];
            if (has_levels(penalty))
                penalty.take_levels(part.first, part.last, z, &levels_[part.feature]);
            dots_[p] = dot(r, z, n);
        });
        z_[n_] = residual_[n_] / model_.intercept_curvature - sum(tilts_) + sum(levels_);
        return sum(dots_) + residual_[n_] * z_[n_];
    }

    // The direction as tables, in which a missing value has a value of its own.
    std::span<const double> tables() {
        if (!has_missing_) return std::span(direction_).first(n_);
        std::copy_n(direction_.begin(), n_, tables_.begin());
        for (const ArrowPart& part : parts_) {
            const std::size_t stride = part.group->stride();
            if (part.group->mean.empty()) continue;
            const double* mean = &part.group->mean[part.first * (stride - 1)];
            double* own = &tables_[part.start];
            for (std::size_t j = part.first; j < part.last; ++j, own += stride, mean += stride - 1)
                own[stride - 1] += dot(own, mean, stride - 1);
        }
        return tables_;
    }

    // Converts derivatives with respect to tables into those with respect to parameters; 0 where a
    // parameter is not used.
    void gather(const ArrowPart& part, const double* sums, double* out) const {
        const std::size_t stride = part.group->stride();
        const bool has_missing = !part.group->mean.empty();
        const std::size_t size = has_missing ? stride - 1 : stride;
        const double* mean = part.group->mean.data() + part.first * size;
        for (std::size_t j = part.first; j < part.last; ++j, sums += stride, out += stride) {
            const std::uint8_t* used = &part.group->used[j * stride];
            for (std::size_t k = 0; k < stride; ++k) out[k] = used[k] ? sums[k] : 0.0;
            if (!has_missing) continue;
            for (std::size_t k = 0; k < size; ++k) out[k] += used[k] ? sums[size] * mean[k] : 0.0;
            mean += size;
        }
    }

    const StepModel& model_;
    int n_threads_;
    std::size_t n_;  // number of parameters, without the intercept
    std::vector<ArrowPart> parts_;
    bool has_missing_;
    // s, r, z, d and H d, n_ + 1 entries each; d as tables, empty without missing values.
    std::vector<double> step_, residual_, z_, direction_, product_, tables_;
    std::vector<double> tilts_, levels_;    // per feature
    std::vector<double> dots_, more_dots_;  // per part
    CurvedSums curved_;
    Buffer<double> scores_;
};

void check(const StepModel& model, std::span<const double> gradient) {
    check_per_row(model.groups, model.h);
    must_be("the number of penalties, one per group,", model.penalties.size(), model.groups.size());
    must_be("the number of blocks, one per group,", model.blocks.size(), model.groups.size());
    for (std::size_t g = 0; g < model.groups.size(); ++g) {
        const std::size_t n = model.groups[g]->n_coefficients();
        must_be("the parameters of a penalty", model.penalties[g]->n_parameters(), n);
        must_be("the parameters of blocks", model.blocks[g]->n_parameters(), n);
        must_be("the length of blocks", model.blocks[g]->stride(), model.groups[g]->stride());
        must_be("the length of a penalty", model.penalties[g]->stride(), model.groups[g]->stride());
    }
    must_be("the size of the gradient, one per parameter and the intercept's,", gradient.size(),
            checked_size(model.blocks) + 1);
}

}  // namespace

FoundStep least_step(const StepModel& model, std::span<const double> gradient,
                     const StepLimits& limits, Monitor& monitor, int n_threads) {
    check(model, gradient);
    Vectors vectors(model, gradient, limits.keeps_scores, n_threads);
    StopRequest stop(monitor);
    FoundStep out;
    double rz = vectors.precondition();
    const double goal = limits.accuracy * limits.accuracy * rz;
    Length length{limits.radius, rz};
    out.gap = infinite;
    // Whether a bound on what the losses add to the gap of the quadratic model is small; see "What
    // a step proves" in docs/mathematics.md.
    const auto is_near = [&] {
        if (limits.is_quadratic) return true;
        const double reach = vectors.reach();
        return reach <= limits.max_score_change &&
               0.25 * reach * reach * out.decrease <= limits.gap;
    };
    vectors.turn(0.0);
    while (out.n_products < limits.max_products && rz > 0.0) {
        ++out.n_products;
        const auto [curvature, slope] = vectors.multiply();
        if (!(curvature > 0.0 && curvature < infinite)) break;  // nothing but rounding is left
        double t = 0.0;
        std::tie(t, out.at_edge) = length.advance(rz / curvature);
        out.decrease += t * slope - 0.5 * t * t * curvature;
        vectors.advance(t);
        stop.poll();
        if (out.at_edge || stop.made()) break;
        const double previous = rz;
        rz = vectors.update_residual(t);
        // The gap is at least rz / 2, since M is at least the penalty's matrix S.
        out.gap = rz <= 2.0 * limits.gap ? vectors.gap() : infinite;
        if (out.gap <= limits.gap) break;
        // If only the gap of the quadratic model is still too large for a certificate, go on.
        if (rz <= goal && !(limits.keeps_scores && is_near())) break;
        vectors.turn(rz / previous);
        length.turn(t, rz / previous, rz);
    }
    out.length = std::sqrt(length.step);
    vectors.move_to(out);
    return out;
}

}  // namespace splinear
