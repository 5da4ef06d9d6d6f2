// The number of a row.
#pragma once

#include <cstddef>

namespace splinear {

using Row = std::ptrdiff_t;

// A row's place in an array.
constexpr std::size_t index(Row row) noexcept { return static_cast<std::size_t>(row); }

}  // namespace splinear
