// One nonzero value of a sparse row.
#pragma once

#include <cstdint>

namespace splinear {

template <class Argument>
struct SparseEntry {
    std::uint32_t place;  // start of its feature's table, see table_places.hpp
    Argument argument;    // of the basis
};

}  // namespace splinear
