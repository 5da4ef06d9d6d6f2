// Losses of many rows and their derivatives: the inner loop of sums over rows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace splinear::simd {

inline constexpr std::size_t loss_rows = 64;  // that are evaluated at a time

// Margins, or residuals, and what each of them costs.
struct Margins {
    double margin[loss_rows];
    double cost[loss_rows];
};

// Rows as a problem has them: y_i is -1 or 1.
struct LossRows {
    const double* scores;
    const std::int8_t* y;
    const double* targets;  // null: all 0
    const double* weights;  // null: all 1
    double cost_negative;
    double cost_positive;
};

// The margins y_i (f_i + shift) - t_i of n rows from the first on. What is left of a block costs
// nothing.
void read_margins(const LossRows& rows, double shift, std::size_t first, std::size_t n,
                  Margins& out);

// The first three derivatives by the margin, times the cost, and the value.
struct LossTerms {
    double value[loss_rows];
    double slope[loss_rows];
    double bend[loss_rows];
    double third[loss_rows];
};

// log(1 + exp(-m)), to all digits on both sides. The same to the bit on every processor.
void logistic_terms(const Margins& at, LossTerms& out);

// The same without the value, which takes a logarithm.
void logistic_derivatives(const Margins& at, LossTerms& out);

// m^2 / 2.
void squared_error_terms(const Margins& at, LossTerms& out);

}  // namespace splinear::simd
