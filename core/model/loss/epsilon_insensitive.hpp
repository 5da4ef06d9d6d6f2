// The absolute loss with a dead zone, as dual coordinate descent needs it.
#pragma once

#include <algorithm>
#include <cmath>

namespace splinear {

// loss(r) = max(0, |r| - epsilon) of the residual r = f(x) - target, at cost c. Its dual variable
// is -c <= alpha <= c and adds -epsilon |alpha| to the dual objective.
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

    // How far the residual is from the edge of the dead zone, where alpha would begin to move.
    double slope(double, double residual, double) const noexcept {
        return std::abs(residual) - epsilon;
    }

    double gap(double alpha, double residual, double c) const noexcept {
        return std::max(0.0, c * value(residual) - dual(alpha, c) + alpha * residual);
    }
};

}  // namespace splinear
