// Every loss of the core, as one run-time value.
#pragma once

#include <concepts>
#include <variant>

#include "loss/hinge.hpp"
#include "loss/squared_hinge.hpp"

namespace splinear {

// A loss of the margin m with dual variable alpha >= 0, at cost c > 0; see hinge.hpp for each
// member.
template <class L>
concept DualLoss = requires(double alpha, double margin, double q, double c) {
    { L::value(margin) } -> std::same_as<double>;
    { L::dual(alpha, c) } -> std::same_as<double>;
    { L::step(alpha, margin, q, c) } -> std::same_as<double>;
    { L::slope(alpha, margin, c) } -> std::same_as<double>;
    { L::gap(alpha, margin, c) } -> std::same_as<double>;
};

using AnyLoss = std::variant<Hinge, SquaredHinge>;

}  // namespace splinear
