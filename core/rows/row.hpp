// The type of row numbers.
#pragma once

#include <cstddef>

namespace splinear {

using Row = std::ptrdiff_t;

// A row number as an index into an array.
constexpr std::size_t index(Row row) noexcept { return static_cast<std::size_t>(row); }

}  // namespace splinear
