#include "solve/margin_sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <variant>

#include "simd/ramps.hpp"
#include "solve/block_sums.hpp"
#include "support/checks.hpp"

namespace splinear {
namespace {

using simd::loss_rows;
using simd::Margins;
using simd::Ramp;
using simd::RampLoss;
using simd::RampTerms;

Ramp ramp_of(const AnyLoss& loss, const RampShape& shape) {
    const auto as = [&](RampLoss kind, double epsilon) {
        return Ramp{kind, epsilon, shape.width, shape.low, shape.high};
    };
    if (std::holds_alternative<Hinge>(loss)) return as(RampLoss::hinge, 0.0);
    if (std::holds_alternative<SquaredHinge>(loss)) return as(RampLoss::squared_hinge, 0.0);
    const auto* tube = std::get_if<EpsilonInsensitive>(&loss);
    must(tube != nullptr, "the loss has no ramp");
    return as(RampLoss::epsilon_insensitive, tube->epsilon);
}

// A block of n <= loss_rows rows; the rest of the arrays has cost 0 and y = 0.
struct Block {
    Margins at;
    double y[loss_rows];
    std::size_t n;
};

class RampRows {
public:
    RampRows(const DualProblem& problem, std::span<const double> scores)
        : rows_(loss_rows_of(problem, scores.data())), size_(static_cast<Row>(scores.size())) {
        must_be("the number of scores, one per row,", scores.size(), problem.y.size());
    }

    Row size() const noexcept { return size_; }

