// The paper's Fourier basis, without the constant function.
#pragma once

#include <cmath>
#include <numbers>

namespace splinear {

// cos(pi x), sin(pi x), cos(2 pi x), sin(2 pi x), ..., for `degree` frequencies on [-1, 1]. Only
// the first sine and cosine are computed; the rest follow from the angle addition formulas.
struct Fourier {
    int degree;

    int size() const noexcept { return 2 * degree; }
    int support() const noexcept { return size(); }

    int evaluate(double x, double* w) const noexcept {
        const double c = std::cos(std::numbers::pi * x);
        const double s = std::sin(std::numbers::pi * x);
        w[0] = c;
        w[1] = s;
        for (int n = 1; n < degree; ++n) {
            w[2 * n] = w[2 * n - 2] * c - w[2 * n - 1] * s;
            w[2 * n + 1] = w[2 * n - 1] * c + w[2 * n - 2] * s;
        }
        return 0;
    }
};

}  // namespace splinear
