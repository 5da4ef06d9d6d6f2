// Every loss of the core, as one run-time value.
#pragma once

#include <concepts>
#include <variant>

#include "model/loss/epsilon_insensitive.hpp"
#include "model/loss/hinge.hpp"
#include "model/loss/logistic.hpp"
#include "model/loss/squared_error.hpp"
#include "model/loss/squared_hinge.hpp"

namespace splinear {

// A loss of the margin m, at cost c > 0, with dual variable alpha; see hinge.hpp for each member.
// A loss for regression is one of the residual, which takes the place of the margin.
template <class L>
concept DualLoss = requires(const L loss, double alpha, double margin, double q, double c) {
    { loss.value(margin) } -> std::same_as<double>;
    { loss.dual(alpha, c) } -> std::same_as<double>;
    { loss.nearest(alpha, c) } -> std::same_as<double>;
    { loss.step(alpha, margin, q, c) } -> std::same_as<double>;
    { loss.at_rest(alpha, margin, q, c) } -> std::same_as<bool>;
    { loss.slope(alpha, margin, c) } -> std::same_as<double>;
    { loss.gap(alpha, margin, c) } -> std::same_as<double>;
};

using AnyLoss = std::variant<Hinge, SquaredHinge, Logistic, SquaredError, EpsilonInsensitive>;

}  // namespace splinear
