// The penalty of the features of one group, with their variances.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/penalty/any.hpp"

namespace splinear {

// 1/2 theta_j'S_j theta_j of the parameters theta_j of every feature j, `stride` numbers: S_j =
// T^{-T} P_j T^{-1} of its coefficients, P_j being w_jk / t_j on the diagonal, and 1 / g_j of the
// deviation of its missing values. Parameters that are not used take no part.
class GroupPenalty {
public:
    // used (n_features x stride); weights w_jk (n_features x size), 0 where none is used; variances
    // t_j; missing_variance g_j, empty for a group without missing values. `has_levels`: curves can
    // be moved up as a whole, which the intercept does as well. Throws std::invalid_argument for
    // arrays of the wrong size.
    GroupPenalty(AnyPenalty penalty, std::vector<std::uint8_t> used,
                 std::span<const double> weights, std::span<const double> variance,
                 std::span<const double> missing_variance, bool has_levels);

    std::size_t n_features() const noexcept { return used_.size() / stride_; }
    std::size_t stride() const noexcept { return stride_; }
    std::size_t n_parameters() const noexcept { return used_.size(); }
    bool is_used(std::size_t i) const noexcept { return used_[i] != 0; }

    // The weights p_j = S_j 1 / 1'S_j 1 by which p_j'theta_j is the level of curve j, at which the
    // penalty is least where it is 0. Empty: curves have none.
    const std::vector<double>& level_weights() const noexcept { return levels_; }

    // Of the features from `first` to last - 1, whose parameters begin at theta. Adds S_j theta_j
    // to what is at `to`.
    void add_pull(std::size_t first, std::size_t last, const double* theta, double* to) const;

    // Writes S_j^{-1} g_j to what is at `to`.
    void soften(std::size_t first, std::size_t last, const double* g, double* to) const;

    // Writes g_j'S_j^{-1} g_j of each of them to `to`.
    void write_softness(std::size_t first, std::size_t last, const double* g, double* to) const;

    // Takes the levels off; writes them to `to`, one per feature.
    void take_levels(std::size_t first, std::size_t last, double* theta, double* to) const noexcept;

    // Takes what a gradient has along levels off, which is known to be 0 but for rounding.
    void take_slopes(std::size_t first, std::size_t last, double* g) const noexcept;

private:
    AnyPenalty penalty_;
    std::size_t size_;
    std::size_t stride_;
    std::vector<std::uint8_t> used_;
    std::vector<double> stiffness_;  // P_j, then 1 / g_j, 0 where nothing is used
    std::vector<double> softness_;   // t_j / w_jk, then g_j, likewise
    std::vector<double> levels_;
};

}  // namespace splinear
