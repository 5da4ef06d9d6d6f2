// Pairs of pieces behind a map to few cells; see simd::n_few_cells.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "model/knot_cells.hpp"
#include "simd/knot_tree.hpp"
#include "support/pieces.hpp"

namespace splinear {

// The leaves of PairTrees in ascending order, found by cells where these tell them apart.
class FewCells {
public:
    explicit FewCells(std::span<const double> knots) {
        for (std::size_t k = 1; k < knots.size(); k += 2)
            fences_.push_back(static_cast<float>(knots[k]));
        map_ = map_to_cells(fences_, simd::n_few_cells);
        if (map_.window > simd::most_steps) map_.window = 0;
    }

    // False if a tree is to follow the map.
    bool are_enough() const noexcept { return map_.window > 0; }

    void write_map(float* tree) const noexcept {
        const auto n_entries = static_cast<std::int32_t>(size());
        static_assert(sizeof map_ + sizeof n_entries <= simd::few_cell_map_floats * sizeof(float));
        std::memcpy(tree, &map_, sizeof map_);
        std::memcpy(tree + sizeof map_ / sizeof(float), &n_entries, sizeof n_entries);
    }

    // Writes what follows the map if cells are enough, and returns how many floats it all takes;
    // record as in PairTrees.
    template <class Record>
    std::size_t write_leaves(const Record& record, float* tree) const {
        write_cells(tree + simd::few_cell_map_floats);
        float* fences = tree + simd::few_cell_floats;
        const std::size_t n = size();
        for (std::size_t leaf = 0; leaf < n; ++leaf) {
            fences[leaf] =
                leaf < fences_.size() ? fences_[leaf] : std::numeric_limits<float>::quiet_NaN();
            const std::array<float, 4> numbers = record(2 * leaf);
            for (std::size_t i = 0; i < 4; ++i) fences[(1 + i) * n + leaf] = numbers[i];
        }
        return simd::few_cell_floats + 5 * n;
    }

private:
    // Entries per table: a leaf more than fences, and whole vectors of eight.
    std::size_t size() const noexcept { return whole_pieces(fences_.size() + 1, std::size_t{8}); }

    // The first leaf of each cell. Kernels do not subtract map.first: the low bits alone tell the
    // cells apart.
    void write_cells(float* to) const noexcept {
        std::array<std::uint8_t, simd::n_few_cells> leaves;
        first_leaves(map_, fences_, fences_.size(), leaves);
        std::rotate(leaves.begin(), leaves.end() - map_.first % simd::n_few_cells, leaves.end());
        std::memcpy(to, leaves.data(), sizeof leaves);
    }

    std::vector<float> fences_;  // between the leaves: every other knot
    simd::CellMap map_;
};

}  // namespace splinear
