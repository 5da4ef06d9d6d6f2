#include <cmath>

#include "solve/cost_path.hpp"
#include "tests/check.hpp"

using namespace splinear;
using splinear::testing::near;

namespace {

// The top of -(x - top)^2, inside the interval and beyond its ends.
void finds_the_top() {
    for (const double top : {-1.0, 0.0, 0.2, 0.5, 0.83, 1.0, 2.0}) {
        const double expected = std::fmin(std::fmax(top, 0.0), 1.0);
        const double found =
            highest_in_unit_interval([&](double x) { return -(x - top) * (x - top); });
        CHECK(near(found, expected, 0.01));
    }
}

void the_ends_are_exact() {
    CHECK(highest_in_unit_interval([](double x) { return x; }) == 1.0);
    CHECK(highest_in_unit_interval([](double x) { return -x; }) == 0.0);
}

}  // namespace

int main() {
    finds_the_top();
    the_ends_are_exact();
    return splinear::testing::result();
}
