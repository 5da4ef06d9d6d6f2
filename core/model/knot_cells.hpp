// Builds maps from values to small ranges of knots by the bits of a float; see simd::CellMap.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "simd/knot_tree.hpp"

namespace splinear {

// The index of a value's cell, as the kernels compute it.
inline int cell_of(const simd::CellMap& map, float x) noexcept {
    const float y = std::min(std::max(x - map.origin, map.least), map.most);
    return (std::bit_cast<std::int32_t>(y) >> map.shift) - map.first;
}

// The largest number of knots in one cell.
inline int most_in_a_cell(const simd::CellMap& map, std::span<const float> knots) noexcept {
    int most = 0;
    int n = 0;
    int last = -1;
    for (const float knot : knots) {
        const int cell = cell_of(map, knot);
        n = cell == last ? n + 1 : 1;
        last = cell;
        most = std::max(most, n);
    }
    return most;
}

// The map that drops the lowest `shift` bits of x - origin. Cells have equal widths between powers
// of two, so the closer the origin is below the first knot, the more cells are near that knot; it
// is as close as n_cells cells allow.
inline simd::CellMap cells_with(int shift, std::span<const float> knots, int n_cells) noexcept {
    const auto bits = [](float x) { return std::bit_cast<std::int32_t>(x); };
    const std::int32_t span_of_cells = (n_cells - 2) << shift;
    const std::int32_t least_bits = bits(std::numeric_limits<float>::min()) + span_of_cells;
    const float span = knots.back() - knots.front();
    float before = 0.0f;
    for (int i = 0; i < 40; ++i) {  // a fixed-point iteration; each step at least halves the error
        const float last = before;
        before = std::bit_cast<float>(std::max(bits(span + before), least_bits) - span_of_cells);
        if (before == last) break;
    }
    const float origin = knots.front() - before;
    const float most = std::max(knots.back() - origin, before);
    return {origin, before, most, shift, bits(before) >> shift, 0};
}

// The map to at most n_cells cells, a power of two, with the fewest knots in one cell. Falls back
// to a single cell for all knots.
inline simd::CellMap map_to_cells(std::span<const float> knots, int n_cells) noexcept {
    constexpr int mantissa_bits = 23;
    const int even = mantissa_bits - std::countr_zero(static_cast<unsigned>(n_cells));
    simd::CellMap best{0.0f, 0.0f, 0.0f, 0, 0, static_cast<int>(knots.size())};
    for (int shift = mantissa_bits - 1; shift >= even && best.window > 1; --shift) {
        simd::CellMap map = cells_with(shift, knots, n_cells);
        map.window = most_in_a_cell(map, knots);
        if (cell_of(map, knots.back()) < n_cells && map.window < best.window) best = map;
    }
    return best;
}

// The first leaf of every cell: the number of knots in earlier cells, but at most `last`.
template <class Leaf, std::size_t N>
void first_leaves(const simd::CellMap& map, std::span<const float> knots, std::size_t last,
                  std::array<Leaf, N>& leaves) noexcept {
    std::size_t leaf = 0;
    for (std::size_t cell = 0; cell < N; ++cell) {
        while (leaf < last && cell_of(map, knots[leaf]) < static_cast<int>(cell)) ++leaf;
        leaves[cell] = static_cast<Leaf>(leaf);
    }
}

}  // namespace splinear
