// Dot products.
#pragma once

#include <array>
#include <cstddef>
#include <numeric>

namespace splinear {

// sum_i a_i b_i, in an order of additions that allows vector instructions.
inline double dot(const double* a, const double* b, std::size_t n) noexcept {
    constexpr std::size_t lanes = 8;
    std::array<double, lanes> sums{};
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes)
        for (std::size_t l = 0; l < lanes; ++l) sums[l] += a[i + l] * b[i + l];
    for (std::size_t l = 0; i + l < n; ++l) sums[l] += a[i + l] * b[i + l];
    return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace splinear
