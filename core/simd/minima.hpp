// The inner loop of the kernel of minima.
#pragma once

#include <cstddef>

namespace splinear::simd {

inline constexpr std::size_t minima_depth = 8;  // features that are taken together

// sum[b] += sum_{k < minima_depth} min(x[k], y[k * n + b]) for b < n, added up in the order of k:
// the same to the bit on every processor.
void add_minima(const double* x, const double* y, std::size_t n, double* sum);

}  // namespace splinear::simd
