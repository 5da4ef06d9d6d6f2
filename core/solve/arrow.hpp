// The blocks of features on the diagonal of a Hessian, and what ties them to the intercept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "support/banded_blocks.hpp"

namespace splinear {

// The features of one group. All that is said of tables, in which a missing value has a value of
// its own, and not of parameters, in which it has a deviation from its curve's mean.
struct ArrowGroup {
    BandedBlocks blocks;             // M_j
    std::vector<std::uint8_t> used;  // which parameters take part, n_features x stride
    std::vector<double> mean;        // n_features x size; empty: no missing values in this group
    std::vector<double> ties;        // u_j / s, s being the intercept's own second derivative
    std::vector<double> solved;      // M_j^{-1} u_j / s
    std::vector<double> left;        // 1 - u_j'M_j^{-1}u_j / s, per feature

    // `tied` are the u_j. Throws std::invalid_argument for arrays of the wrong size. Unless
    // blocks.is_definite() nothing is to be solved with it.
    ArrowGroup(BandedBlocks blocks, std::vector<std::uint8_t> used, std::vector<double> mean,
               std::vector<double> tied, double s);

    std::size_t n_features() const noexcept { return blocks.n_blocks(); }
    std::size_t stride() const noexcept { return blocks.size(); }
    std::size_t n_parameters() const noexcept { return n_features() * stride(); }
};

// The inverse, times vectors r, each of the parameters of all groups and the intercept's at the
// end. The intercept is measured at the mean of the curves, so that in place of M_j stands
// M_j - u_j u_j' / s. Threads change no bit.
std::vector<double> solve_arrow(std::span<const ArrowGroup* const> groups, double s,
                                std::span<const double> r, int n_threads);

}  // namespace splinear
