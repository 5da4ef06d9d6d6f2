// Sums of smooth losses over rows, for Newton's method.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

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

// out = scores + share moves.
void move_scores(std::span<const double> scores, std::span<const double> moves, double share,
                 int n_threads, double* out);

// scores (n_outputs x n_rows) += levels, one per output, in place.
void add_levels(std::span<const double> levels, std::size_t n_rows, int n_threads, double* scores);

// The sum of every row of numbers (n_outputs x n_rows). Threads change no bit.
std::vector<double> row_sums(std::span<const double> numbers, std::size_t n_outputs, int n_threads);

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

// L'', but of a row whose margin is below -far, where the loss is nearly straight, that of a
// parabola which touches the loss at the margin m and at -m.
Buffer<double> cautious_bends(const AnyLoss& loss, const DualProblem& problem,
                              std::span<const double> scores, double far, int n_threads);

// The curvature that rows lack whose losses rise by more than twice what a quadratic model with the
// second derivatives `bends` says, if scores move by `moves`, each by `farthest` at most; others:
// 0.
Buffer<double> missing_bends(const AnyLoss& loss, const DualProblem& problem,
                             std::span<const double> scores, std::span<const double> moves,
                             std::span<const double> bends, double farthest, int n_threads);

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
