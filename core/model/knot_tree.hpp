// Builds the search trees of knots that vector kernels descend; see simd/knot_tree.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "model/knot_cells.hpp"
#include "simd/kernels.hpp"
#include "simd/knot_tree.hpp"
#include "support/pieces.hpp"

namespace splinear {

// The depth of a tree for n_bins bins, or 0 if there are too many.
inline int tree_depth(std::size_t n_bins) noexcept {
    int depth = simd::least_depth;
    while (depth <= simd::most_depth && (std::size_t{1} << depth) <= n_bins) ++depth;
    return depth <= simd::most_depth ? depth : 0;
}

inline bool is_moderate(double x) noexcept { return 1e-30 < x && x < 1e30; }
inline bool is_single(double x) noexcept { return static_cast<double>(static_cast<float>(x)) == x; }

// Whether the knots are exact in single precision, and the distances between them can be inverted
// there.
inline bool have_single_tree(std::span<const double> knots) noexcept {
    for (std::size_t k = 0; k < knots.size(); ++k)
        if (!is_single(knots[k]) || (k > 0 && !is_moderate(knots[k] - knots[k - 1]))) return false;
    return knots.size() > 1;
}

// The order of nodes and leaves in all trees of one depth, computed once for many trees.
class TreeOrder {
public:
    explicit TreeOrder(int depth)
        : depth_(depth), of_node_(std::size_t{1} << depth), of_leaf_(of_node_.size()) {
        for (int l = 0; l < depth; ++l)
            for (std::size_t i = 0; i < std::size_t{1} << l; ++i)
                of_node_[(std::size_t{1} << l) + i] = (2 * simd::reversed(i, l) + 1)
                                                      << static_cast<unsigned>(depth - l - 1);
        for (std::size_t leaf = 0; leaf < of_leaf_.size(); ++leaf)
            of_leaf_[leaf] = simd::reversed(leaf, depth);
    }

    int depth() const noexcept { return depth_; }
    std::size_t n_leaves() const noexcept { return of_leaf_.size(); }
    std::size_t bin_of_leaf(std::size_t leaf) const noexcept { return of_leaf_[leaf]; }

    // Writes n_leaves() numbers: the last knot, which is not a node, then the nodes of all levels,
    // padded with infinity. Bin b of the tree begins at knots[step * b - before].
    void write_nodes(std::span<const double> knots, std::size_t step, std::size_t before,
                     float* nodes) const noexcept {
        nodes[0] = static_cast<float>(knots.back());
        for (std::size_t i = 1; i < of_node_.size(); ++i)
            nodes[i] = knot_at(knots, step * of_node_[i] - before);
    }

    // The k-th knot, or infinity behind the last.
    static float knot_at(std::span<const double> knots, std::size_t k) noexcept {
        return k < knots.size() ? static_cast<float>(knots[k])
                                : std::numeric_limits<float>::infinity();
    }

private:
    int depth_;
    std::vector<std::size_t> of_node_;  // the bin that begins at a node
    std::vector<std::size_t> of_leaf_;  // the bin of a leaf
};

// Trees whose leaves are pairs of neighboring places. The places are, in order: below the first
// knot, the bins, and behind the last knot. So values need no clamping, and a tree has one level
// less: which place of the pair a value is in is decided by the knot between the two, at the end.
// With KnotForm::fences, leaves are not a tree but a row of all pairs of neighbors, so that every
// place but the first and the last is in two of them.
class PairTrees {
public:
    // Whether trees of n_bins bins are supported.
    static bool take(std::size_t n_bins) noexcept { return tree_depth(n_bins + 1) > 0; }

    // n_bins: the largest number of bins of a feature.
    PairTrees(std::size_t n_bins, simd::KnotForm form)
        : form_(form),
          n_pairs_(n_pieces(n_bins + 2, std::size_t{2})),
          n_in_a_row_(n_bins + (std::size_t{1} << bits_left_out(n_bins + 1))),
          order_(depth_for(n_bins)) {
        if (is_short()) sections_ = n_pieces(n_pairs_, std::size_t{simd::section_leaves});
    }

