// The hinge loss, as dual coordinate descent needs it.
#pragma once

#include <algorithm>

namespace splinear {

// loss(m) = max(0, 1 - m) of the margin m = y f(x), at cost c. Its dual variable is 0 <= alpha <= c
// and adds alpha to the dual objective.
struct Hinge {
    double value(double margin) const noexcept { return std::max(0.0, 1.0 - margin); }

    double dual(double alpha, double) const noexcept { return alpha; }

    // The feasible dual variable that is nearest to alpha.
    double nearest(double alpha, double c) const noexcept { return std::clamp(alpha, 0.0, c); }

    // The alpha that maximizes the dual along this coordinate, whose curvature is q.
    double step(double alpha, double margin, double q, double c) const noexcept {
        return std::clamp(alpha + (1.0 - margin) / q, 0.0, c);
    }

    // Whether that step would not move.
    bool at_rest(double alpha, double margin, double q, double c) const noexcept {
        return step(alpha, margin, q, c) == alpha;
    }

    // d(dual)/d(alpha): positive if alpha wants to grow.
    double slope(double, double margin, double) const noexcept { return 1.0 - margin; }

    // This row's part of the duality gap, c loss(m) - dual(alpha) + alpha m >= 0, without
    // cancellation.
    double gap(double alpha, double margin, double c) const noexcept {
        const double short_of_one = 1.0 - margin;
        return short_of_one > 0.0 ? (c - alpha) * short_of_one : alpha * -short_of_one;
    }
};

}  // namespace splinear
