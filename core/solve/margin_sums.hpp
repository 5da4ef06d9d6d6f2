// Sums of smoothed losses of margins over rows, for Newton's method on them; see
// splinear/solvers/problems/margin_sums.py. Threads change no bit.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "model/loss/any.hpp"
#include "solve/problem.hpp"

namespace splinear {

// The width of a ramp and its centers, of rows with y = -1 and y = 1; for the epsilon-insensitive
// loss, of residuals below and above 0.
struct RampShape {
    double width;
    double low;
    double high;
};

// What is known at a point: sums of the losses themselves, the rows' part of the gap to the
// smoothed losses' slopes, and of either side how many rows are in between, and the sum of their
// slopes.
struct RampMeasures {
    double losses = 0.0;
    double parts = 0.0;
    std::array<double, 2> bent{};
    std::array<double, 2> centers{};
};

// All throw std::invalid_argument unless there is one score per row, and for losses that have no
// ramp.

// slopes: the derivatives of the smoothed sum by the scores.
RampMeasures ramp_measures(const AnyLoss& loss, const DualProblem& problem, const RampShape& ramp,
                           std::span<const double> scores, int n_threads, double* slopes);

// The second derivatives.
void ramp_bends(const AnyLoss& loss, const DualProblem& problem, const RampShape& ramp,
                std::span<const double> scores, int n_threads, double* bends);

// The slopes of the smoothed sum by t at scores + t moves, one for each t of `shares`.
std::vector<double> ramp_along(const AnyLoss& loss, const DualProblem& problem,
                               const RampShape& ramp, std::span<const double> scores,
                               std::span<const double> moves, std::span<const double> shares,
                               int n_threads);

// The sum of the losses, and the rows' part of the gap to any derivatives by the scores; infinite
// where these are not feasible.
std::array<double, 2> ramp_gaps(const AnyLoss& loss, const DualProblem& problem,
                                std::span<const double> scores, std::span<const double> slopes,
                                int n_threads);

}  // namespace splinear
