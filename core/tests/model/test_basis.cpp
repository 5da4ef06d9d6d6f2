#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "model/basis/any.hpp"
#include "tests/check.hpp"

using namespace splinear;
using splinear::testing::near;

namespace {

template <int Degree>
void sums_to_one() {
    const BSpline<Degree> basis{7};
    CHECK(basis.size() == 7 + Degree);
    CHECK(basis.support() == Degree + 1);
    std::array<double, Degree + 1> w;
    for (int i = 0; i <= 700; ++i) {
        const double t = i / 100.0;
        const int first = basis.evaluate(t, w.data());
        CHECK(first >= 0 && first + basis.support() <= basis.size());
        CHECK(first == std::min(static_cast<int>(t), 6));
        CHECK(near(std::accumulate(w.begin(), w.end(), 0.0), 1.0, 1e-15));
        for (const double v : w) CHECK(v >= -1e-16);  // the last weight is one minus the others
    }
}

// The B-spline of degree r is r - 1 times differentiable, across knots too.
template <int Degree>
void is_continuous_at_knots() {
    const BSpline<Degree> basis{4};
    std::array<double, Degree + 1> left;
    std::array<double, Degree + 1> right;
    BSpline<Degree>::weights(1.0, left.data());
    BSpline<Degree>::weights(0.0, right.data());
    for (std::size_t k = 0; k < Degree; ++k) CHECK(near(left[k + 1], right[k], 1e-15));
    CHECK(left[0] == 0.0);
    CHECK(near(right[Degree], 0.0, 1e-15));
    CHECK(basis.evaluate(4.0, left.data()) == 3);  // the right end belongs to the last bin
}

template <int Degree>
void weighs(double a, const std::array<double, Degree + 1>& expected) {
    std::array<double, Degree + 1> w;
    BSpline<Degree>::weights(a, w.data());
    for (std::size_t k = 0; k <= Degree; ++k) CHECK(near(w[k], expected[k], 1e-15));
}

void bsplines_have_their_known_values() {
    weighs<0>(0.7, {1.0});
    weighs<1>(0.25, {0.75, 0.25});
    weighs<2>(0.0, {0.5, 0.5, 0.0});
    weighs<2>(0.5, {0.125, 0.75, 0.125});
    weighs<3>(0.0, {1.0 / 6, 4.0 / 6, 1.0 / 6, 0.0});
    weighs<3>(0.5, {1.0 / 48, 23.0 / 48, 23.0 / 48, 1.0 / 48});
    weighs<3>(1.0, {0.0, 1.0 / 6, 4.0 / 6, 1.0 / 6});
}

void fourier_is_cosines_and_sines() {
    const Fourier basis{30};
    CHECK(basis.size() == 60 && basis.support() == 60);
    std::vector<double> w(60);
    for (int i = -20; i <= 20; ++i) {
        const double x = i / 20.0;
        CHECK(basis.evaluate(x, w.data()) == 0);
        for (int n = 1; n <= 30; ++n) {
            const double angle = n * std::numbers::pi * x;
            const auto k = static_cast<std::size_t>(2 * n - 2);
            CHECK(near(w[k], std::cos(angle), 1e-13));
            CHECK(near(w[k + 1], std::sin(angle), 1e-13));
        }
    }
}

void hermite_has_its_known_polynomials() {
    const Hermite basis{6};
    CHECK(basis.size() == 6 && basis.support() == 6);
    std::array<double, 6> w;
    for (const double x : {-3.0, -1.0, -0.3, 0.0, 0.5, 1.0, 2.5}) {
        CHECK(basis.evaluate(x, w.data()) == 0);
        const double x2 = x * x;
        CHECK(w[0] == x);
        CHECK(near(w[1], x2 - 1));
        CHECK(near(w[2], x * (x2 - 3)));
        CHECK(near(w[3], x2 * x2 - 6 * x2 + 3));
        CHECK(near(w[4], x * (x2 * x2 - 10 * x2 + 15)));
        CHECK(near(w[5], x2 * x2 * x2 - 15 * x2 * x2 + 45 * x2 - 15));
    }
    double only = 0.0;
    Hermite{1}.evaluate(0.25, &only);
    CHECK(only == 0.25);
}

void samples_are_met_and_joined_by_lines() {
    const Sampled basis(2, {0.0, 1.0, 2.0, -1.0, 8.0, 5.0});  // at -1, 0 and 1
    CHECK(basis.size() == 2 && basis.support() == 2);
    const auto is = [&](double x, double first, double second) {
        std::array<double, 2> w;
        CHECK(basis.evaluate(x, w.data()) == 0);
        CHECK(near(w[0], first) && near(w[1], second));
    };
    is(-1.0, 0.0, 1.0);
    is(-0.75, 0.5, 0.5);
    is(0.0, 2.0, -1.0);
    is(0.5, 5.0, 2.0);
    is(1.0, 8.0, 5.0);
}

}  // namespace

int main() {
    sums_to_one<0>();
    sums_to_one<1>();
    sums_to_one<2>();
    sums_to_one<3>();
    is_continuous_at_knots<1>();
    is_continuous_at_knots<2>();
    is_continuous_at_knots<3>();
    bsplines_have_their_known_values();
    fourier_is_cosines_and_sines();
    hermite_has_its_known_polynomials();
    samples_are_met_and_joined_by_lines();
    CHECK(basis_size(AnyBasis(BSpline<2>{5})) == 7);
    CHECK(basis_size(AnyBasis(Fourier{5})) == 10);
    return splinear::testing::result();
}
