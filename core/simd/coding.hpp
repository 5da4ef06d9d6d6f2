// Turning rows of values into codes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace splinear::simd {

// out[j] = min(max((x[j] prescale[j] - lo[j]) slope[j], 0) + rounding, last), rounded down.
struct Coder {
    const double* prescale;
    const double* lo;
    const double* slope;  // codes per unit
    double rounding;
    double last;
    std::size_t n_features;
};

// The same to the bit on every processor. A NaN becomes 0.
void code_row(const Coder& coder, const float* x, std::uint16_t* out);
void code_row(const Coder& coder, const double* x, std::uint16_t* out);

}  // namespace splinear::simd
