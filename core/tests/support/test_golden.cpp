#include <cmath>

#include "support/golden.hpp"
#include "tests/check.hpp"

using namespace splinear;
using splinear::testing::near;

namespace {

// The maximum of -(x - top)^2, inside the interval and beyond its ends.
void finds_the_top() {
    for (const double top : {-1.0, 0.0, 0.2, 0.5, 0.83, 1.0, 2.0}) {
        const double expected = std::fmin(std::fmax(top, 0.0), 1.0);
        const auto f = [&](double x) { return -(x - top) * (x - top); };
        CHECK(near(highest_in_unit_interval(f, 9), expected, 0.01));
        CHECK(near(highest_in_unit_interval(f, 24), expected, 1e-5));
    }
}

void the_ends_are_exact() {
    CHECK(highest_in_unit_interval([](double x) { return x; }, 9) == 1.0);
    CHECK(highest_in_unit_interval([](double x) { return -x; }, 9) == 0.0);
}

}  // namespace

int main() {
    finds_the_top();
    the_ends_are_exact();
    return splinear::testing::result();
}
