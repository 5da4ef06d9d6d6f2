// Random banded matrices for tests, and their inverses as dense matrices.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "support/random.hpp"

namespace splinear::testing {

inline double draw(Random& random) {
    return static_cast<double>(random.next() % 2000) / 1000.0 - 1.0;
}

// n positive definite matrices, n x size x n_bands; entries beyond the end of a matrix are NaN.
inline std::vector<double> draw_bands(std::size_t n, std::size_t size, std::size_t n_bands) {
    Random random(n * 1000 + size * 10 + n_bands);
    std::vector<double> out;
    for (std::size_t j = 0; j < n; ++j)
        for (std::size_t k = 0; k < size; ++k)
            for (std::size_t p = 0; p < n_bands; ++p) {
                const double value = draw(random);
                const double most = 2.0 * static_cast<double>(n_bands);
                out.push_back(k + p >= size ? std::numeric_limits<double>::quiet_NaN()
                              : p == 0      ? most + std::abs(value)
                                            : value);
            }
    return out;
}

// One of them as a dense matrix.
inline std::vector<double> dense(const double* bands, std::size_t size, std::size_t n_bands) {
    std::vector<double> out(size * size);
    for (std::size_t k = 0; k < size; ++k)
        for (std::size_t p = 0; p < n_bands && k + p < size; ++p)
            out[k * size + k + p] = out[(k + p) * size + k] = bands[k * n_bands + p];
    return out;
}

// Its inverse, by Gauss-Jordan elimination.
inline std::vector<double> inverted(std::vector<double> a, std::size_t n) {
    std::vector<double> out(n * n);
    for (std::size_t k = 0; k < n; ++k) out[k * n + k] = 1.0;
    for (std::size_t k = 0; k < n; ++k) {
        const double pivot = a[k * n + k];
        for (std::size_t c = 0; c < n; ++c) a[k * n + c] /= pivot, out[k * n + c] /= pivot;
        for (std::size_t i = 0; i < n; ++i) {
            const double factor = a[i * n + k];
            if (i == k || factor == 0.0) continue;
            for (std::size_t c = 0; c < n; ++c) {
                a[i * n + c] -= factor * a[k * n + c];
                out[i * n + c] -= factor * out[k * n + c];
            }
        }
    }
    return out;
}

inline std::vector<double> times(const std::vector<double>& matrix, const double* x,
                                 std::size_t n) {
    std::vector<double> out(n);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t k = 0; k < n; ++k) out[i] += matrix[i * n + k] * x[k];
    return out;
}

}  // namespace splinear::testing
