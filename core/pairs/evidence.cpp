#include "pairs/evidence.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "support/checks.hpp"
#include "support/parallel.hpp"

namespace splinear {
namespace {

struct Sums {
    double g = 0.0, h = 0.0;
};

// z of pair_evidence().
double standardized(std::span<const Sums> cells) {
    double found = 0.0, mean = 0.0, variance = 0.0;
    for (const Sums& cell : cells) {
        const double q = cell.h / (cell.h + 1.0);
        found += 0.5 * cell.g * cell.g / (cell.h + 1.0);
        mean += 0.5 * q;
        variance += 0.5 * q * q;
    }
    return variance > 0.0 ? (found - mean) / std::sqrt(variance) : 0.0;
}

}  // namespace

std::vector<double> pair_evidence(std::span<const std::uint8_t> cells, std::size_t n_features,
                                  std::span<const double> g, std::span<const double> h,
                                  std::span<const std::int64_t> pairs, int n_threads) {
    const std::size_t n_rows = g.size();
    must_be("the number of second derivatives", h.size(), n_rows);
    must_be("the number of cells", cells.size(), n_features * n_rows);
    const bool known = std::all_of(cells.begin(), cells.end(),
                                   [](std::uint8_t cell) { return cell < n_grid_cells; });
    must(known, "there are 16 cells per feature");
    must(pairs.size() % 2 == 0, "pairs are of two features each");
    for (const std::int64_t feature : pairs) must_be_one_of("feature", feature, n_features);
    std::vector<double> out(pairs.size() / 2);
    parallel_for(static_cast<std::ptrdiff_t>(out.size()), n_threads, [&](std::ptrdiff_t task) {
        const auto pair = static_cast<std::size_t>(task);
        const std::uint8_t* first =
            cells.data() + static_cast<std::size_t>(pairs[2 * pair]) * n_rows;
        const std::uint8_t* second =
            cells.data() + static_cast<std::size_t>(pairs[2 * pair + 1]) * n_rows;
        std::array<Sums, n_grid_cells * n_grid_cells> sums{};
        for (std::size_t i = 0; i < n_rows; ++i) {
            Sums& cell = sums[first[i] * n_grid_cells + second[i]];
            cell.g += g[i];
            cell.h += h[i];
        }
        out[pair] = standardized(sums);
    });
    return out;
}

}  // namespace splinear
