// The logistic loss for dual coordinate descent; hinge.hpp describes the members.
#pragma once

#include <algorithm>
#include <cmath>

namespace splinear {

// loss(m) = log(1 + exp(-m)) of the margin m = y f(x), with cost c. The dual variable satisfies
// 0 <= alpha <= c and contributes c H(alpha / c) to the dual objective, where
// H(p) = -p log p - (1-p) log(1-p).
struct Logistic {
    double value(double margin) const noexcept {
        return std::max(0.0, -margin) + std::log1p(std::exp(-std::abs(margin)));
    }

    double dual(double alpha, double c) const noexcept {
        return -(entropy_term(alpha, c) + entropy_term(c - alpha, c));
    }

    double nearest(double alpha, double c) const noexcept { return std::clamp(alpha, 0.0, c); }

    // Solves for u = log((c - alpha) / alpha), for which optimality reads
    // u - m - q (c sigma(-u) - alpha_0) = 0 with alpha_0 the current alpha. The left side has a
    // slope between 1 and 1 + q c / 4, so Newton's method inside a bracket is safe.
    double step(double alpha, double margin, double q, double c) const noexcept {
        double low = margin - q * alpha;
        double high = margin + q * (c - alpha);
        double u = alpha > 0.0 && alpha < c ? std::log((c - alpha) / alpha) : margin;
        u = std::clamp(u, low, high);
        double next = alpha;
        for (int i = 0; i < 50; ++i) {
            const double p = sigma(-u);
            next = c * p;
            const double off = u - margin - q * (next - alpha);
            (off > 0.0 ? high : low) = u;
            if (std::abs(off) <= 1e-12 * (1.0 + std::abs(u))) break;
            u -= off / (1.0 + q * next * (1.0 - p));
            if (!(low < u && u < high)) u = 0.5 * (low + high);
        }
        return next;
    }

    // The dual variable is never at a bound, so there is always a step, even if a small one.
    bool at_rest(double, double, double, double) const noexcept { return false; }

    double slope(double alpha, double margin, double c) const noexcept {
        return std::log((c - alpha) / alpha) - margin;
    }

    // c times the Kullback-Leibler divergence of p = alpha / c from q = sigma(-m), as two
    // nonnegative parts: p log(p / q) - p + q, and the same for 1 - p and 1 - q.
    double gap(double alpha, double margin, double c) const noexcept {
        const double q = sigma(-margin);
        const double off = alpha / c - q;
        return c * (divergence(off, q) + divergence(-off, sigma(margin)));
    }

private:
    static double sigma(double u) noexcept {
        const double e = std::exp(-std::abs(u));
        return u >= 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
    }

    // p log(p / q) - p + q for p = q + off >= 0. Uses a series for small off / q, where the terms
    // would cancel.
    static double divergence(double off, double q) noexcept {
        const double t = off / q;
        if (std::abs(t) < 1e-3) return q * t * t * (0.5 - t * (1.0 / 6.0 - t * (1.0 / 12.0)));
        const double p = q + off;
        return std::max(0.0, (p > 0.0 ? p * std::log1p(t) : 0.0) - off);
    }

    static double entropy_term(double part, double c) noexcept {
        return part > 0.0 ? part * std::log(part / c) : 0.0;
    }
};

}  // namespace splinear
