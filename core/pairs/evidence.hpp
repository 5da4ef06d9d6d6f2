// Which pairs of features say more together than each alone: sums over the cells of a grid.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace splinear {

// Cells of every feature in a grid; a row is in one of them, or in none.
inline constexpr std::size_t n_grid_cells = 16;

// For each pair of features (first, second), (n_pairs, 2), the evidence that the scores should
// depend on both together,
//
//     z = (E - chance) / sd,   E = 1/2 sum_c G_c^2 / (H_c + 1),
//
// G_c and H_c being the sums of g and h over the rows in cell c. By chance, if G_c has variance
// H_c, E has mean 1/2 sum_c q_c and variance 1/2 sum_c q_c^2, q_c = H_c / (H_c + 1). `cells` is
// (n_features, n_rows), row by row. Throws std::invalid_argument for arrays of the wrong size,
// cells that do not exist and features that are not there.
std::vector<double> pair_evidence(std::span<const std::uint8_t> cells, std::size_t n_features,
                                  std::span<const double> g, std::span<const double> h,
                                  std::span<const std::int64_t> pairs, int n_threads);

}  // namespace splinear
