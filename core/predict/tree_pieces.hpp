// The pieces of a curve between knots, by the leaves of a tree: see BinMap::trees.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "model/knot_tree.hpp"

namespace splinear {

// The depth of a tree that has leaves for what is beyond the ends as well, or 0.
inline int depth_with_ends(std::size_t n_bins) noexcept { return tree_depth(n_bins + 1); }

inline std::size_t tree_floats(int degree, int depth) noexcept {
    return static_cast<std::size_t>(degree == 1 ? 4 : 4 + degree) << depth;
}

// Coefficients of the polynomial in a, from 0 to 1, that the B-splines with these coefficients are
// in one bin.
inline std::array<double, 4> piece_of(const double* c, int degree) noexcept {
    const double d0 = c[1] - c[0];
    if (degree == 1) return {c[0], d0, 0.0, 0.0};
    const double d1 = c[2] - c[1];
    if (degree == 2) return {0.5 * (c[0] + c[1]), d0, 0.5 * (d1 - d0), 0.0};
    const double d2 = c[3] - c[2];
    return {(c[0] + 4.0 * c[1] + c[2]) / 6.0, 0.5 * (d0 + d1), 0.5 * (d1 - d0),
            (d2 - 2.0 * d1 + d0) / 6.0};
}

// Writes the nodes, and per leaf: where it begins, 1 / its width and the polynomial's coefficients;
// for degree 1 instead of the width and the second coefficient, the slope. coef: of the basis
// functions, knots.size() - 1 + degree of them.
inline void plant_pieces(std::span<const double> knots, const double* coef, int degree, int depth,
                         float* tree) {
    const std::size_t n_leaves = std::size_t{1} << depth;
    const std::size_t n_bins = knots.size() - 1;
    // The first leaf is for what is below the first knot.
    std::vector<double> nodes(1, -std::numeric_limits<double>::infinity());
    nodes.insert(nodes.end(), knots.begin(), knots.end());
    fill_nodes(nodes, depth, tree);
    for (std::size_t leaf = 0; leaf < n_leaves; ++leaf) {
        const std::size_t place = std::min(simd::reversed(leaf, depth), n_bins + 1);
        const bool is_beyond = place == 0 || place > n_bins;
        const std::size_t knot = place == 0 ? 0 : place - 1;
        const std::size_t bin = std::min(knot, n_bins - 1);
        std::array<double, 4> piece = piece_of(coef + bin, degree);
        if (place > n_bins) piece[0] += piece[1] + piece[2] + piece[3];  // the end of the last bin
        const double per_unit = is_beyond ? 0.0 : 1.0 / (knots[bin + 1] - knots[bin]);
        if (is_beyond) piece[1] = piece[2] = piece[3] = 0.0;
        float* at = tree + n_leaves + leaf;
        const auto put = [&](double number) {
            *at = static_cast<float>(number);
            at += n_leaves;
        };
        put(knots[knot]);
        if (degree > 1) put(per_unit);
        put(piece[0]);
        put(degree == 1 ? piece[1] * per_unit : piece[1]);
        for (int p = 2; p <= degree; ++p) put(piece[static_cast<std::size_t>(p)]);
    }
}

}  // namespace splinear
