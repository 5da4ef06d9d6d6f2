#include "check.hpp"
#include "loss/any.hpp"

using namespace splinear;
using splinear::testing::near;

namespace {

// The dual along one coordinate, as a function of where that coordinate goes.
template <DualLoss Loss>
double along(double to, double from, double margin, double q, double c) {
    const double step = to - from;
    return Loss::dual(to, c) - step * margin - 0.5 * q * step * step;
}

template <DualLoss Loss>
void step_is_best(double alpha, double margin, double q, double c, double upper) {
    const double best = Loss::step(alpha, margin, q, c);
    CHECK(best >= 0.0 && best <= upper);
    const double top = along<Loss>(best, alpha, margin, q, c);
    constexpr int n = 500;
    for (int i = 0; i <= n; ++i) {
        const double other = upper * i / n;
        // Rounding alone may put another place on top.
        CHECK(along<Loss>(other, alpha, margin, q, c) <= top + 1e-12 * (1.0 + std::abs(top)));
    }
}

template <DualLoss Loss>
void gap_is_what_it_says(double alpha, double margin, double c) {
    const double gap = Loss::gap(alpha, margin, c);
    CHECK(gap >= 0.0);
    CHECK(near(gap, c * Loss::value(margin) - Loss::dual(alpha, c) + alpha * margin));
}

template <DualLoss Loss>
void slope_is_the_derivative(double alpha, double margin, double c) {
    constexpr double h =
        1e-4;  // the dual is quadratic: central differences are exact but for rounding
    const double rise = Loss::dual(alpha + h, c) - Loss::dual(alpha - h, c);
    CHECK(near(Loss::slope(alpha, margin, c), rise / (2.0 * h) - margin, 1e-9));
}

// `reach`: the largest alpha to try, as a multiple of c.
template <DualLoss Loss>
void holds_on_a_grid(double reach) {
    for (const double c : {0.01, 1.0, 30.0})
        for (const double share : {0.0, 0.3, 1.0})
            for (const double margin : {-2.0, -0.1, 0.0, 0.9, 1.0, 1.1, 5.0}) {
                const double alpha = share * c;
                gap_is_what_it_says<Loss>(alpha, margin, c);
                slope_is_the_derivative<Loss>(alpha, margin, c);
                for (const double q : {0.1, 1.0, 20.0})
                    step_is_best<Loss>(alpha, margin, q, c, reach * c);
            }
}

void values_are_known() {
    CHECK(Hinge::value(-1.0) == 2.0 && Hinge::value(1.0) == 0.0 && Hinge::value(3.0) == 0.0);
    CHECK(SquaredHinge::value(-1.0) == 4.0 && SquaredHinge::value(0.5) == 0.25);
    CHECK(SquaredHinge::value(3.0) == 0.0);
    CHECK(Hinge::dual(0.7, 2.0) == 0.7);
    CHECK(near(SquaredHinge::dual(2.0, 4.0), 1.75));
}

// The gap of a row vanishes where, and only where, its alpha and margin satisfy the optimality
// conditions; close to that it is small and not the difference of two large numbers.
void gap_vanishes_at_the_optimum() {
    CHECK(Hinge::gap(0.0, 1.5, 2.0) == 0.0);
    CHECK(Hinge::gap(2.0, 0.5, 2.0) == 0.0);
    CHECK(Hinge::gap(0.7, 1.0, 2.0) == 0.0);
    CHECK(Hinge::gap(1.0, 1.5, 2.0) > 0.0);
    CHECK(Hinge::gap(1.0, 0.5, 2.0) > 0.0);
    CHECK(SquaredHinge::gap(0.0, 1.5, 2.0) == 0.0);
    CHECK(SquaredHinge::gap(2.0, 0.5, 2.0) == 0.0);
    CHECK(SquaredHinge::gap(1.0, 0.5, 2.0) > 0.0);
    CHECK(near(Hinge::gap(1e8, 1.0 + 0x1p-40, 2e8) / (1e8 * 0x1p-40), 1.0));
}

}  // namespace

int main() {
    values_are_known();
    gap_vanishes_at_the_optimum();
    holds_on_a_grid<Hinge>(1.0);
    holds_on_a_grid<SquaredHinge>(10.0);
    return splinear::testing::result();
}
