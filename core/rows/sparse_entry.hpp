// One value of a sparse row.
#pragma once

#include <cstdint>

namespace splinear {

// Where the table of its feature starts (see table_places.hpp), and the argument of the basis.
template <class Argument>
struct SparseEntry {
    std::uint32_t place;
    Argument argument;
};

}  // namespace splinear
