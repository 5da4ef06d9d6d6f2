// The knots of one feature as a tree that many values descend together, without a branch.
//
// A tree of depth d has 2^d leaves, one per bin and one more for what is at the last knot. At level
// l = 0, ..., d - 1 a value goes up if it is not below a node. Bit m of a number says whether it
// went up at level m: so 2^l + (the number so far) is the place of the next node, and the number of
// a leaf is that of its bin with the bits in reverse. Numbers grow by a bit at the high end, so the
// nodes of a level are looked up by what is known so far, as it stands.
#pragma once

#include <cstddef>
#include <cstdint>

namespace splinear::simd {

inline constexpr int least_depth = 4;
inline constexpr int most_depth = 11;

// A tree in sections has three levels, eight nodes of which the first is none, and then up to this
// many leaves behind each other where others have one. Per section but the first follow the eight
// numbers, one for each way through the three levels, from which on a value is in it; and per
// section, four times eight: what is in its leaves.
inline constexpr int most_sections = 4;
inline constexpr int section_depth = 3;
inline constexpr int section_leaves = 1 << section_depth;

// A first guess where a value is, for leaves in a row: the bits of x - origin, held between two
// numbers, that are above `shift` count cells from `first` on, which grow with the distance from
// the origin. A table holds the first of `window` leaves, in one of which a value of a cell is.
struct CellMap {
    float origin;
    float least;
    float most;
    std::int32_t shift;
    std::int32_t first;
    std::int32_t window;
};

// With KnotForm::columns, a tree of degree 1 with at most celled_depth levels begins with a map to
// few cells, and how many floats a table has. If its window is 0, the tree follows. Otherwise there
// follow 8 bits per cell, the first of its leaves, from which a value takes at most `window` steps
// to its own; and tables of the leaves in ascending order: the number from which on a value is
// beyond each, NaN for the last; and their records, first one number of all of them, then the next.
// Tables may be read beyond their ends.
inline constexpr int celled_depth = 5;
inline constexpr int n_few_cells = 64;
inline constexpr int most_steps = 3;  // more take longer than a tree
inline constexpr int few_cell_map_floats = 8;
inline constexpr int few_cell_floats = few_cell_map_floats + n_few_cells / 4;

// As KnotForm::fences has it: the map; how many low bits the numbers of first leaves are without; 8
// bits per cell, the first of its leaves; and the records, each of which begins with its knot. No
// bits are left out unless 8 are too few; windows are longer than two leaves then.
inline constexpr int n_cells = 256;
inline constexpr int cell_map_floats = 8;
inline constexpr int cell_floats = cell_map_floats + n_cells / 4;

// The last `depth` bits of a number, in reverse.
constexpr std::size_t reversed(std::size_t number, int depth) noexcept {
    std::size_t out = 0;
    for (int l = 0; l < depth; ++l) out |= ((number >> l) & 1u) << (depth - 1 - l);
    return out;
}

}  // namespace splinear::simd
