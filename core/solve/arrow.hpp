// The block preconditioner of Newton's method for the curves and the intercept b of one output.
//
// The Hessian has a diagonal block M_j per feature, penalty included, and the intercept's row and
// column: u_j = sum_i h_i B(x_ij) and s = sum_i h_i, plus the intercept's penalty if it has one. A
// curve can shift the mean score just as the intercept can, so the intercept is measured at the
// mean of the curves: b + sum_j u_j'theta_j / s. In these coordinates it is decoupled from the
// curves, and the block of feature j is M_j - u_j u_j' / s. Blocks between different features are
// dropped, so that every feature is solved for by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "support/banded_blocks.hpp"

namespace splinear {

// The lines of a group's curves, for ArrowGroup.
struct Lines {
    std::vector<double> line;       // l_j, n_features x stride; empty without lines
    std::vector<double> times;      // H_j l_j, n_features x stride
    std::vector<double> precision;  // 1 / v_j; infinite for a curve without a line
};

// The features of one group. A missing value has the curve's mean plus a deviation d (see
// docs/mathematics.md, Gaps), so with c the sum of h_i over rows that miss the feature, and p the
// penalty of d, the block is
//
//     M_j = [A_j + c m_j m_j', c m_j; c m_j', c + p],
//
// with A_j banded. Without d it is A_j + k m_j m_j', k = c p / (c + p): the stiffer d is, the more
// of these rows the curve itself must answer for. A d that is fixed at 0 has k = c.
//
// In a group whose penalty has lines (CurveParts), a curve is g_j plus b_j times the line l_j,
// where g_j has the banded block B_j and b_j the penalty 1 / v_j. With H_j that block without the
// penalty, p_j = l_j - B_j^{-1} H_j l_j and sigma_j = 1 / v_j + l_j'H_j p_j, eliminating b_j gives
// A_j^{-1} = B_j^{-1} + p_j p_j' / sigma_j.
struct ArrowGroup {
    BandedBlocks blocks;             // A_j (or B_j), then c + p if values are missing, factored
    std::vector<std::uint8_t> used;  // n_features x stride; 0: the parameter is fixed at 0
    std::vector<double> mean;        // m_j, n_features x size; empty: no missing values
    std::vector<double> share;       // c / (c + p), one per feature; 0 if d is not used
    std::vector<double> of_mean;     // A_j^{-1} m_j, n_features x size
    std::vector<double> joint;       // k / (1 + k m_j'A_j^{-1}m_j), one per feature
    std::vector<double> ties;        // u_j / s, n_features x stride
    std::vector<double> solved;      // M_j^{-1} u_j / s, n_features x stride
    std::vector<double> remainder;   // 1 - u_j'M_j^{-1}u_j / s, one per feature
    std::vector<double> lines;  // p_j / sqrt(sigma_j), n_features x stride; empty without lines

    // `tied` holds the u_j of tables, in which a missing value has a value of its own: c is their
    // last entry. Throws std::invalid_argument for arrays of the wrong size. If
    // blocks.is_definite() is false, the group cannot be solved with.
    ArrowGroup(BandedBlocks blocks, std::vector<std::uint8_t> used, std::vector<double> mean,
               std::vector<double> tied, double s, int n_threads = 1, Lines lines = {});

    // Multiplies x, `stride` numbers for each of the features [first, last), by M_j^{-1} in place.
    // Entries of parameters that are not used must be 0.
    void solve(std::size_t first, std::size_t last, double* x) const;

    // The same by A_j^{-1}, and 1 / (c + p) where values are missing.
    void solve_curves(std::size_t first, std::size_t last, double* x) const;

    std::size_t n_features() const noexcept { return blocks.n_blocks(); }
    std::size_t stride() const noexcept { return blocks.size(); }
    std::size_t n_parameters() const noexcept { return n_features() * stride(); }
};

// The features [first, last) of one group, as one parallel task.
struct ArrowPart {
    const ArrowGroup* group;
    std::size_t number;  // index of the group
    std::size_t first;
    std::size_t last;
    std::size_t start;    // index of the first feature's parameters among those of all groups
    std::size_t feature;  // index of the first feature among the features of all groups
};

// Divides the features of all groups into tasks.
std::vector<ArrowPart> arrow_parts(std::span<const ArrowGroup* const> groups);

// Returns the number of parameters of all groups, without the intercept. Throws
// std::invalid_argument if a block is not positive definite.
std::size_t checked_size(std::span<const ArrowGroup* const> groups);

// Solves for the features of `part`, by the Sherman-Morrison formula for M_j - u_j u_j' / s. `r`
// and `out` point to the parameters of its first feature; `r_intercept` is the intercept's entry
// of the right side. Writes u_j'out_j / s, by which feature j lowers the intercept, to `tilts`.
void solve_part(const ArrowPart& part, double s, const double* r, double r_intercept, double* out,
                double* tilts);

// Multiplies each of the vectors r by the inverse of the preconditioner. A vector holds the
// parameters of all groups, then the intercept. The result does not depend on n_threads.
std::vector<double> solve_arrow(std::span<const ArrowGroup* const> groups, double s,
                                std::span<const double> r, int n_threads);

}  // namespace splinear
