// The diagonal penalty of a basis whose derivatives are orthogonal: one weight per function.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace splinear {

// T = diag(weights), so L = diag(weights)^2. A weight of 0 fixes the coefficient at 0. For the
// members see any.hpp.
class DiagonalPenalty {
public:
    explicit DiagonalPenalty(std::vector<double> weights) : weights_(std::move(weights)) {}

    int size() const noexcept { return static_cast<int>(weights_.size()); }

    void embed(double* a) const noexcept {
        for (std::size_t i = 0; i < weights_.size(); ++i) a[i] *= weights_[i];
    }

    void integrate(double* a) const noexcept { embed(a); }

    void smooth(double* a) const noexcept {
        for (std::size_t i = 0; i < weights_.size(); ++i) a[i] *= weights_[i] * weights_[i];
    }

    void difference(double* a) const noexcept {
        for (std::size_t i = 0; i < weights_.size(); ++i)
            a[i] = weights_[i] > 0.0 ? a[i] / weights_[i] : 0.0;
    }

    void difference_transpose(double* a) const noexcept { difference(a); }

    double quadratic(int, std::span<const double> w) const noexcept {
        double total = 0.0;
        for (std::size_t i = 0; i < weights_.size(); ++i) {
            const double v = weights_[i] * w[i];
            total += v * v;
        }
        return total;
    }

private:
    std::vector<double> weights_;
};

}  // namespace splinear
