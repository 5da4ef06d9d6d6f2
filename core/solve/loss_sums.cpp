#include "solve/loss_sums.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "rows/row.hpp"
#include "simd/losses.hpp"
#include "support/checks.hpp"
#include "support/pieces.hpp"

namespace splinear {
namespace {

using simd::loss_rows;
using simd::LossTerms;
using simd::Margins;

constexpr Row per_task = 64 * static_cast<Row>(loss_rows);

using Evaluate = void (*)(const Margins&, LossTerms&);

struct Loops {
    Evaluate terms;
    Evaluate derivatives;
    bool is_quadratic;
};

Loops loops_of(const AnyLoss& loss) {
    if (std::holds_alternative<Logistic>(loss))
        return {&simd::logistic_terms, &simd::logistic_derivatives, false};
    if (std::holds_alternative<SquaredError>(loss))
        return {&simd::squared_error_terms, &simd::squared_error_terms, true};
    return {nullptr, nullptr, false};
}

// The rows of a problem at scores, all of them shifted.
class ScoredRows {
public:
    ScoredRows(const DualProblem& problem, std::span<const double> scores)
        : rows_{scores.data(),
                problem.y.data(),
                problem.targets.empty() ? nullptr : problem.targets.data(),
                problem.weights.empty() ? nullptr : problem.weights.data(),
                problem.cost_negative,
                problem.cost_positive},
          size_(static_cast<Row>(scores.size())) {}

    Row size() const noexcept { return size_; }

    std::size_t read(Row begin, Row end, Margins& to) const noexcept {
        const std::size_t n = index(end - begin);
        simd::read_margins(rows_, shift, index(begin), n, to);
        return n;
    }

    double sign(std::size_t i) const noexcept { return rows_.y[i]; }

    double shift = 0.0;

private:
    simd::LossRows rows_;
    Row size_;
};

constexpr std::size_t lanes = 8;
using Lanes = std::array<double, lanes>;

// In an order that vector instructions can follow.
void add_block(const double* block, Lanes& sums) noexcept {
    for (std::size_t i = 0; i < loss_rows; i += lanes)
        for (std::size_t l = 0; l < lanes; ++l) sums[l] += block[i + l];
}

double total(const Lanes& sums) noexcept {
    double out = 0.0;
    for (const double lane : sums) out += lane;
    return out;
}

using Partial = std::array<double, 4>;

// Adds up what each(begin, end, sums) finds in pieces of the rows; pieces are added in order.
template <class Each>
Partial add_up(Row n_rows, int n_threads, const Each& each) {
    std::vector<Partial> found(index(n_pieces(n_rows, per_task)));
    parallel_pieces(0, n_rows, per_task, n_threads, [&](Row begin, Row end) {
        std::array<Lanes, 4> sums{};
        for_each_piece(begin, end, static_cast<Row>(loss_rows),
                       [&](Row first, Row last) { each(first, last, sums); });
        Partial& own = found[index(begin / per_task)];
        for (std::size_t k = 0; k < own.size(); ++k) own[k] = total(sums[k]);
    });
    Partial all{};
    for (const Partial& own : found)
        for (std::size_t k = 0; k < own.size(); ++k) all[k] += own[k];
    return all;
}

Loops checked(const AnyLoss& loss, const DualProblem& problem, std::span<const double> scores) {
    must_be("the number of scores, one per row,", scores.size(), problem.y.size());
    const Loops loops = loops_of(loss);
    must(loops.terms != nullptr, "the loss is not smooth");
    return loops;
}

// Sums of the derivatives by a shift.
Partial slopes_of_shift(Evaluate derivatives, const ScoredRows& rows, int n_threads) {
    return add_up(rows.size(), n_threads, [&](Row begin, Row end, auto& sums) {
        Margins at;
        LossTerms terms;
        const std::size_t n = rows.read(begin, end, at);
        derivatives(at, terms);
        for (std::size_t i = 0; i < n; ++i) {
            const double y = rows.sign(index(begin) + i);
            terms.slope[i] *= y;
            terms.third[i] *= y;
        }
        add_block(terms.slope, sums[0]);
        add_block(terms.bend, sums[1]);
        add_block(terms.third, sums[2]);
    });
}

// Halley's step to a root of the slope, or Newton's where the third derivative misleads it.
double step_down(const Partial& sums) noexcept {
    const auto [slope, bend, third, unused] = sums;
    if (!(bend > 0.0)) return slope > 0.0 ? -1.0 : slope < 0.0 ? 1.0 : -slope;
    const double newton = -slope / bend;
    const double factor = 1.0 + 0.5 * newton * third / bend;
    return std::clamp(factor > 0.5 && factor < 2.0 ? newton / factor : newton, -1.0, 1.0);
}

}  // namespace

bool is_smooth(const AnyLoss& loss) { return loops_of(loss).terms != nullptr; }

double loss_value(const AnyLoss& loss, const DualProblem& problem, std::span<const double> scores,
                  int n_threads) {
    const Loops loops = checked(loss, problem, scores);
    const ScoredRows rows{problem, scores};
    const Partial found = add_up(rows.size(), n_threads, [&](Row begin, Row end, auto& sums) {
        Margins at;
        LossTerms terms;
        rows.read(begin, end, at);
        loops.terms(at, terms);
        add_block(terms.value, sums[0]);
    });
    return found[0];
}

std::vector<double> loss_each(const AnyLoss& loss, const DualProblem& problem,
                              std::span<const double> scores, int n_threads) {
    const Loops loops = checked(loss, problem, scores);
    const ScoredRows rows{problem, scores};
    std::vector<double> out(scores.size());
    parallel_pieces(0, rows.size(), per_task, n_threads, [&](Row begin, Row end) {
        for_each_piece(begin, end, static_cast<Row>(loss_rows), [&](Row first, Row last) {
            Margins at;
            LossTerms terms;
            const std::size_t n = rows.read(first, last, at);
            loops.terms(at, terms);
            std::copy_n(terms.value, n, &out[index(first)]);
        });
    });
    return out;
}

LossSums loss_sums(const AnyLoss& loss, const DualProblem& problem, std::span<const double> scores,
                   int n_threads) {
    const Loops loops = checked(loss, problem, scores);
    const ScoredRows rows{problem, scores};
    LossSums out{0.0, std::vector<double>(scores.size()), std::vector<double>(scores.size())};
    const Partial found = add_up(rows.size(), n_threads, [&](Row begin, Row end, auto& sums) {
        Margins at;
        LossTerms terms;
        const std::size_t n = rows.read(begin, end, at);
        loops.terms(at, terms);
        add_block(terms.value, sums[0]);
        double* slopes = &out.slopes[index(begin)];
        for (std::size_t i = 0; i < n; ++i)
            slopes[i] = rows.sign(index(begin) + i) * terms.slope[i];
        std::copy_n(terms.bend, n, &out.bends[index(begin)]);
    });
    out.value = found[0];
    return out;
}

double loss_shift(const AnyLoss& loss, const DualProblem& problem, std::span<const double> scores,
                  const ShiftLimits& limits, int n_threads) {
    ScoredRows rows{problem, scores};
    const Loops loops = checked(loss, problem, scores);
    for (int k = 0; k < limits.max_steps; ++k) {
        const Partial sums = slopes_of_shift(loops.derivatives, rows, n_threads);
        if (loops.is_quadratic) return sums[1] > 0.0 ? -sums[0] / sums[1] : 0.0;
        const double step = step_down(sums);
        rows.shift += step;
        if (std::abs(step) <= limits.last || std::abs(rows.shift) > limits.farthest) break;
    }
    return rows.shift;
}

}  // namespace splinear
