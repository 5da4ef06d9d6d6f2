// Weighted samples of rows, for products with the Hessian that need not be exact.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace splinear {

struct RowSample {
    std::vector<std::int64_t> rows;  // ascending
    std::vector<double> weights;     // 1 / probability: weighted sums estimate sums over all rows
};

// Samples about n rows. Row i is taken with probability p_i = min(1, g_i / t) and weight 1 / p_i,
// where g_i = h_i + evenly * mean(h), and t is such that the p_i sum to n. Rows are assumed to be
// in random order, so no random numbers are drawn: a row is taken if the running sum of p, rounded,
// increases at it. The sample is empty if the sum of h is not positive. The result does not depend
// on n_threads.
RowSample sample_rows(std::span<const double> h, double n, double evenly, int n_threads);

// The rows with h_i != 0, and h_i as their weights. The result does not depend on n_threads.
RowSample nonzero_rows(std::span<const double> h, int n_threads);

}  // namespace splinear
