// Sums of smooth losses over rows, for Newton's method.
#pragma once

#include <span>
#include <vector>

#include "model/loss/any.hpp"
#include "solve/problem.hpp"

namespace splinear {

// A sum of losses L(F), and its derivatives by the scores F: those of row i times y_i.
struct LossSums {
    double value = 0.0;
    std::vector<double> slopes;  // L'
    std::vector<double> bends;   // L'', a diagonal
};

// Whether there is a loop for the derivatives of a loss.
bool is_smooth(const AnyLoss& loss);

// Losses of rows with these scores. They throw std::invalid_argument unless there is one score per
// row, and for losses that are not smooth. Threads change no bit.
double loss_value(const AnyLoss& loss, const DualProblem& problem, std::span<const double> scores,
                  int n_threads);
std::vector<double> loss_each(const AnyLoss& loss, const DualProblem& problem,
                              std::span<const double> scores, int n_threads);
LossSums loss_sums(const AnyLoss& loss, const DualProblem& problem, std::span<const double> scores,
                   int n_threads);

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
