// Sums over the rows of smoothed hinge, squared hinge and epsilon-insensitive losses, for Newton's
// method. The kink of a loss is replaced by a parabola: the slope becomes a ramp, linear over a
// width, e.g. clip(s + (1 - m) / width, 0, 1) for the hinge at margin m, with center s. See
// splinear/objective/margin_sums.py.
//
// All functions throw std::invalid_argument unless arrays have one entry per row, and for losses
// that have no ramp. No result depends on n_threads.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "model/loss/any.hpp"
#include "solve/problem.hpp"

namespace splinear {

// The two sides `low` and `high` are rows with y = -1 and y = 1; for the epsilon-insensitive loss,
// residuals below and above 0.
struct RampShape {
    double width;
    double low;   // center of the ramp
    double high;  // likewise
};

// Measurements at a point. Arrays of two have one entry per side.
struct RampMeasures {
    double losses = 0.0;                 // sum of the losses themselves, not smoothed
    double gap = 0.0;                    // gap between these and the slopes of the smoothed losses
    std::array<double, 2> n_on_ramp{};   // number of rows on the ramp
    std::array<double, 2> slope_sums{};  // sum of |slope| per unit of cost over these rows
};

// Also writes the derivatives of the smoothed sum with respect to the scores to `slopes`.
RampMeasures ramp_measures(const AnyLoss& loss, const DualProblem& problem, const RampShape& ramp,
                           std::span<const double> scores, int n_threads, double* slopes);

// Writes the second derivatives of the smoothed sum to `bends`, one per row.
void ramp_bends(const AnyLoss& loss, const DualProblem& problem, const RampShape& ramp,
                std::span<const double> scores, int n_threads, double* bends);

// The derivatives with respect to t of the smoothed sum at scores + t * moves, for each t in
// `shares`.
std::vector<double> ramp_along(const AnyLoss& loss, const DualProblem& problem,
                               const RampShape& ramp, std::span<const double> scores,
                               std::span<const double> moves, std::span<const double> shares,
                               int n_threads);

// The sum of the losses themselves, and the sum of the rows' gaps to the dual variables
// -y_i slopes_i: infinite if these are not feasible.
std::array<double, 2> ramp_gaps(const AnyLoss& loss, const DualProblem& problem,
                                std::span<const double> scores, std::span<const double> slopes,
                                int n_threads);

}  // namespace splinear
