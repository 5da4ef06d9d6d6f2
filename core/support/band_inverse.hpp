// The entries of the inverse of a banded matrix that are inside its band.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "support/checks.hpp"

namespace splinear {

// The entries of (L L')^{-1} inside the band of L, a lower triangular matrix with n_bands bands, by
// Takahashi's equations, in n n_bands^2 operations. L (`factor`) and the result are n_bands x n, as
// in LAPACK: entry [p, k] is that at (k + p, k). Throws std::invalid_argument if the size is wrong
// or a diagonal entry is not positive.
inline std::vector<double> band_inverse(std::span<const double> factor, std::size_t n_bands) {
    const std::size_t n = n_bands > 0 ? factor.size() / n_bands : 0;
    must_be("the size of the factor", factor.size(), n * n_bands);
    must(std::all_of(factor.begin(), factor.begin() + static_cast<std::ptrdiff_t>(n),
                     [](double pivot) { return pivot > 0.0; }),
         "pivots must be above 0");
    std::vector<double> out(factor.size());
    const auto entry = [&](std::size_t i, std::size_t j) -> double& {
        return i >= j ? out[(i - j) * n + j] : out[(j - i) * n + i];
    };
    for (std::size_t j = n; j-- > 0;) {
        const double pivot = factor[j];
        const std::size_t last = std::min(n - 1, j + n_bands - 1);
        for (std::size_t i = last + 1; i-- > j;) {
            double sum = i == j ? 1.0 / pivot : 0.0;
            for (std::size_t k = j + 1; k <= last; ++k)
                sum -= entry(i, k) * factor[(k - j) * n + j];
            entry(i, j) = sum / pivot;
        }
    }
    return out;
}

}  // namespace splinear
