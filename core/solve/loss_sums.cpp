#include "solve/loss_sums.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>

#include "rows/row.hpp"
#include "simd/losses.hpp"
#include "solve/block_sums.hpp"
#include "support/checks.hpp"
#include "support/pieces.hpp"

namespace splinear {
namespace {

using simd::loss_rows;
using simd::LossTerms;
using simd::Margins;

using Evaluate = void (*)(const Margins&, LossTerms&);

// The inner loops of a loss; null if it is not smooth.
struct Loops {
    Evaluate terms;        // value and derivatives
    Evaluate derivatives;  // derivatives only, which is cheaper
    bool is_quadratic;
};

Loops loops_of(const AnyLoss& loss) {
    if (std::holds_alternative<Logistic>(loss))
        return {&simd::logistic_terms, &simd::logistic_derivatives, false};
    if (std::holds_alternative<SquaredError>(loss))
        return {&simd::squared_error_terms, &simd::squared_error_terms, true};
    return {nullptr, nullptr, false};
}

// The rows of a problem at the given scores, plus a common shift.
class ScoredRows {
public:
    ScoredRows(const DualProblem& problem, std::span<const double> scores)
        : rows_(loss_rows_of(problem, scores.data())), size_(static_cast<Row>(scores.size())) {}

    Row size() const noexcept { return size_; }

