// The pieces of a curve between knots, by the leaves of a tree: see BinMap::trees.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "model/few_cells.hpp"
#include "model/knot_tree.hpp"
#include "simd/kernels.hpp"

namespace splinear {

// Coefficients of the polynomial in a, from 0 to 1, that the B-splines with these coefficients, of
// degree 2 or 3, are in one bin.
inline std::array<double, 4> piece_of(const double* c, int degree) noexcept {
    const double d0 = c[1] - c[0];
    const double d1 = c[2] - c[1];
    if (degree == 2) return {0.5 * (c[0] + c[1]), d0, 0.5 * (d1 - d0), 0.0};
    const double d2 = c[3] - c[2];
    return {(c[0] + 4.0 * c[1] + c[2]) / 6.0, 0.5 * (d0 + d1), 0.5 * (d1 - d0),
            (d2 - 2.0 * d1 + d0) / 6.0};
}

// Makes trees of one depth, of knots with the coefficients of the basis functions between them,
// n_bins + degree of them.
class PieceTrees {
public:
    static bool take(std::size_t n_bins) noexcept { return PairTrees::take(n_bins); }

    // For n_bins at most.
    PieceTrees(std::size_t n_bins, int degree, simd::KnotForm form)
        : pairs_(n_bins, form),
          order_(tree_depth(n_bins + 1)),
          degree_(degree),
          has_cells_(degree == 1 && form == simd::KnotForm::columns &&
                     pairs_.depth() <= simd::celled_depth),
          n_numbers_(3 + static_cast<std::size_t>(degree)) {}

    int depth() const noexcept { return degree_ == 1 ? pairs_.depth() : order_.depth(); }
    int sections() const noexcept { return pairs_.sections(); }

    // What a tree takes at most; more behind the last of them may be read, see simd::n_few_cells.
    std::size_t n_floats() const noexcept {
        if (degree_ != 1) return (1 + n_numbers_) * order_.n_leaves();
        const std::size_t n_cells = has_cells_ ? simd::few_cell_floats : 0;
        return whole_pieces(n_cells + pairs_.n_floats(), per_line);
    }
    std::size_t n_behind() const noexcept { return has_cells_ ? 2 * per_line : 0; }

    // Writes a tree, and returns where the next may begin.
    float* plant(std::span<const double> knots, const double* coef, float* tree) {
        if (degree_ == 1) return tree + plant_pairs(knots, coef, tree);
        plant_pieces(knots, coef, tree);
        return tree + n_floats();
    }

private:
    // Per leaf: where it begins, 1 / its width and the polynomial's coefficients. The first leaf is
    // for what is below the first knot.
    void plant_pieces(std::span<const double> knots, const double* coef, float* tree) {
        order_.write_nodes(knots, 1, 1, tree);
        const std::size_t n_bins = knots.size() - 1;
        const std::size_t n_places = n_bins + 2;
        places_.resize(n_places * n_numbers_);
        for (std::size_t bin = 0; bin < n_bins; ++bin)
            put(bin + 1, knots[bin], 1.0 / (knots[bin + 1] - knots[bin]),
                piece_of(coef + bin, degree_));
        const auto first = piece_of(coef, degree_);
        put(0, knots.front(), 0.0, {first[0], 0.0, 0.0, 0.0});
        const auto last = piece_of(coef + n_bins - 1, degree_);
        put(n_bins + 1, knots.back(), 0.0, {last[0] + last[1] + last[2] + last[3], 0.0, 0.0, 0.0});
        const std::size_t n_leaves = order_.n_leaves();
        for (std::size_t leaf = 0; leaf < n_leaves; ++leaf) {
            const std::size_t place = std::min(order_.bin_of_leaf(leaf), n_places - 1);
            for (std::size_t i = 0; i < n_numbers_; ++i)
                tree[(1 + i) * n_leaves + leaf] = places_[place * n_numbers_ + i];
        }
    }

    void put(std::size_t place, double begin, double per_unit, const std::array<double, 4>& piece) {
        float* to = &places_[place * n_numbers_];
        *to++ = static_cast<float>(begin);
        *to++ = static_cast<float>(per_unit);
        for (std::size_t p = 0; p + 2 < n_numbers_; ++p) *to++ = static_cast<float>(piece[p]);
    }

    // Per pair: the knot between the two, the curve's value there, its slopes below and above.
    // Returns how many floats that takes, whole cache lines.
    std::size_t plant_pairs(std::span<const double> knots, const double* coef, float* tree) const {
        const std::size_t n_bins = knots.size() - 1;
        const auto slope = [&](std::size_t place) {
            return place > 0 && place <= n_bins
                       ? static_cast<float>((coef[place] - coef[place - 1]) /
                                            (knots[place] - knots[place - 1]))
                       : 0.0f;
        };
        const auto record = [&](std::size_t place) {
            const std::size_t knot = std::min(place, n_bins);
            return std::array{static_cast<float>(knots[knot]), static_cast<float>(coef[knot]),
                              slope(place), slope(place + 1)};
        };
        if (has_cells_) {
            const FewCells cells(knots);
            cells.write_map(tree);
            if (cells.are_enough()) return whole_pieces(cells.write_leaves(record, tree), per_line);
        }
        pairs_.plant(knots, record, tree + (has_cells_ ? simd::few_cell_map_floats : 0));
        return n_floats();
    }

    static constexpr std::size_t per_line = 16;  // floats

    PairTrees pairs_;  // of degree 1
    TreeOrder order_;
    int degree_;
    bool has_cells_;
    std::size_t n_numbers_;      // per leaf, of other degrees
    std::vector<float> places_;  // those of one curve
};

}  // namespace splinear
