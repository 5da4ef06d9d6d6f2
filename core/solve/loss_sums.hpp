// Sums of smooth losses over rows, for Newton's method.
#pragma once

#include <span>

#include "model/loss/any.hpp"
#include "solve/problem.hpp"
#include "support/buffer.hpp"

namespace splinear {

// A sum of losses L(F), and its derivatives by the scores F: those of row i times y_i.
struct LossSums {
    double value = 0.0;
    Buffer<double> slopes;  // L'
    Buffer<double> bends;   // L'', a diagonal
};

// Whether there is a loop for the derivatives of a loss.
bool is_smooth(const AnyLoss& loss);

// Losses of rows with these scores. They throw std::invalid_argument unless there is one score per
// row, and for losses that are not smooth. Threads change no bit.
double loss_value(const AnyLoss& loss, const DualProblem& problem, std::span<const double> scores,
                  int n_threads);
Buffer<double> loss_each(const AnyLoss& loss, const DualProblem& problem,
                         std::span<const double> scores, int n_threads);
LossSums loss_sums(const AnyLoss& loss, const DualProblem& problem, std::span<const double> scores,
                   int n_threads);

// L(F) + L*(R) - sum_i R_i F_i, L* being the convex conjugate: 0 where R are the derivatives at the
// scores F, and infinite where L* is.
double loss_gap(const AnyLoss& loss, const DualProblem& problem, std::span<const double> scores,
                std::span<const double> slopes, int n_threads);

// The number whose addition to all scores makes the sum least. It is found step by step, no farther
// away than `farthest`, unless the loss is a square; steps end with one of at most `last`.
struct ShiftLimits {
    double last;
    double farthest;
    int max_steps;
};
double loss_shift(const AnyLoss& loss, const DualProblem& problem, std::span<const double> scores,
                  const ShiftLimits& limits, int n_threads);

}  // namespace splinear
