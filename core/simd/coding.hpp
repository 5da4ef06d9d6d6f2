// Turning values into codes: a row of all features at once, or first a column into arguments; and
// the values of a curve at those.
#pragma once

#include <cstddef>
#include <cstdint>

namespace splinear::simd {

// out[j] = min(max((x[j] prescale[j] - lo[j]) slope[j], 0) + rounding, last), rounded down.
struct Coder {
    const double* prescale;
    const double* lo;
    const double* slope;  // codes per unit
    double rounding;
    double last;
    double nan;  // the code of a NaN
    std::size_t n_features;
};

// The same to the bit on every processor.
void code_row(const Coder& coder, const float* x, std::uint16_t* out);
void code_row(const Coder& coder, const double* x, std::uint16_t* out);

// What Axis::argument() computes from, for one feature.
struct AxisMap {
    const double* knots;  // ascending, a finite distance apart; null: a straight line
    std::size_t n_knots;
    double prescale;  // of a straight line
    double lo;
    double slope;
    double first;
    double last;
};

inline constexpr std::size_t column_rows = 64;  // values that are placed at a time

// out[i] = Axis::argument(x[i]) for column_rows values, to the bit.
void place_column(const AxisMap& axis, const double* x, double* out);

// out[i] += sum_p coef[bin + p] B_p(argument[i] - bin) for column_rows arguments from 0 to n_bins,
// of B-splines of that degree; B_p as in BSpline::weights(), to the bit.
struct SplineCurve {
    const double* coef;
    int degree;
    int n_bins;
};
void add_curve(const SplineCurve& curve, const double* argument, double* out);

// out[i] = min((argument[i] - first) steps + rounding, last), rounded down; column_rows of them.
struct Rounding {
    double first;
    double steps;  // codes per unit of the argument
    double rounding;
    double last;
};
void round_column(const Rounding& how, const double* argument, std::uint16_t* out);
void round_column(const Rounding& how, const double* argument, std::uint32_t* out);

}  // namespace splinear::simd
