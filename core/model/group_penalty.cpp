#include "model/group_penalty.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "support/checks.hpp"

namespace splinear {
namespace {

double inverted(double value) noexcept { return value > 0.0 ? 1.0 / value : 0.0; }

std::size_t size_of(const AnyPenalty& any) {
    return std::visit([](const auto& p) { return static_cast<std::size_t>(p.size()); }, any);
}

// d = M d for a tridiagonal M.
void multiply(const double* diagonal, const double* beside, std::size_t size, double* d) noexcept {
    double carried = 0.0;
    for (std::size_t k = 0; k < size; ++k) {
        const double own = d[k];
        d[k] = diagonal[k] * own + carried;
        if (k + 1 == size) break;
        d[k] += beside[k] * d[k + 1];
        carried = beside[k] * own;
    }
}

// g = U'^{-1} g.
void eliminate(const double* ratios, std::size_t size, double* g) noexcept {
    for (std::size_t k = 1; k < size; ++k) g[k] -= ratios[k - 1] * g[k - 1];
}

}  // namespace

GroupPenalty::GroupPenalty(AnyPenalty penalty, std::vector<std::uint8_t> used,
                           std::span<const double> weights, std::span<const double> variance,
                           std::span<const double> missing_variance, const CurveParts& parts,
                           bool has_levels)
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
    if (!parts.line.empty()) add(parts);
    if (!has_levels) return;
    // p_j depends neither on the variances, which are set to 1, nor on parts: a constant has
    // neither.
    std::vector<std::uint8_t> curves = used_;
    for (std::size_t i = size_; i < used_.size() && stride_ > size_; i += stride_) curves[i] = 0;
    const std::vector<double> ones(curves.begin(), curves.end());
    const std::vector<double> unit(n, 1.0);
    const std::span<const double> of_missing(unit.data(), stride_ > size_ ? n : 0);
    levels_.resize(used_.size());
    GroupPenalty(penalty_, std::move(curves), weights, unit, of_missing, {}, false)
        .add_pull(0, n, ones.data(), levels_.data());
    for (std::size_t j = 0; j < n; ++j) {
        double* own = &levels_[j * stride_];
        double total = 0.0;
        for (std::size_t k = 0; k < stride_; ++k) total += own[k] * ones[j * stride_ + k];
        for (std::size_t k = 0; k < stride_; ++k) own[k] = total > 0.0 ? own[k] / total : 0.0;
    }
}

void GroupPenalty::add(const CurveParts& parts) {
    const std::size_t n = n_features();
    must_be("the number of bend_variance, one per feature,", parts.bend_variance.size(), n);
    must_be("the number of line_variance, one per feature,", parts.line_variance.size(), n);
    must_be("the size of bends", parts.bends.size(), 2 * n * size_);
    must_be("the size of line, one per coefficient,", parts.line.size(), n * size_);
    line_.assign(parts.line.begin(), parts.line.end());
    line_variance_.assign(parts.line_variance.begin(), parts.line_variance.end());
    line_pull_.resize(line_.size());
    beside_.resize(used_.size());
    ratios_.resize(used_.size());
    for (std::size_t j = 0; j < n; ++j) {
        const double* row = &parts.bends[2 * j * size_];
        double* diagonal = &stiffness_[j * stride_];
        double* beside = &beside_[j * stride_];
        // No pivot can be smaller than its entry of the other part of M_j, except by rounding.
        const std::vector<double> least(diagonal, diagonal + size_);
        const double precision = inverted(parts.bend_variance[j]);
        for (std::size_t k = 0; k + 1 < size_; ++k, row += 2) {
            diagonal[k] += row[0] * row[0] * precision;
            diagonal[k + 1] += row[1] * row[1] * precision;
            beside[k] = row[0] * row[1] * precision;
        }
        double pivot = 0.0;
        for (std::size_t k = 0; k < size_; ++k) {
            const std::size_t i = j * stride_ + k;
            const double taken = k > 0 ? ratios_[i - 1] * beside[k - 1] : 0.0;
            pivot = std::max(diagonal[k] - taken, least[k]);
            softness_[i] = inverted(pivot);
            ratios_[i] = beside[k] * softness_[i];
        }
        const double* line = &line_[j * size_];
        double* pull = &line_pull_[j * size_];
        std::copy_n(line, size_, pull);
        multiply(diagonal, beside, size_, pull);
        const double c = inverted(inverted(line_variance_[j]) +
                                  std::inner_product(line, line + size_, pull, 0.0));
        for (std::size_t k = 0; k < size_; ++k) pull[k] *= line_variance_[j] > 0.0 ? c : 0.0;
    }
}

double GroupPenalty::along_line(std::size_t j, const double* g) const noexcept {
    return line_variance_[j] * std::inner_product(g, g + size_, &line_[j * size_], 0.0);
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
                if (line_.empty()) {
                    for (std::size_t k = 0; k < size_; ++k) own[k] *= stiffness[k];
                } else {
                    const double* line = &line_[j * size_];
                    const double slope =
                        std::inner_product(own.begin(), own.end(), &line_pull_[j * size_], 0.0);
                    for (std::size_t k = 0; k < size_; ++k) own[k] -= slope * line[k];
                    multiply(stiffness, &beside_[j * stride_], size_, own.data());
                }
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
                if (line_.empty()) {
                    for (std::size_t k = 0; k < size_; ++k) to[k] *= softness[k];
                } else {
                    const double* ratios = &ratios_[j * stride_];
                    const double slope = along_line(j, to);
                    eliminate(ratios, size_, to);
                    for (std::size_t k = 0; k < size_; ++k) to[k] *= softness[k];
                    for (std::size_t k = size_ - 1; k-- > 0;) to[k] -= ratios[k] * to[k + 1];
                    const double* line = &line_[j * size_];
                    for (std::size_t k = 0; k < size_; ++k) to[k] += slope * line[k];
                }
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
                if (!line_.empty()) {
                    const double slope = along_line(j, own.data());
                    if (slope != 0.0) total += slope * slope / line_variance_[j];
                    eliminate(&ratios_[j * stride_], size_, own.data());
                }
                for (std::size_t k = 0; k < size_; ++k) total += softness[k] * own[k] * own[k];
                *to = total;
            }
        },
        penalty_);
}

GroupPenalty::PriorVariances GroupPenalty::prior_variances(std::span<const double> bends) const {
    must(!ratios_.empty(), "there must be parts");
    must_be("the size of bends", bends.size(), 2 * n_features() * size_);
    PriorVariances out{softness_, std::vector<double>(n_features() * size_)};
    for (std::size_t j = 0; j < n_features(); ++j) {
        double* steps = &out.steps[j * stride_];
        const double* ratios = &ratios_[j * stride_];
        const double* row = &bends[2 * j * size_];
        // M_j^{-1} = U^{-1} D^{-1} U'^{-1}, whose entries follow from those after them.
        for (std::size_t k = size_ - 1; k-- > 0;) {
            steps[k] += ratios[k] * ratios[k] * steps[k + 1];
            const double beside = -ratios[k] * steps[k + 1];
            const double left = row[2 * k];
            const double right = row[2 * k + 1];
            out.bends[j * size_ + k] =
                left * left * steps[k] + 2.0 * left * right * beside + right * right * steps[k + 1];
        }
    }
    return out;
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
