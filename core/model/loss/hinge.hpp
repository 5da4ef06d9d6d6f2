// The hinge loss for dual coordinate descent. Describes the members that all losses have.
#pragma once

#include <algorithm>

namespace splinear {

// loss(m) = max(0, 1 - m) of the margin m = y f(x), with cost c. The dual variable satisfies
// 0 <= alpha <= c and contributes alpha to the dual objective.
struct Hinge {
    double value(double margin) const noexcept { return std::max(0.0, 1.0 - margin); }

    // The row's contribution to the dual objective, at cost c.
    double dual(double alpha, double) const noexcept { return alpha; }

    // The feasible dual variable closest to alpha.
    double nearest(double alpha, double c) const noexcept { return std::clamp(alpha, 0.0, c); }

    // The alpha that maximizes the dual objective along this coordinate; q = |phi|^2.
    double step(double alpha, double margin, double q, double c) const noexcept {
        return std::clamp(alpha + (1.0 - margin) / q, 0.0, c);
    }

    // Whether that step would leave alpha as it is.
    bool at_rest(double alpha, double margin, double q, double c) const noexcept {
        return step(alpha, margin, q, c) == alpha;
    }

    // The derivative of the dual objective with respect to alpha.
    double slope(double, double margin, double) const noexcept { return 1.0 - margin; }

    // The row's part of the duality gap, c loss(m) - dual(alpha) + alpha m >= 0, computed without
    // cancellation.
    double gap(double alpha, double margin, double c) const noexcept {
        const double short_of_one = 1.0 - margin;
        return short_of_one > 0.0 ? (c - alpha) * short_of_one : alpha * -short_of_one;
    }
};

}  // namespace splinear
