// Makes trees of knots; see simd/knot_tree.hpp.
#pragma once

#include <cstddef>
#include <limits>
#include <span>

#include "simd/knot_tree.hpp"

namespace splinear {

// The depth of a tree for so many bins, or 0 if there are too many.
inline int tree_depth(std::size_t n_bins) noexcept {
    int depth = simd::least_depth;
    while (depth <= simd::most_depth && (std::size_t{1} << depth) <= n_bins) ++depth;
    return depth <= simd::most_depth ? depth : 0;
}

// Whether single precision holds the knots, and the widths between them have inverses there.
inline bool is_moderate(double x) noexcept { return 1e-30 < x && x < 1e30; }
inline bool is_single(double x) noexcept { return static_cast<double>(static_cast<float>(x)) == x; }
inline bool have_single_tree(std::span<const double> knots) noexcept {
    for (std::size_t k = 0; k < knots.size(); ++k)
        if (!is_single(knots[k]) || (k > 0 && !is_moderate(knots[k] - knots[k - 1]))) return false;
    return knots.size() > 1;
}

// Writes the 2^depth nodes: the last knot, which is none, and those of all levels; infinity where
// there are fewer knots.
inline void fill_nodes(std::span<const double> knots, int depth, float* nodes) noexcept {
    nodes[0] = static_cast<float>(knots.back());
    for (int l = 0; l < depth; ++l)
        for (std::size_t i = 0; i < std::size_t{1} << l; ++i) {
            const std::size_t bin = (2 * simd::reversed(i, l) + 1)
                                    << static_cast<unsigned>(depth - l - 1);
            nodes[(std::size_t{1} << l) + i] = bin < knots.size()
                                                   ? static_cast<float>(knots[bin])
                                                   : std::numeric_limits<float>::infinity();
        }
}

}  // namespace splinear
