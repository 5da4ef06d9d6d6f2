// Evidence for interactions: which pairs of features explain more together than one by one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace splinear {

// Every feature is divided into this many cells.
inline constexpr std::size_t n_grid_cells = 16;

// For each of `pairs` (n_pairs x 2) of features, the evidence that the scores should depend on both
// jointly:
//
//     z = (E - mean) / sd,   E = 1/2 sum_c G_c^2 / (H_c + 1),
//
// where G_c and H_c are the sums of g and h, first and second derivatives of the rows' losses, over
// the rows in cell c of the 16 x 16 grid. Without an interaction G_c has variance H_c, so that E
// has mean 1/2 sum_c q_c and variance sd^2 = 1/2 sum_c q_c^2, with q_c = H_c / (H_c + 1).
// `cells` is n_features x n_rows. Throws std::invalid_argument for arrays of the wrong size and for
// invalid cells or features. The result does not depend on n_threads.
std::vector<double> pair_evidence(std::span<const std::uint8_t> cells, std::size_t n_features,
                                  std::span<const double> g, std::span<const double> h,
                                  std::span<const std::int64_t> pairs, int n_threads);

}  // namespace splinear
