// Smoothed losses of margins, whose slope changes evenly over a width, and the losses themselves:
// the inner loops of sums over rows. See splinear/objective/margin_sums.py.
#pragma once

#include "simd/losses.hpp"

namespace splinear::simd {

enum class RampLoss { hinge, squared_hinge, epsilon_insensitive };

// Over what width, and around which slope, of rows with y = -1 and y = 1; for the last of the
// losses, of residuals below and above 0.
struct Ramp {
    RampLoss loss;
    double epsilon;
    double width;
    double low;
    double high;
};

// Of every row of a block; only `slope` and `bend` are those of the smoothed loss.
struct RampTerms {
    double slope[loss_rows];  // minus the derivative
    double bend[loss_rows];   // the second one
    double value[loss_rows];
    double gap[loss_rows];  // the row's part of the gap, times its cost, to a dual variable
};

// slope and bend at the margins.
void ramp_slopes(const Ramp& ramp, const Margins& at, const double* y, RampTerms& out);

// value, and the gap to dual variables alpha.
void ramp_gaps(const Ramp& ramp, const Margins& at, const double* alpha, RampTerms& out);

// Sums over a block: of cost times d times the slope at margins m + t d.
double slope_along(const Ramp& ramp, const Margins& at, const double* y, const double* d, double t);

}  // namespace splinear::simd