    // Reads margins and costs of a block of at most loss_rows rows; returns their number. The rest
    // of the block gets cost 0.
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

using Partial = std::array<double, 4>;  // of which callers use one to three

// Returns the loops of the loss, after checking the arguments.
Loops checked(const AnyLoss& loss, const DualProblem& problem, std::span<const double> scores) {
    must_be("the number of scores, one per row,", scores.size(), problem.y.size());
    const Loops loops = loops_of(loss);
    must(loops.terms != nullptr, "the loss is not smooth");
    return loops;
}

// p log(p / q) - p + q with q = 1 / (1 + exp(m)), and off = p - q. Uses a series for small off / q,
// where the terms would cancel.
double divergence(double p, double off, double m) noexcept {
    const double e = std::exp(-std::abs(m));
    const double q = (m > 0.0 ? e : 1.0) / (1.0 + e);
    const double t = off / std::max(q, std::numeric_limits<double>::min());
    if (std::abs(t) < 1e-3) return q * t * t * (0.5 - t * (1.0 / 6.0 - t * (1.0 / 12.0)));
    const double minus_log_q = std::max(0.0, m) + std::log1p(e);
    const double entropy = p > 0.0 ? -p * std::log(p) : 0.0;
    return std::max(0.0, p * minus_log_q - entropy - off);
}

// The contribution to loss_gap() of a row with dual variable alpha, margin m and cost c > 0. For
// the logistic loss it is c times the Kullback-Leibler divergence of alpha / c from the predicted
// probability.
double gap_of(bool is_quadratic, double alpha, double m, double c) noexcept {
    constexpr double rounding = 1e-12;  // of c, by which alpha may be infeasible
    if (is_quadratic) {
        const double off = alpha + c * m;
        return 0.5 * off * off / c;
    }
    const double p = std::clamp(alpha / c, 0.0, 1.0);
    if (!(std::abs(alpha - c * p) <= rounding * c)) return std::numeric_limits<double>::infinity();
    const double e = std::exp(-std::abs(m));
    const double off = p - (m > 0.0 ? e : 1.0) / (1.0 + e);
    return c * (divergence(p, off, m) + divergence(1.0 - p, -off, -m));
}

// The first three derivatives of L(F + b) with respect to b, at b = rows.shift.
Partial slopes_of_shift(Evaluate derivatives, const ScoredRows& rows, int n_threads) {
    return add_up<4>(rows.size(), n_threads, [&](Row begin, Row end, auto& sums) {
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

// Halley's step toward a root of the slope, or Newton's where the third derivative would change it
// by more than a factor of 2; no longer than 1.
double step_down(const Partial& sums) noexcept {
    const auto [slope, bend, third, unused] = sums;
    if (!(bend > 0.0)) return slope > 0.0 ? -1.0 : slope < 0.0 ? 1.0 : -slope;
    const double newton = -slope / bend;
    const double factor = 1.0 + 0.5 * newton * third / bend;
    return std::clamp(factor > 0.5 && factor < 2.0 ? newton / factor : newton, -1.0, 1.0);
}

}  // namespace

void move_scores(std::span<const double> scores, std::span<const double> moves, double share,
                 int n_threads, double* out) {
    parallel_pieces(0, std::ssize(scores), std::ptrdiff_t{rows_per_sum_task}, n_threads,
                    [&](std::ptrdiff_t first, std::ptrdiff_t last) {
                        for (auto i = index(first); i < index(last); ++i)
                            out[i] = scores[i] + share * moves[i];
                    });
}

void add_levels(std::span<const double> levels, std::size_t n_rows, int n_threads, double* scores) {
    for (const double level : levels) {
        parallel_pieces(0, static_cast<std::ptrdiff_t>(n_rows), std::ptrdiff_t{rows_per_sum_task},
                        n_threads, [&](std::ptrdiff_t first, std::ptrdiff_t last) {
                            for (std::ptrdiff_t i = first; i < last; ++i) scores[i] += level;
                        });
        scores += n_rows;
    }
}

std::vector<double> row_sums(std::span<const double> numbers, std::size_t n_outputs,
                             int n_threads) {
    std::vector<double> out;
    const std::size_t n_rows = n_outputs == 0 ? 0 : numbers.size() / n_outputs;
    for (std::size_t k = 0; k < n_outputs; ++k) {
        const double* own = numbers.data() + k * n_rows;
        const auto add = [&](Row begin, Row end, auto& sums) {
            const auto n = index(end - begin);
            const double* from = own + begin;
            std::size_t i = 0;
            for (; i + sum_lanes <= n; i += sum_lanes)
                for (std::size_t l = 0; l < sum_lanes; ++l) sums[0][l] += from[i + l];
            for (std::size_t l = 0; i + l < n; ++l) sums[0][l] += from[i + l];
        };
        out.push_back(add_up<1>(static_cast<Row>(n_rows), n_threads, add)[0]);
    }
    return out;
}

bool is_smooth(const AnyLoss& loss) { return loops_of(loss).terms != nullptr; }

double loss_value(const AnyLoss& loss, const DualProblem& problem, std::span<const double> scores,
                  int n_threads) {
    const Loops loops = checked(loss, problem, scores);
    const ScoredRows rows{problem, scores};
    const Partial found = add_up<4>(rows.size(), n_threads, [&](Row begin, Row end, auto& sums) {
        Margins at;
        LossTerms terms;
        rows.read(begin, end, at);
        loops.terms(at, terms);
        add_block(terms.value, sums[0]);
    });
    return found[0];
}

Buffer<double> loss_each(const AnyLoss& loss, const DualProblem& problem,
                         std::span<const double> scores, int n_threads) {
    const Loops loops = checked(loss, problem, scores);
    const ScoredRows rows{problem, scores};
    Buffer<double> out(scores.size());
    parallel_pieces(0, rows.size(), rows_per_sum_task, n_threads, [&](Row begin, Row end) {
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
    LossSums out{0.0, Buffer<double>(scores.size()), Buffer<double>(scores.size())};
    const Partial found = add_up<4>(rows.size(), n_threads, [&](Row begin, Row end, auto& sums) {
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

Buffer<double> cautious_bends(const AnyLoss& loss, const DualProblem& problem,
                              std::span<const double> scores, double far, int n_threads) {
    const Loops loops = checked(loss, problem, scores);
    const ScoredRows rows{problem, scores};
    Buffer<double> out(scores.size());
    const auto bends_of = [&](Row first, Row last) {
        Margins at;
        LossTerms terms;
        const std::size_t n = rows.read(first, last, at);
        loops.derivatives(at, terms);
        for (std::size_t i = 0; i < n; ++i) {
            const double m = at.margin[i];
            // The slopes of the logistic loss at m and -m sum to -c, so the parabola's second
            // derivative is (slope(m) - slope(-m)) / (2 m) = (2 slope(m) + c) / (2 m).
            const bool is_far = !loops.is_quadratic && m < -far;
            out[index(first) + i] =
                is_far ? (2.0 * terms.slope[i] + at.cost[i]) / (2.0 * m) : terms.bend[i];
        }
    };
    parallel_pieces(0, rows.size(), rows_per_sum_task, n_threads, [&](Row begin, Row end) {
        for_each_piece(begin, end, static_cast<Row>(loss_rows), bends_of);
    });
    return out;
}

Buffer<double> missing_bends(const AnyLoss& loss, const DualProblem& problem,
                             std::span<const double> scores, std::span<const double> moves,
                             std::span<const double> bends, double farthest, int n_threads) {
    const Loops loops = checked(loss, problem, scores);
    must_be("the number of moves, one per row,", moves.size(), scores.size());
    must_be("the number of bends, one per row,", bends.size(), scores.size());
    Buffer<double> there(scores.size());
    Buffer<double> out(scores.size());
    const ScoredRows rows{problem, scores};
    const ScoredRows moved{problem, there};
    const auto bends_of = [&](Row first, Row last) {
        const auto move = [&](std::size_t i) { return std::clamp(moves[i], -farthest, farthest); };
        for (auto i = index(first); i < index(last); ++i) there[i] = scores[i] + move(i);
        Margins at;
        LossTerms before;
        LossTerms after;
        rows.read(first, last, at);
        loops.terms(at, before);
        const std::size_t n = moved.read(first, last, at);
        loops.terms(at, after);
        for (std::size_t k = 0; k < n; ++k) {
            const std::size_t i = index(first) + k;
            const double D = move(i);
            const double rise =
                after.value[k] - before.value[k] - rows.sign(i) * before.slope[k] * D;
            const double said = 0.5 * bends[i] * D * D;
            const double square = std::max(D * D, std::numeric_limits<double>::min());
            out[i] = rise > 2.0 * said ? 2.0 * (rise - said) / square : 0.0;
        }
    };
    parallel_pieces(0, rows.size(), rows_per_sum_task, n_threads, [&](Row begin, Row end) {
        for_each_piece(begin, end, static_cast<Row>(loss_rows), bends_of);
    });
    return out;
}

double loss_gap(const AnyLoss& loss, const DualProblem& problem, std::span<const double> scores,
                std::span<const double> slopes, int n_threads) {
    const Loops loops = checked(loss, problem, scores);
    must_be("the number of slopes, one per row,", slopes.size(), scores.size());
    const ScoredRows rows{problem, scores};
    const auto found = add_up<1>(rows.size(), n_threads, [&](Row begin, Row end, auto& sums) {
        Margins at;
        const std::size_t n = rows.read(begin, end, at);
        for (std::size_t i = 0; i < n; ++i) {
            const double alpha = -rows.sign(index(begin) + i) * slopes[index(begin) + i];
            const double c = at.cost[i];
            sums[0][i % sum_lanes] +=
                c > 0.0 ? gap_of(loops.is_quadratic, alpha, at.margin[i], c) : 0.0;
        }
    });
    return found[0];
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
