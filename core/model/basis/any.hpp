// The bases of the core, and a variant of all of them for choices at run time.
//
// `Sampled` supports any functions that Python provides. A basis that can be evaluated faster is a
// struct that satisfies `Basis`, in a file of its own; see CONTRIBUTING.md.
#pragma once

#include <concepts>
#include <variant>

#include "model/basis/bspline.hpp"
#include "model/basis/fourier.hpp"
#include "model/basis/hermite.hpp"
#include "model/basis/sampled.hpp"

namespace splinear {

// A basis has size() functions, of which at most support() consecutive ones are nonzero at any x.
// evaluate(x, w) writes the values of these to w and returns the index of the first.
template <class B>
concept Basis = requires(const B basis, double x, double* w) {
    { basis.size() } -> std::same_as<int>;
    { basis.support() } -> std::same_as<int>;
    { basis.evaluate(x, w) } -> std::same_as<int>;
};

using AnyBasis =
    std::variant<BSpline<0>, BSpline<1>, BSpline<2>, BSpline<3>, Fourier, Hermite, Sampled>;

inline int basis_size(const AnyBasis& basis) {
    return std::visit([](const Basis auto& b) { return b.size(); }, basis);
}

}  // namespace splinear
