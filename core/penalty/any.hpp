// Every penalty of the core, as one run-time value.
//
// A penalty is an invertible linear map T: the coefficients are T w, the embedding is T' B(x), and
// L = T T' carries a step on the embedding over to the coefficients.
#pragma once

#include <concepts>
#include <variant>

#include "penalty/diagonal.hpp"
#include "penalty/difference.hpp"

namespace splinear {

template <class P>
concept Penalty = requires(const P penalty, double* a, std::span<const double> w) {
    { penalty.size() } -> std::same_as<int>;
    penalty.embed(a);       // a <- T' a
    penalty.integrate(a);   // a <- T a
    penalty.smooth(a);      // a <- L a
    penalty.difference(a);  // a <- T^{-1} a
    { penalty.quadratic(0, w) } -> std::same_as<double>;
};

using AnyPenalty = std::variant<DifferencePenalty, DiagonalPenalty>;

}  // namespace splinear