    void read(Row begin, Row end, Block& to) const noexcept {
        to.n = index(end - begin);
        simd::read_margins(rows_, 0.0, index(begin), to.n, to.at);
        for (std::size_t i = 0; i < to.n; ++i) to.y[i] = rows_.y[index(begin) + i];
        std::fill(to.y + to.n, to.y + loss_rows, 0.0);
    }

private:
    simd::LossRows rows_;
    Row size_;
};

// Adds the number of rows on the ramp, and their |slope|, to the sums of their side.
void add_sides(const Ramp& ramp, const Block& block, const RampTerms& terms, Lanes* sums) noexcept {
    double side[4][loss_rows];
    const bool by_slope = ramp.loss == RampLoss::epsilon_insensitive;
    for (std::size_t i = 0; i < loss_rows; ++i) {
        const double bent = terms.bend[i] > 0.0 && block.at.cost[i] > 0.0 ? 1.0 : 0.0;
        const double size = bent * std::fabs(terms.slope[i]);
        const double which = by_slope ? -terms.slope[i] : block.y[i];
        const double second = which > 0.0 ? 1.0 : 0.0;
        side[0][i] = bent - bent * second;
        side[1][i] = bent * second;
        side[2][i] = size - size * second;
        side[3][i] = size * second;
    }
    for (std::size_t k = 0; k < 4; ++k) add_block(side[k], sums[k]);
}

// The feasible range of a dual variable, per unit of cost.
struct Range {
    double low;
    double high;
};

Range range_of(RampLoss loss) noexcept {
    if (loss == RampLoss::hinge) return {0.0, 1.0};
    if (loss == RampLoss::squared_hinge) return {0.0, std::numeric_limits<double>::infinity()};
    return {-1.0, 1.0};
}

}  // namespace

RampMeasures ramp_measures(const AnyLoss& loss, const DualProblem& problem, const RampShape& shape,
                           std::span<const double> scores, int n_threads, double* slopes) {
    const Ramp ramp = ramp_of(loss, shape);
    const RampRows rows(problem, scores);
    const auto found = add_up<6>(rows.size(), n_threads, [&](Row begin, Row end, auto& sums) {
        Block block;
        RampTerms terms;
        double alpha[loss_rows];
        rows.read(begin, end, block);
        simd::ramp_slopes(ramp, block.at, block.y, terms);
        for (std::size_t i = 0; i < loss_rows; ++i) alpha[i] = block.at.cost[i] * terms.slope[i];
        simd::ramp_gaps(ramp, block.at, alpha, terms);
        for (std::size_t i = 0; i < block.n; ++i) slopes[index(begin) + i] = -block.y[i] * alpha[i];
        add_block(terms.value, sums[0]);
        add_block(terms.gap, sums[1]);
        add_sides(ramp, block, terms, &sums[2]);
    });
    return {found[0], found[1], {found[2], found[3]}, {found[4], found[5]}};
}

void ramp_bends(const AnyLoss& loss, const DualProblem& problem, const RampShape& shape,
                std::span<const double> scores, int n_threads, double* bends) {
    const Ramp ramp = ramp_of(loss, shape);
    const RampRows rows(problem, scores);
    parallel_pieces(0, rows.size(), rows_per_sum_task, n_threads, [&](Row from, Row to) {
        for_each_piece(from, to, static_cast<Row>(loss_rows), [&](Row begin, Row end) {
            Block block;
            RampTerms terms;
            rows.read(begin, end, block);
            simd::ramp_slopes(ramp, block.at, block.y, terms);
            for (std::size_t i = 0; i < block.n; ++i)
                bends[index(begin) + i] = block.at.cost[i] * terms.bend[i];
        });
    });
}

std::vector<double> ramp_along(const AnyLoss& loss, const DualProblem& problem,
                               const RampShape& shape, std::span<const double> scores,
                               std::span<const double> moves, std::span<const double> shares,
                               int n_threads) {
    const Ramp ramp = ramp_of(loss, shape);
    const RampRows rows(problem, scores);
    must_be("the number of moves, one per row,", moves.size(), scores.size());
    const std::size_t n = shares.size();
    std::vector<double> found(index(n_pieces(rows.size(), rows_per_sum_task)) * n);
    parallel_pieces(0, rows.size(), rows_per_sum_task, n_threads, [&](Row from, Row to) {
        double* own = &found[index(from / rows_per_sum_task) * n];
        for_each_piece(from, to, static_cast<Row>(loss_rows), [&](Row begin, Row end) {
            Block block;
            double d[loss_rows] = {};
            rows.read(begin, end, block);
            for (std::size_t i = 0; i < block.n; ++i) d[i] = block.y[i] * moves[index(begin) + i];
            for (std::size_t k = 0; k < n; ++k)
                own[k] -= simd::slope_along(ramp, block.at, block.y, d, shares[k]);
        });
    });
    std::vector<double> out(n);
    for (std::size_t k = 0; k < found.size(); ++k) out[k % n] += found[k];
    return out;
}

std::array<double, 2> ramp_gaps(const AnyLoss& loss, const DualProblem& problem,
                                std::span<const double> scores, std::span<const double> slopes,
                                int n_threads) {
    constexpr double rounding = 1e-12;  // of the cost, by which a slope may be infeasible
    const Ramp ramp = ramp_of(loss, {1.0, 0.0, 0.0});
    const Range range = range_of(ramp.loss);
    const RampRows rows(problem, scores);
    must_be("the number of slopes, one per row,", slopes.size(), scores.size());
    return add_up<2>(rows.size(), n_threads, [&](Row begin, Row end, auto& sums) {
        Block block;
        RampTerms terms;
        double alpha[loss_rows] = {};
        rows.read(begin, end, block);
        bool is_feasible = true;
        for (std::size_t i = 0; i < block.n; ++i) {
            const double c = block.at.cost[i];
            const double given = -block.y[i] * slopes[index(begin) + i];
            const double high = range.high < 2.0 ? c : range.high;
            alpha[i] = std::clamp(given, range.low * c, high);
            is_feasible = is_feasible && std::abs(given - alpha[i]) <= rounding * c;
        }
        simd::ramp_gaps(ramp, block.at, alpha, terms);
        add_block(terms.value, sums[0]);
        add_block(terms.gap, sums[1]);
        if (!is_feasible) sums[1][0] = std::numeric_limits<double>::infinity();
    });
}

}  // namespace splinear
