// The squared hinge loss for dual coordinate descent; hinge.hpp describes the members.
#pragma once

#include <algorithm>

namespace splinear {

// loss(m) = max(0, 1 - m)^2 of the margin m = y f(x), with cost c. The dual variable satisfies
// alpha >= 0 and contributes alpha - alpha^2 / (4 c) to the dual objective.
struct SquaredHinge {
    double value(double margin) const noexcept {
        const double short_of_one = std::max(0.0, 1.0 - margin);
        return short_of_one * short_of_one;
    }

    double dual(double alpha, double c) const noexcept { return alpha - 0.25 * alpha * alpha / c; }

    double nearest(double alpha, double) const noexcept { return std::max(0.0, alpha); }

    double step(double alpha, double margin, double q, double c) const noexcept {
        return std::max(0.0, alpha + slope(alpha, margin, c) / (q + 0.5 / c));
    }

    bool at_rest(double alpha, double margin, double q, double c) const noexcept {
        return step(alpha, margin, q, c) == alpha;
    }

    double slope(double alpha, double margin, double c) const noexcept {
        return 1.0 - margin - 0.5 * alpha / c;
    }

    // If 1 - m > 0: c loss(m) + alpha^2 / (4 c) - alpha (1 - m) = (alpha / 2 - c (1 - m))^2 / c.
    double gap(double alpha, double margin, double c) const noexcept {
        const double short_of_one = 1.0 - margin;
        if (short_of_one <= 0.0) return alpha * (0.25 * alpha / c - short_of_one);
        const double off = 0.5 * alpha - c * short_of_one;
        return off * off / c;
    }
};

}  // namespace splinear
