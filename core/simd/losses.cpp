#include "simd/losses.hpp"

#include <bit>
#include <cmath>

#include "simd/clones.hpp"

namespace splinear::simd {
namespace {

// The polynomial in x of these coefficients, that of the highest power first.
template <class... Rest>
SPLINEAR_INLINE double horner(double x, double sum, Rest... rest) {
    ((sum = sum * x + rest), ...);
    return sum;
}

constexpr double farthest = 708.0;  // beyond it exp(-m) counts as 0

// exp(-far) for 0 <= far <= farthest, by 2^n exp(r) with |r| <= log(2) / 2 and Taylor's series; NaN
// stays NaN.
SPLINEAR_INLINE double exp_of_minus(double far) {
    constexpr double rounder = 6755399441055744.0;  // 1.5 x 2^52: adding it rounds to integers
    constexpr double log2_of_e = 1.4426950408889634;
    constexpr double ln2_high =
        0.693147180369123816490;  // its products with small integers are exact
    constexpr double ln2_low = 1.90821492927058770002e-10;
    const double shifted = rounder - far * log2_of_e;
    const double n = shifted - rounder;
    const double r = (-far - n * ln2_high) - n * ln2_low;
    const double sum = horner(r, 1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0,
                              1.0 / 3628800.0, 1.0 / 362880.0, 1.0 / 40320.0, 1.0 / 5040.0,
                              1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0);
    const auto exponent = (std::bit_cast<std::uint64_t>(shifted) + 1023) << 52;
    return sum * std::bit_cast<double>(exponent);
}

// log(1 + e) for 0 <= e <= 1: twice the area tangent of s = e / (2 + e), whose series is in s^2 <=
// 1 / 9. Nothing cancels.
SPLINEAR_INLINE double log_of_one_and(double e) {
    const double s = e / (2.0 + e);
    const double z = s * s;
    const double sum =
        horner(z, 1.0 / 33, 1.0 / 31, 1.0 / 29, 1.0 / 27, 1.0 / 25, 1.0 / 23, 1.0 / 21, 1.0 / 19,
               1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1.0);
    return 2.0 * s * sum;
}

// What depends on the side of 0 that m is on is chosen by a factor of 0 or 1: a choice would become
// a branch.
template <bool with_value>
SPLINEAR_INLINE void logistic(const Margins& at, LossTerms& out) {
    double near[loss_rows];  // in a loop of its own, or the compiler would branch off the bound
    for (std::size_t i = 0; i < loss_rows; ++i) {
        const double far = std::fabs(at.margin[i]);
        near[i] = farthest < far ? farthest : far;
    }
    for (std::size_t i = 0; i < loss_rows; ++i) {
        const double m = at.margin[i];
        const double c = at.cost[i];
        const double is_near = 0.5 + std::copysign(0.5, farthest - std::fabs(m));
        const double e = is_near * exp_of_minus(near[i]);
        const double rare = e / (1.0 + e);  // the smaller of both probabilities, to all its digits
        const double often = 1.0 - rare;
        const double is_right = 0.5 + std::copysign(0.5, m);
        const double wrong = is_right * rare + (1.0 - is_right) * often;
        const double bend = c * rare * often;
        out.slope[i] = -c * wrong;
        out.bend[i] = bend;
        out.third[i] = bend * (2.0 * wrong - 1.0);
        if constexpr (with_value) out.value[i] = c * (0.5 * (std::fabs(m) - m) + log_of_one_and(e));
    }
}

}  // namespace

SPLINEAR_CLONES void read_margins(const LossRows& rows, double shift, std::size_t first,
                                  std::size_t n, Margins& out) {
    const double* scores = rows.scores + first;
    const std::int8_t* y = rows.y + first;
    const double negative = 0.5 * rows.cost_negative;
    const double positive = 0.5 * rows.cost_positive;
    for (std::size_t i = 0; i < n; ++i) {
        const double sign = y[i];
        out.margin[i] = sign * (scores[i] + shift);
        out.cost[i] = (1.0 + sign) * positive + (1.0 - sign) * negative;
    }
    if (rows.targets != nullptr)
        for (std::size_t i = 0; i < n; ++i) out.margin[i] -= rows.targets[first + i];
    if (rows.weights != nullptr)
        for (std::size_t i = 0; i < n; ++i) out.cost[i] *= rows.weights[first + i];
    for (std::size_t i = n; i < loss_rows; ++i) out.margin[i] = out.cost[i] = 0.0;
}

SPLINEAR_CLONES void logistic_terms(const Margins& at, LossTerms& out) { logistic<true>(at, out); }

SPLINEAR_CLONES void logistic_derivatives(const Margins& at, LossTerms& out) {
    logistic<false>(at, out);
}

SPLINEAR_CLONES void squared_error_terms(const Margins& at, LossTerms& out) {
    for (std::size_t i = 0; i < loss_rows; ++i) {
        const double m = at.margin[i];
        out.value[i] = 0.5 * at.cost[i] * m * m;
        out.slope[i] = at.cost[i] * m;
        out.bend[i] = at.cost[i];
        out.third[i] = 0.0;
    }
}

}  // namespace splinear::simd
