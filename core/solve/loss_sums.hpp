// Sums of smooth losses over the rows, and their derivatives, for Newton's method with one output.
//
// L(F) = sum_i c_i loss(m_i) is a function of the scores F, with margins m_i = y_i F_i - t_i and
// costs c_i as in DualProblem. Functions of a loss throw std::invalid_argument if the loss is not
// smooth (see is_smooth()), or unless arrays have one entry per row. No result depends on
// n_threads.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "model/loss/any.hpp"
#include "solve/problem.hpp"
#include "support/buffer.hpp"

namespace splinear {

struct LossSums {
    double value = 0.0;     // L(F)
    Buffer<double> slopes;  // dL/dF_i, one per row
    Buffer<double> bends;   // d2L/dF_i^2, one per row
};

// out = scores + share * moves.
void move_scores(std::span<const double> scores, std::span<const double> moves, double share,
                 int n_threads, double* out);

// Adds levels[k] to row k of scores (n_outputs x n_rows), in place.
void add_levels(std::span<const double> levels, std::size_t n_rows, int n_threads, double* scores);

// The n_outputs sums over the rows of numbers (n_outputs x n_rows).
std::vector<double> row_sums(std::span<const double> numbers, std::size_t n_outputs, int n_threads);

// Whether the functions below are implemented for a loss: logistic loss and squared error.
bool is_smooth(const AnyLoss& loss);

// L(F).
double loss_value(const AnyLoss& loss, const DualProblem& problem, std::span<const double> scores,
                  int n_threads);

// c_i loss(m_i) of every row.
Buffer<double> loss_each(const AnyLoss& loss, const DualProblem& problem,
                         std::span<const double> scores, int n_threads);

// L(F) and its first two derivatives.
LossSums loss_sums(const AnyLoss& loss, const DualProblem& problem, std::span<const double> scores,
                   int n_threads);

// The second derivatives, with more curvature where the loss is nearly straight: a row with a
// margin m below -far gets that of the parabola which touches the loss at m and at -m. See "Steps
// that fail" in docs/mathematics.md.
Buffer<double> cautious_bends(const AnyLoss& loss, const DualProblem& problem,
                              std::span<const double> scores, double far, int n_threads);

// The curvature that a quadratic model with second derivatives `bends` lacks when the scores move
// by `moves`, each clipped to [-farthest, farthest]. Nonzero only for rows whose loss rises above
// its tangent by more than twice what the model predicts.
Buffer<double> missing_bends(const AnyLoss& loss, const DualProblem& problem,
                             std::span<const double> scores, std::span<const double> moves,
                             std::span<const double> bends, double farthest, int n_threads);

// L(F) + L*(R) - sum_i R_i F_i, where L* is the convex conjugate and R are the `slopes`: 0 if R is
// the gradient of L at the scores F, and infinite if R is not in the domain of L*.
double loss_gap(const AnyLoss& loss, const DualProblem& problem, std::span<const double> scores,
                std::span<const double> slopes, int n_threads);

struct ShiftLimits {
    double last;      // stop after a step of at most this length
    double farthest;  // stop beyond this distance from 0
    int max_steps;
};

// The number b that minimizes L(F + b), added to all scores: the optimal free intercept. Closed
// form for the squared error, otherwise by Halley's method within the limits.
double loss_shift(const AnyLoss& loss, const DualProblem& problem, std::span<const double> scores,
                  const ShiftLimits& limits, int n_threads);

}  // namespace splinear
