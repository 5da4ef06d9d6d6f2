// The penalty of all features of one group, with variances and weights: the matrix S_j of each
// feature, its inverse, and the levels of curves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/penalty/any.hpp"

namespace splinear {

// The penalty is 1/2 sum_j theta_j'S_j theta_j, where theta_j are the `stride` parameters of
// feature j: its `size` coefficients and, in a group with missing values, their deviation. S_j is
// T^{-T} diag(w_jk / t_j) T^{-1} for the coefficients and 1 / g_j for the deviation. Parameters
// that are not used are fixed at 0. Immutable, so that threads may share it.
//
// Functions of a range [first, last) of features take and return arrays that begin with the
// parameters of `first`.
class GroupPenalty {
public:
    // used: n_features x stride. weights: w_jk, n_features x size, 0 where not used. variance: t_j.
    // missing_variance: g_j, empty for a group without missing values. has_levels: constants are
    // among the curves, so that the intercept can take over their levels. Throws
    // std::invalid_argument for arrays of the wrong size.
    GroupPenalty(AnyPenalty penalty, std::vector<std::uint8_t> used,
                 std::span<const double> weights, std::span<const double> variance,
                 std::span<const double> missing_variance, bool has_levels);

    std::size_t n_features() const noexcept { return used_.size() / stride_; }
    std::size_t stride() const noexcept { return stride_; }
    std::size_t n_parameters() const noexcept { return used_.size(); }
    bool is_used(std::size_t i) const noexcept { return used_[i] != 0; }

    // The weights p_j = S_j 1 / (1'S_j 1), n_features x stride; empty without levels. The level of
    // curve j is p_j'theta_j: subtracting it from all coefficients minimizes the penalty.
    const std::vector<double>& level_weights() const noexcept { return levels_; }

    // to_j += S_j theta_j.
    void add_pull(std::size_t first, std::size_t last, const double* theta, double* to) const;

    // to_j = S_j^{-1} g_j.
    void soften(std::size_t first, std::size_t last, const double* g, double* to) const;

    // Writes g_j'S_j^{-1} g_j to `to`, one number per feature.
    void write_softness(std::size_t first, std::size_t last, const double* g, double* to) const;

    // Subtracts the level of each curve from its coefficients, in place, and writes it to `to`, one
    // number per feature.
    void take_levels(std::size_t first, std::size_t last, double* theta, double* to) const noexcept;

    // Makes the entries of each g_j sum to 0, by subtracting a multiple of p_j. Where an intercept
    // is free, the gradient along the level of a curve is 0 except for rounding, which a weak
    // penalty would amplify.
    void take_slopes(std::size_t first, std::size_t last, double* g) const noexcept;

private:
    AnyPenalty penalty_;
    std::size_t size_;
    std::size_t stride_;
    std::vector<std::uint8_t> used_;
    std::vector<double> stiffness_;  // w_jk / t_j, then 1 / g_j; 0 where not used
    std::vector<double> softness_;   // t_j / w_jk, then g_j; 0 where not used
    std::vector<double> levels_;     // p_j
};

}  // namespace splinear
