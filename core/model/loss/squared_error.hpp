// The squared error for dual coordinate descent; hinge.hpp describes the members.
#pragma once

namespace splinear {

// loss(r) = r^2 / 2 of the residual r = f(x) - target, with cost c. The dual variable alpha is
// unbounded and contributes -alpha^2 / (2 c) to the dual objective.
struct SquaredError {
    double value(double residual) const noexcept { return 0.5 * residual * residual; }

    double dual(double alpha, double c) const noexcept { return -0.5 * alpha * alpha / c; }

    double nearest(double alpha, double) const noexcept { return alpha; }

    double step(double alpha, double residual, double q, double c) const noexcept {
        return alpha + slope(alpha, residual, c) / (q + 1.0 / c);
    }

    bool at_rest(double alpha, double residual, double q, double c) const noexcept {
        return step(alpha, residual, q, c) == alpha;
    }

    double slope(double alpha, double residual, double c) const noexcept {
        return -residual - alpha / c;
    }

    double gap(double alpha, double residual, double c) const noexcept {
        const double off = alpha + c * residual;
        return 0.5 * off * off / c;
    }
};

}  // namespace splinear
