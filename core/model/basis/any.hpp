// Every basis of the core, as one run-time value.
//
// `Sampled` serves any functions that Python gives. One with a faster way to its values is a struct
// that satisfies `Basis`, in a file beside this one; CONTRIBUTING.md walks through it.
#pragma once

#include <concepts>
#include <variant>

#include "model/basis/bspline.hpp"
#include "model/basis/fourier.hpp"
#include "model/basis/hermite.hpp"
#include "model/basis/sampled.hpp"

namespace splinear {

// size() functions, of which support() consecutive ones may be non-zero at a place; evaluate(x, w)
// writes those and returns the index of the first.
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
