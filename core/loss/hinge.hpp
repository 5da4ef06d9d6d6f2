// The hinge loss, as dual coordinate descent needs it.
#pragma once

#include <algorithm>

namespace splinear {

// loss(m) = max(0, 1 - m) of the margin m = y f(x), at cost c. Its dual variable is 0 <= alpha <= c
// and adds alpha to the dual objective.
struct Hinge {
    static double value(double margin) noexcept { return std::max(0.0, 1.0 - margin); }

    static double dual(double alpha, double) noexcept { return alpha; }

    // The alpha that maximises the dual along this coordinate, whose curvature is q.
    static double step(double alpha, double margin, double q, double c) noexcept {
        return std::clamp(alpha + (1.0 - margin) / q, 0.0, c);
    }

    // d(dual)/d(alpha): positive if alpha wants to grow.
    static double slope(double, double margin, double) noexcept { return 1.0 - margin; }

    // This row's part of the duality gap, c loss(m) - alpha (1 - m) >= 0, without cancellation.
    static double gap(double alpha, double margin, double c) noexcept {
        const double short_of_one = 1.0 - margin;
        return short_of_one > 0.0 ? (c - alpha) * short_of_one : alpha * -short_of_one;
    }
};

}  // namespace splinear