    int depth() const noexcept { return order_.depth(); }
    int sections() const noexcept { return static_cast<int>(sections_); }
    std::size_t n_floats() const noexcept {
        if (form_ == simd::KnotForm::fences) return simd::cell_floats + 4 * n_in_a_row_;
        return 5 * order_.n_leaves() * std::max(sections_, std::size_t{1});
    }

    // Writes the tree of one feature, n_floats() numbers. record(place) returns the four numbers
    // that the kernel needs of the leaf with the places `place` and place + 1.
    template <class Record>
    void plant(std::span<const double> knots, const Record& record, float* tree) const {
        if (form_ == simd::KnotForm::fences) return plant_in_a_row(knots, record, tree);
        const std::size_t n_leaves = order_.n_leaves();
        const std::size_t n_sections = std::max(sections_, std::size_t{1});
        const bool side_by_side = form_ == simd::KnotForm::sections && sections_ == 0;
        const std::size_t step = side_by_side ? 1 : n_leaves;
        order_.write_nodes(knots, 2 * n_sections, 1, tree);
        for (std::size_t s = 0; s < n_sections; ++s) {
            float* records = tree + (n_sections + 4 * s) * n_leaves;
            for (std::size_t leaf = 0; leaf < n_leaves; ++leaf) {
                const std::size_t place = 2 * (order_.bin_of_leaf(leaf) * n_sections + s);
                if (s > 0) tree[s * n_leaves + leaf] = TreeOrder::knot_at(knots, place - 1);
                const std::array<float, 4> numbers = record(place);
                float* to = records + leaf * (side_by_side ? 4 : 1);
                for (std::size_t i = 0; i < 4; ++i) to[i * step] = numbers[i];
            }
        }
    }

private:
    // Whether the leaves fit in a tree with sections.
    bool is_short() const noexcept {
        return form_ == simd::KnotForm::sections &&
               n_pairs_ <= std::size_t{simd::most_sections * simd::section_leaves};
    }

    int depth_for(std::size_t n_bins) const noexcept {
        if (is_short()) return simd::section_depth;
        return std::max(tree_depth(n_bins + 1) - 1, simd::least_depth);
    }

    // How many low bits of the numbers of leaves must go, so that 8 remain; see simd::n_cells.
    static int bits_left_out(std::size_t n_leaves) noexcept {
        return static_cast<int>(std::bit_width((n_leaves - 1) >> 8u));
    }

    // KnotForm::fences: one leaf per knot, for the places on both sides of it, so that a cell with
    // one knot needs one leaf; and behind the last, leaves for what is beyond all knots.
    template <class Record>
    void plant_in_a_row(std::span<const double> knots, const Record& record, float* tree) const {
        std::vector<float> all(knots.size());
        std::ranges::transform(knots, all.begin(), [](double x) { return static_cast<float>(x); });
        simd::CellMap map = map_to_cells(all, simd::n_cells);
        std::array<std::uint16_t, simd::n_cells> leaves;
        // A whole window of leaves must follow the first.
        first_leaves(map, all, all.size() - static_cast<std::size_t>(map.window), leaves);
        const std::int32_t left_out = bits_left_out(all.size());
        map.window += (1 << left_out) - 1;
        std::array<std::uint8_t, simd::n_cells> upper;
        std::ranges::transform(leaves, upper.begin(), [left_out](unsigned leaf) {
            return static_cast<std::uint8_t>(leaf >> left_out);
        });
        std::memcpy(tree, &map, sizeof map);
        std::memcpy(tree + sizeof map / sizeof(float), &left_out, sizeof left_out);
        std::memcpy(tree + simd::cell_map_floats, upper.data(), sizeof upper);
        float* records = tree + simd::cell_floats;
        for (std::size_t leaf = 0; leaf < n_in_a_row_; ++leaf) {
            const std::array<float, 4> numbers = record(leaf);
            std::copy(numbers.begin(), numbers.end(), records + 4 * leaf);
        }
    }

    simd::KnotForm form_;
    std::size_t n_pairs_;
    std::size_t n_in_a_row_;    // leaves, with fences
    std::size_t sections_ = 0;  // 0: a tree without sections
    TreeOrder order_;
};

}  // namespace splinear
