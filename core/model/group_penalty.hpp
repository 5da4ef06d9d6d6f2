// The penalty of all features of one group, with variances and weights: the matrix S_j of each
// feature, its inverse, and the levels of curves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/penalty/any.hpp"

namespace splinear {

// Parts of the penalty beside that of the differences d of GroupPenalty: bends l_jk d_k + r_jk
// d_{k+1}, and a line, by a multiple of which the differences are lessened first. Empty for groups
// without these parts. Not owned.
struct CurveParts {
    std::span<const double> bends;          // l_jk, then r_jk: n_features x size x 2
    std::span<const double> bend_variance;  // n_features
    std::span<const double> line;           // h_jk, n_features x size
    std::span<const double> line_variance;  // n_features
};

// The penalty is 1/2 sum_j theta_j'S_j theta_j, where theta_j are the `stride` parameters of
// feature j: its `size` coefficients and, in a group with missing values, their deviation. S_j is
// T^{-T} M_j T^{-1} for the coefficients and 1 / g_j for the deviation. M_j is diag(w_jk / t_j). In
// a group with parts the differences d = T^{-1} theta_j cost as much as the best choice of a slope
// b:
//
//     min over b of  b^2 / v_j + (d - b h_j)'M_j (d - b h_j),
//     d'M_j d = sum_k w_jk d_k^2 / t_j + sum_k (l_jk d_k + r_jk d_{k+1})^2 / b_j.
//
// With c = 1 / (1 / v_j + h'M_j h) the slope is c h'M_j d, and S_j^{-1} = T (M_j^{-1} + v_j h h')
// T'. Parameters that are not used are fixed at 0. Immutable, so that threads may share it.
//
// Functions of a range [first, last) of features take and return arrays that begin with the
// parameters of `first`.
class GroupPenalty {
public:
    // used: n_features x stride. weights: w_jk, n_features x size, 0 where not used. variance: t_j.
    // missing_variance: g_j, empty for a group without missing values. parts: 0 where a difference
    // is not used or is a level. has_levels: constants are among the curves, so that the intercept
    // can take over their levels. Throws std::invalid_argument for arrays of the wrong size.
    GroupPenalty(AnyPenalty penalty, std::vector<std::uint8_t> used,
                 std::span<const double> weights, std::span<const double> variance,
                 std::span<const double> missing_variance, const CurveParts& parts,
                 bool has_levels);

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

    // Variances before any rows were seen: of the differences of curves without those of the line
    // (and of deviations), n_features x stride, and of bends, n_features x size.
    struct PriorVariances {
        std::vector<double> steps;
        std::vector<double> bends;
    };

    // `bends` are those of CurveParts. Throws std::invalid_argument if there are no parts.
    PriorVariances prior_variances(std::span<const double> bends) const;

    // Subtracts the level of each curve from its coefficients, in place, and writes it to `to`, one
    // number per feature.
    void take_levels(std::size_t first, std::size_t last, double* theta, double* to) const noexcept;

    // Makes the entries of each g_j sum to 0, by subtracting a multiple of p_j. Where an intercept
    // is free, the gradient along the level of a curve is 0 except for rounding, which a weak
    // penalty would amplify.
    void take_slopes(std::size_t first, std::size_t last, double* g) const noexcept;

private:
    // Adds the bends to M_j and factors it, and prepares the lines.
    void add(const CurveParts& parts);

    // v_j h_j'g, for a gradient g in differences.
    double along_line(std::size_t j, const double* g) const noexcept;

    AnyPenalty penalty_;
    std::size_t size_;
    std::size_t stride_;
    std::vector<std::uint8_t> used_;
    std::vector<double> stiffness_;  // the diagonal of M_j, then 1 / g_j; 0 where not used
    std::vector<double> beside_;     // M_j at (k, k + 1); empty without parts
    // M_j = U'D U with U unit upper bidiagonal: D^{-1} (t_j / w_jk without parts), then g_j; 0
    // where not used. `ratios_` are U at (k, k + 1); empty without parts.
    std::vector<double> softness_;
    std::vector<double> ratios_;
    std::vector<double> line_;           // h_j, n_features x size; empty without lines
    std::vector<double> line_pull_;      // c M_j h_j
    std::vector<double> line_variance_;  // v_j
    std::vector<double> levels_;         // p_j
};

}  // namespace splinear
