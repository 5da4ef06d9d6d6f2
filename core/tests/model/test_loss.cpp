#include <algorithm>
#include <cmath>

#include "model/loss/any.hpp"
#include "tests/check.hpp"

using namespace splinear;
using splinear::testing::near;

namespace {

// The dual objective along one coordinate, as a function of that coordinate.
template <DualLoss Loss>
double along(const Loss& loss, double to, double from, double margin, double q, double c) {
    const double step = to - from;
    return loss.dual(to, c) - step * margin - 0.5 * q * step * step;
}

template <DualLoss Loss>
void step_is_best(const Loss& loss, double alpha, double margin, double q, double c, double lower,
                  double upper) {
    const double best = loss.step(alpha, margin, q, c);
    CHECK(best >= lower && best <= upper);
    const double top = along(loss, best, alpha, margin, q, c);
    constexpr int n = 500;
    for (int i = 0; i <= n; ++i) {
        const double other = lower + (upper - lower) * i / n;
        // The tolerance allows for rounding errors.
        CHECK(along(loss, other, alpha, margin, q, c) <= top + 1e-12 * (1.0 + std::abs(top)));
    }
}

template <DualLoss Loss>
void gap_is_what_it_says(const Loss& loss, double alpha, double margin, double c) {
    const double gap = loss.gap(alpha, margin, c);
    CHECK(gap >= 0.0);
    CHECK(near(gap, c * loss.value(margin) - loss.dual(alpha, c) + alpha * margin));
}

template <DualLoss Loss>
void nearest_is_feasible(const Loss& loss, double c, double lower, double upper) {
    for (const double alpha : {-2.0 * c, -0.5 * c, 0.0, 0.5 * c, c, 2.0 * c}) {
        const double nearest = loss.nearest(alpha, c);
        CHECK(nearest >= lower && nearest <= upper);
        if (alpha >= lower && alpha <= upper) CHECK(nearest == alpha);
    }
}

// lower, upper: the smallest and largest alpha to try, as multiples of c.
template <DualLoss Loss>
void holds_on_a_grid(const Loss& loss, double lower, double upper) {
    for (const double c : {0.01, 1.0, 30.0}) {
        nearest_is_feasible(loss, c, lower * c, upper * c);
        for (const double share : {0.0, 0.3, 1.0})
            for (const double margin : {-2.0, -0.1, 0.0, 0.9, 1.0, 1.1, 5.0}) {
                const double alpha = (lower + share * (std::min(upper, 1.0) - lower)) * c;
                gap_is_what_it_says(loss, alpha, margin, c);
                for (const double q : {0.1, 1.0, 20.0})
                    step_is_best(loss, alpha, margin, q, c, lower * c, upper * c);
            }
    }
}

// Where the dual is differentiable, slope() is its derivative.
template <DualLoss Loss>
void slope_is_the_derivative(const Loss& loss) {
    for (const double c : {0.5, 1.0, 30.0})
        for (const double share : {0.2, 0.5, 0.7})
            for (const double margin : {-2.0, 0.3, 5.0}) {
                const double alpha = share * c;
                const double h = 1e-5 * c;
                const double rise = loss.dual(alpha + h, c) - loss.dual(alpha - h, c);
                CHECK(near(loss.slope(alpha, margin, c), rise / (2.0 * h) - margin, 1e-7));
            }
}

void values_are_known() {
    CHECK(Hinge{}.value(-1.0) == 2.0 && Hinge{}.value(1.0) == 0.0 && Hinge{}.value(3.0) == 0.0);
    CHECK(SquaredHinge{}.value(-1.0) == 4.0 && SquaredHinge{}.value(0.5) == 0.25);
    CHECK(SquaredHinge{}.value(3.0) == 0.0);
    CHECK(Hinge{}.dual(0.7, 2.0) == 0.7);
    CHECK(near(SquaredHinge{}.dual(2.0, 4.0), 1.75));
}

// The gap of a row is 0 if and only if alpha and margin satisfy the optimality conditions; close to
// that it is accurate, not the difference of two large numbers.
void gap_vanishes_at_the_optimum() {
    CHECK(Hinge{}.gap(0.0, 1.5, 2.0) == 0.0);
    CHECK(Hinge{}.gap(2.0, 0.5, 2.0) == 0.0);
    CHECK(Hinge{}.gap(0.7, 1.0, 2.0) == 0.0);
    CHECK(Hinge{}.gap(1.0, 1.5, 2.0) > 0.0);
    CHECK(Hinge{}.gap(1.0, 0.5, 2.0) > 0.0);
    CHECK(SquaredHinge{}.gap(0.0, 1.5, 2.0) == 0.0);
    CHECK(SquaredHinge{}.gap(2.0, 0.5, 2.0) == 0.0);
    CHECK(SquaredHinge{}.gap(1.0, 0.5, 2.0) > 0.0);
    CHECK(near(Hinge{}.gap(1e8, 1.0 + 0x1p-40, 2e8) / (1e8 * 0x1p-40), 1.0));
    // 1/2 off^2 / (p (1 - p)), for p = 1/2.
    CHECK(near(Logistic{}.gap(0.5 + 0x1p-40, 0.0, 1.0) / 0x1p-79, 1.0));
    CHECK(Logistic{}.gap(0.0, 800.0, 1.0) == 0.0);
    CHECK(near(Logistic{}.gap(1.0, 800.0, 1.0), 800.0));
}

}  // namespace

int main() {
    values_are_known();
    gap_vanishes_at_the_optimum();
    holds_on_a_grid(Hinge{}, 0.0, 1.0);
    holds_on_a_grid(SquaredHinge{}, 0.0, 10.0);
    holds_on_a_grid(Logistic{}, 0.0, 1.0);
    holds_on_a_grid(SquaredError{}, -10.0, 10.0);
    holds_on_a_grid(EpsilonInsensitive{0.2}, -1.0, 1.0);
    slope_is_the_derivative(Hinge{});
    slope_is_the_derivative(SquaredHinge{});
    slope_is_the_derivative(Logistic{});
    slope_is_the_derivative(SquaredError{});
    return splinear::testing::result();
}
