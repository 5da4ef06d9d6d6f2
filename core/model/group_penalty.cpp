#include "model/group_penalty.hpp"

#include <utility>

#include "support/checks.hpp"

namespace splinear {
namespace {

double inverted(double value) noexcept { return value > 0.0 ? 1.0 / value : 0.0; }

std::size_t size_of(const AnyPenalty& any) {
    return std::visit([](const auto& p) { return static_cast<std::size_t>(p.size()); }, any);
}

}  // namespace

GroupPenalty::GroupPenalty(AnyPenalty penalty, std::vector<std::uint8_t> used,
                           std::span<const double> weights, std::span<const double> variance,
                           std::span<const double> missing_variance, bool has_levels)
    : penalty_(std::move(penalty)),
      size_(size_of(penalty_)),
      stride_(size_ + (missing_variance.empty() ? 0 : 1)),
      used_(std::move(used)),
      stiffness_(used_.size()),
      softness_(used_.size()) {
    const std::size_t n = variance.size();
    must(n > 0, "a group must have features");
    must_be("the size of used, one per parameter,", used_.size(), n * stride_);
    must_be("the number of weights, one per coefficient,", weights.size(), n * size_);
    if (stride_ > size_)
        must_be("the number of missing_variance, one per feature,", missing_variance.size(), n);
    for (std::size_t j = 0; j < n; ++j) {
        const double* own = &weights[j * size_];
        for (std::size_t k = 0; k < stride_; ++k) {
            const std::size_t i = j * stride_ + k;
            if (!used_[i]) continue;
            const double scale = k < size_ ? variance[j] : missing_variance[j];
            const double weight = k < size_ ? own[k] : 1.0;
            stiffness_[i] = weight * inverted(scale);
            softness_[i] = inverted(weight) * scale;
        }
    }
    if (!has_levels) return;
    // p_j does not depend on the variances, so they are set to 1.
    std::vector<std::uint8_t> curves = used_;
    for (std::size_t i = size_; i < used_.size() && stride_ > size_; i += stride_) curves[i] = 0;
    const std::vector<double> ones(curves.begin(), curves.end());
    const std::vector<double> unit(n, 1.0);
    const std::span<const double> of_missing(unit.data(), stride_ > size_ ? n : 0);
    levels_.resize(used_.size());
    GroupPenalty(penalty_, std::move(curves), weights, unit, of_missing, false)
        .add_pull(0, n, ones.data(), levels_.data());
    for (std::size_t j = 0; j < n; ++j) {
        double* own = &levels_[j * stride_];
        double total = 0.0;
        for (std::size_t k = 0; k < stride_; ++k) total += own[k] * ones[j * stride_ + k];
        for (std::size_t k = 0; k < stride_; ++k) own[k] = total > 0.0 ? own[k] / total : 0.0;
    }
}

void GroupPenalty::add_pull(std::size_t first, std::size_t last, const double* theta,
                            double* to) const {
    std::vector<double> own(size_);
    std::visit(
        [&](const Penalty auto& penalty) {
            for (std::size_t j = first; j < last; ++j, theta += stride_, to += stride_) {
                const double* stiffness = &stiffness_[j * stride_];
                const std::uint8_t* used = &used_[j * stride_];
                std::copy_n(theta, size_, own.data());
                penalty.difference(own.data());
                for (std::size_t k = 0; k < size_; ++k) own[k] *= stiffness[k];
                penalty.difference_transpose(own.data());
                for (std::size_t k = 0; k < size_; ++k) to[k] += used[k] ? own[k] : 0.0;
                if (stride_ > size_) to[size_] += stiffness[size_] * theta[size_];
            }
        },
        penalty_);
}

void GroupPenalty::soften(std::size_t first, std::size_t last, const double* g, double* to) const {
    std::visit(
        [&](const Penalty auto& penalty) {
            for (std::size_t j = first; j < last; ++j, g += stride_, to += stride_) {
                const double* softness = &softness_[j * stride_];
                const std::uint8_t* used = &used_[j * stride_];
                std::copy_n(g, size_, to);
                penalty.embed(to);
                for (std::size_t k = 0; k < size_; ++k) to[k] *= softness[k];
                penalty.integrate(to);
                for (std::size_t k = 0; k < size_; ++k) to[k] = used[k] ? to[k] : 0.0;
                if (stride_ > size_) to[size_] = softness[size_] * g[size_];
            }
        },
        penalty_);
}

void GroupPenalty::write_softness(std::size_t first, std::size_t last, const double* g,
                                  double* to) const {
    std::vector<double> own(size_);
    std::visit(
        [&](const Penalty auto& penalty) {
            for (std::size_t j = first; j < last; ++j, g += stride_, ++to) {
                const double* softness = &softness_[j * stride_];
                std::copy_n(g, size_, own.data());
                penalty.embed(own.data());
                double total = stride_ > size_ ? softness[size_] * g[size_] * g[size_] : 0.0;
                for (std::size_t k = 0; k < size_; ++k) total += softness[k] * own[k] * own[k];
                *to = total;
            }
        },
        penalty_);
}

void GroupPenalty::take_levels(std::size_t first, std::size_t last, double* theta,
                               double* to) const noexcept {
    for (std::size_t j = first; j < last; ++j, theta += stride_, ++to) {
        const double* weights = &levels_[j * stride_];
        const std::uint8_t* used = &used_[j * stride_];
        double level = 0.0;
        for (std::size_t k = 0; k < stride_; ++k) level += weights[k] * theta[k];
        for (std::size_t k = 0; k < size_; ++k) theta[k] -= used[k] ? level : 0.0;
        *to = level;
    }
}

void GroupPenalty::take_slopes(std::size_t first, std::size_t last, double* g) const noexcept {
    for (std::size_t j = first; j < last; ++j, g += stride_) {
        const double* weights = &levels_[j * stride_];
        const std::uint8_t* used = &used_[j * stride_];
        double slope = 0.0;
        for (std::size_t k = 0; k < size_; ++k) slope += used[k] ? g[k] : 0.0;
        for (std::size_t k = 0; k < stride_; ++k) g[k] -= slope * weights[k];
    }
}

}  // namespace splinear
