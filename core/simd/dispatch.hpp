// Which instruction set to use.
#pragma once

#include <string>
#include <vector>

#include "simd/kernels.hpp"

namespace splinear::simd {

// The kernels that this processor can run, best first.
std::vector<const Kernels*> available();

// Their names, best first, and "reference": all reach the same optimum.
std::vector<std::string> names();

// The best of them, or what the environment variable SPLINEAR_INSTRUCTIONS names; null for
// "reference". Throws std::invalid_argument if it names none of them.
const Kernels* chosen();

// The padded length of a table of n_basis entries, or 0 if it is too long for the kernels: a
// multiple of 16 and more than n_basis, as the end of an axis is a bin of its own. For degree 2
// there is one more, as four entries are read at a time.
inline int padded_entries(int n_basis, int degree) noexcept {
    const int read = n_basis + (degree == 2 ? 1 : 0);
    return read < max_entries ? (read / 16 + 1) * 16 : 0;
}

}  // namespace splinear::simd
