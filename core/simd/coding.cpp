#include "simd/coding.hpp"

#include "simd/clones.hpp"

namespace splinear::simd {
namespace {

template <class Real>
SPLINEAR_INLINE void code(const Coder& coder, const Real* x, std::uint16_t* out) {
    const double* prescale = coder.prescale;
    const double* lo = coder.lo;
    const double* slope = coder.slope;
    const double rounding = coder.rounding;
    const double last = coder.last;
    const double nan = coder.nan;
    for (std::size_t j = 0; j < coder.n_features; ++j) {
        double a = (static_cast<double>(x[j]) * prescale[j] - lo[j]) * slope[j];
        a = a > 0.0 ? a : 0.0;
        a += rounding;
        a = a < last ? a : last;
        a = x[j] == x[j] ? a : nan;
        out[j] = static_cast<std::uint16_t>(static_cast<std::int32_t>(a));
    }
}

constexpr std::size_t few_knots = 16;  // that are passed faster than searched

// The number of the cell that each of column_rows values lies in. Every value is compared with
// every knot; lanes are rows.
SPLINEAR_INLINE void pass_knots(const AxisMap& axis, const double* x, std::int64_t* at) {
    for (std::size_t i = 0; i < column_rows; ++i) at[i] = 0;
    for (std::size_t k = 1; k + 1 < axis.n_knots; ++k) {
        const double knot = axis.knots[k];
        for (std::size_t i = 0; i < column_rows; ++i) at[i] += x[i] >= knot ? 1 : 0;
    }
}

// The same by halving; the rows go step by step together, so that none waits for another's.
SPLINEAR_INLINE void search_knots(const AxisMap& axis, const double* x, std::int64_t* at) {
    for (std::size_t i = 0; i < column_rows; ++i) at[i] = 0;
    for (auto n = static_cast<std::int64_t>(axis.n_knots - 1); n > 1; n -= n / 2)
        for (std::size_t i = 0; i < column_rows; ++i)
            at[i] += n / 2 * static_cast<std::int64_t>(axis.knots[at[i] + n / 2] <= x[i]);
}

SPLINEAR_INLINE void warp(const AxisMap& axis, const double* x, double* argument) {
    const double* knots = axis.knots;
    const double front = knots[0];
    const double back = knots[axis.n_knots - 1];
    const auto n_cells = static_cast<double>(axis.n_knots - 1);
    const double first = axis.first;
    const double last = axis.last;
    double inside[column_rows];
    for (std::size_t i = 0; i < column_rows; ++i) inside[i] = x[i] > front ? x[i] : front;
    std::int64_t at[column_rows];
    if (axis.n_knots <= few_knots)
        pass_knots(axis, inside, at);
    else
        search_knots(axis, inside, at);
    for (std::size_t i = 0; i < column_rows; ++i) {
        const double left = knots[at[i]];
        const double fraction = (inside[i] - left) / (knots[at[i] + 1] - left);
        const double cell = static_cast<double>(static_cast<std::int32_t>(at[i]));
        const double a = first + (cell + fraction) * (last - first) / n_cells;
        argument[i] = inside[i] >= back ? last : a;
    }
}

SPLINEAR_INLINE void go_straight(const AxisMap& axis, const double* x, double* argument) {
    for (std::size_t i = 0; i < column_rows; ++i)
        argument[i] = axis.first + (x[i] * axis.prescale - axis.lo) * axis.slope;
}

template <class Code>
SPLINEAR_INLINE void round(const Rounding& how, const double* argument, Code* out) {
    const Rounding h = how;  // out cannot point into it
    for (std::size_t i = 0; i < column_rows; ++i) {
        const double a = (argument[i] - h.first) * h.steps + h.rounding;
        out[i] = static_cast<Code>(static_cast<std::int32_t>(a < h.last ? a : h.last));
    }
}

template <int Degree>
SPLINEAR_INLINE double curve_value(const double* c, double a) {
    const double left = 1.0 - a;
    if constexpr (Degree == 0) {
        return c[0];
    } else if constexpr (Degree == 1) {
        return c[0] * left + c[1] * a;
    } else if constexpr (Degree == 2) {
        const double w0 = 0.5 * left * left;
        const double w2 = 0.5 * a * a;
        return c[0] * w0 + c[1] * (1.0 - w0 - w2) + c[2] * w2;
    } else {
        const double w0 = left * left * left / 6.0;
        const double w1 = 2.0 / 3.0 - a * a * (1.0 - 0.5 * a);
        const double w3 = a * a * a / 6.0;
        return c[0] * w0 + c[1] * w1 + c[2] * (1.0 - w0 - w1 - w3) + c[3] * w3;
    }
}

template <int Degree>
SPLINEAR_INLINE void add_values(const SplineCurve& curve, const double* argument, double* out) {
    const double* coef = curve.coef;
    const std::int32_t last = curve.n_bins - 1;
    for (std::size_t i = 0; i < column_rows; ++i) {
        const auto whole = static_cast<std::int32_t>(argument[i]);
        const std::int32_t bin = whole < last ? whole : last;
        out[i] += curve_value<Degree>(coef + bin, argument[i] - static_cast<double>(bin));
    }
}

}  // namespace

SPLINEAR_CLONES void add_curve(const SplineCurve& curve, const double* argument, double* out) {
    switch (curve.degree) {
        case 0: return add_values<0>(curve, argument, out);
        case 1: return add_values<1>(curve, argument, out);
        case 2: return add_values<2>(curve, argument, out);
        default: return add_values<3>(curve, argument, out);
    }
}

SPLINEAR_CLONES void place_column(const AxisMap& axis, const double* x, double* out) {
    double argument[column_rows];
    if (axis.knots == nullptr)
        go_straight(axis, x, argument);
    else
        warp(axis, x, argument);
    for (std::size_t i = 0; i < column_rows; ++i) {
        const double a = argument[i] > axis.first ? argument[i] : axis.first;
        out[i] = a < axis.last ? a : axis.last;
    }
}

SPLINEAR_CLONES void round_column(const Rounding& how, const double* argument, std::uint16_t* out) {
    round(how, argument, out);
}

SPLINEAR_CLONES void round_column(const Rounding& how, const double* argument, std::uint32_t* out) {
    round(how, argument, out);
}

SPLINEAR_CLONES void code_row(const Coder& coder, const float* x, std::uint16_t* out) {
    code(coder, x, out);
}

SPLINEAR_CLONES void code_row(const Coder& coder, const double* x, std::uint16_t* out) {
    code(coder, x, out);
}

}  // namespace splinear::simd
