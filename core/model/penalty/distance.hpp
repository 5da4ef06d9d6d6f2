// The distance between a model and the one that dual variables define, in the metric of the
// penalty: the certificate of Newton's method (see docs/mathematics.md).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "model/penalty/any.hpp"

namespace splinear {

struct Distance {
    double value = 0.0;   // c'S c, twice the penalty of the coefficients c
    double square = 0.0;  // q'S^{-1} q with q = S c + sums, twice the gap
};

// S = T^{-T} P T^{-1} with the diagonal matrix P given by `stiffness`. All spans have
// penalty.size() numbers per feature; `sums` are sum_i r_i B(x_ij). With d = T^{-1} c this is
// sum P d^2 and sum (P d + T'sums)^2 / P, so that S needs no inverse.
template <Penalty P>
Distance distance_of(const P& penalty, std::span<const double> coef, std::span<const double> sums,
                     std::span<const double> stiffness) {
    const auto size = static_cast<std::size_t>(penalty.size());
    std::vector<double> d(size);
    std::vector<double> embedded(size);
    Distance found;
    for (std::size_t begin = 0; begin < coef.size(); begin += size) {
        std::copy_n(&coef[begin], size, d.begin());
        std::copy_n(&sums[begin], size, embedded.begin());
        penalty.difference(d.data());
        penalty.embed(embedded.data());
        Distance own;
        for (std::size_t k = 0; k < size; ++k) {
            const double p = stiffness[begin + k];
            const double pull = p * d[k];
            own.value += pull * d[k];
            if (p > 0.0) own.square += (pull + embedded[k]) * (pull + embedded[k]) / p;
        }
        found.value += own.value;
        found.square += own.square;
    }
    return found;
}

}  // namespace splinear
