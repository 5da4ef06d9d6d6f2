// The squared norm of the embedding of one value, B(x)'L B(x), as one polynomial per bin. Kernels
// evaluate these instead of products with L.
#pragma once

#include <array>
#include <cstddef>

#include "model/basis/bspline.hpp"
#include "model/penalty/difference.hpp"
#include "support/aligned.hpp"

namespace splinear {

// The coefficients, lowest degree first, of the polynomial through the points (at[i], value[i]), by
// Newton's divided differences.
template <std::size_t N>
std::array<double, N> newton_to_monomial(const std::array<double, N>& at,
                                         std::array<double, N> value) {
    for (std::size_t k = 1; k < N; ++k)
        for (std::size_t i = N - 1; i >= k; --i)
            value[i] = (value[i] - value[i - 1]) / (at[i] - at[i - k]);
    std::array<double, N> out{};
    for (std::size_t k = N; k-- > 0;) {
        for (std::size_t i = N - 1; i > 0; --i) out[i] = out[i - 1] - at[k] * out[i];
        out[0] = value[k] - at[k] * out[0];
    }
    return out;
}

// B(a)'L B(a) in the given bin, as a polynomial of degree 2 r in the fraction a, interpolated at
// 2 r + 1 points.
template <int Degree>
std::array<double, 2 * Degree + 1> norm_polynomial(const DifferencePenalty& penalty, int bin) {
    constexpr std::size_t n = 2 * Degree + 1;
    std::array<double, n> at{};
    std::array<double, n> value;
    for (std::size_t i = 0; i < n; ++i) {
        if (n > 1) at[i] = static_cast<double>(i) / static_cast<double>(n - 1);
        std::array<double, Degree + 1> w;
        BSpline<Degree>::weights(at[i], w.data());
        value[i] = penalty.quadratic(bin, w);
    }
    return newton_to_monomial(at, value);
}

// The polynomials of all bins: coefficient i of bin k is at [i * entries + k], entries > n_bins.
template <int Degree>
AlignedFloats norm_polynomials(const DifferencePenalty& penalty, int n_bins, std::size_t entries) {
    AlignedFloats out((2 * Degree + 1) * entries);
    const auto last = static_cast<std::size_t>(n_bins);
    for (std::size_t k = 0; k < last; ++k) {
        const auto coefficients = norm_polynomial<Degree>(penalty, static_cast<int>(k));
        for (std::size_t i = 0; i < coefficients.size(); ++i)
            out[i * entries + k] = static_cast<float>(coefficients[i]);
    }
    // The code of the right end of the axis is fraction 0 of one more bin.
    if constexpr (Degree > 0) {
        std::array<double, Degree + 1> w;
        BSpline<Degree>::weights(1.0, w.data());
        out[last] = static_cast<float>(penalty.quadratic(n_bins - 1, w));
    }
    return out;
}

}  // namespace splinear
