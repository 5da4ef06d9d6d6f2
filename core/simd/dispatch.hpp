// Which instruction set to use.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simd/kernels.hpp"

namespace splinear::simd {

// The kernels that this processor can run, best first.
std::vector<const Kernels*> available();

}  // namespace splinear::simd
