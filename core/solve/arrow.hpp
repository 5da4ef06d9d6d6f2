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
               std::vector<double> tied, double s, int n_threads = 1);

    std::size_t n_features() const noexcept { return blocks.n_blocks(); }
    std::size_t stride() const noexcept { return blocks.size(); }
    std::size_t n_parameters() const noexcept { return n_features() * stride(); }
};

// Some features of one group, and where they stand in a vector of all of them.
struct ArrowPart {
    const ArrowGroup* group;
    std::size_t number;  // of the group
    std::size_t first;
    std::size_t last;
    std::size_t start;    // of the first one's parameters
    std::size_t feature;  // the number of the first one among all features
};

// All features, some at a time: what a thread is to do at once.
std::vector<ArrowPart> arrow_parts(std::span<const ArrowGroup* const> groups);

// The number of parameters of all groups. Throws std::invalid_argument if one of them cannot be
// solved with.
std::size_t checked_size(std::span<const ArrowGroup* const> groups);

// Solves for some features, whose numbers begin at r and `out`; writes to `tilts` by how much each
// moves the intercept, whose own number is `of_intercept`.
void solve_part(const ArrowPart& part, double s, const double* r, double of_intercept, double* out,
                double* tilts) noexcept;

// The inverse, times vectors r, each of the parameters of all groups and the intercept's at the
// end. The intercept is measured at the mean of the curves, so that in place of M_j stands
// M_j - u_j u_j' / s. Threads change no bit.
std::vector<double> solve_arrow(std::span<const ArrowGroup* const> groups, double s,
                                std::span<const double> r, int n_threads);

}  // namespace splinear
