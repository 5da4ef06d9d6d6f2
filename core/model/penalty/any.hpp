// The penalties of the core, and a variant of all of them for choices at run time.
//
// A penalty is an invertible linear map T, size x size, that turns 1/2 |w|^2 into a penalty on the
// coefficients T w. The embedding is T'B(x), and a step along it changes the coefficients by
// L B(x), L = T T'.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <variant>
#include <vector>

#include "model/penalty/diagonal.hpp"
#include "model/penalty/difference.hpp"
#include "model/penalty/matrix.hpp"

namespace splinear {

template <class P>
concept Penalty = requires(const P penalty, double* a, std::span<const double> w) {
    { penalty.size() } -> std::same_as<int>;
    penalty.embed(a);                 // a = T'a, in place
    penalty.integrate(a);             // a = T a
    penalty.smooth(a);                // a = L a
    penalty.difference(a);            // a = T^{-1} a
    penalty.difference_transpose(a);  // a = T^{-T} a
    // quadratic(first, w) = v'L v, where v holds w from index `first` on and 0 elsewhere.
    { penalty.quadratic(0, w) } -> std::same_as<double>;
};

// |w|^2 = sum_j |T^{-1} coef_j|^2 / s_j^2. The coefficients coef_j are the first penalty.size() of
// `stride` numbers per feature, and the variances are s_j^2. Features of variance 0 are skipped.
template <Penalty P, class Variance>
double squared_weight(const P& penalty, const std::vector<double>& coef, std::size_t stride,
                      const Variance& variance) {
    const auto size = static_cast<std::size_t>(penalty.size());
    std::vector<double> w(size);
    double total = 0.0;
    for (std::size_t j = 0; j < variance.size(); ++j) {
        if (variance[j] == 0) continue;
        std::copy_n(coef.data() + j * stride, size, w.begin());
        penalty.difference(w.data());
        double sum = 0.0;
        for (const double v : w) sum += v * v;
        total += sum / static_cast<double>(variance[j]);
    }
    return total;
}

using AnyPenalty = std::variant<DifferencePenalty, DiagonalPenalty, MatrixPenalty>;

}  // namespace splinear
