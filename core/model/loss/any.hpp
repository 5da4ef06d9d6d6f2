// The losses of the core, and a variant of all of them for choices at run time.
#pragma once

#include <concepts>
#include <variant>

#include "model/loss/epsilon_insensitive.hpp"
#include "model/loss/hinge.hpp"
#include "model/loss/logistic.hpp"
#include "model/loss/squared_error.hpp"
#include "model/loss/squared_hinge.hpp"

namespace splinear {

// What dual coordinate descent needs of a loss of the margin m, with cost c > 0 and dual variable
// alpha; hinge.hpp describes the members. q is the squared norm of the row's embedding. For
// regression, the residual takes the place of the margin.
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
