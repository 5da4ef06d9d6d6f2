// The epsilon-insensitive loss for dual coordinate descent; hinge.hpp describes the members.
#pragma once

#include <algorithm>
#include <cmath>

namespace splinear {

// loss(r) = max(0, |r| - epsilon) of the residual r = f(x) - target, with cost c. The dual variable
// satisfies -c <= alpha <= c and contributes -epsilon |alpha| to the dual objective.
struct EpsilonInsensitive {
    double epsilon;

    double value(double residual) const noexcept {
        return std::max(0.0, std::abs(residual) - epsilon);
    }

    double dual(double alpha, double) const noexcept { return -epsilon * std::abs(alpha); }

    double nearest(double alpha, double c) const noexcept { return std::clamp(alpha, -c, c); }

    double step(double alpha, double residual, double q, double c) const noexcept {
        const double goal = alpha - residual / q;
        const double shrunk = std::max(0.0, std::abs(goal) - epsilon / q);
        return std::clamp(std::copysign(shrunk, goal), -c, c);
    }

    bool at_rest(double alpha, double residual, double q, double c) const noexcept {
        return step(alpha, residual, q, c) == alpha;
    }

    // The distance of the residual from where alpha would begin to move, |r| = epsilon. (The dual
    // has no derivative at alpha = 0.)
    double slope(double, double residual, double) const noexcept {
        return std::abs(residual) - epsilon;
    }

    double gap(double alpha, double residual, double c) const noexcept {
        return std::max(0.0, c * value(residual) - dual(alpha, c) + alpha * residual);
    }
};

}  // namespace splinear
