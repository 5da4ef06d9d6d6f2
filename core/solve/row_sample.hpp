// A sample of rows that stands for all of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace splinear {

struct RowSample {
    std::vector<std::int64_t> rows;  // ascending
    std::vector<double> weights;     // sums over the rows times these stand for sums over all
};

// Row i is taken with probability p_i = min(1, g_i / t) such that n are expected, and weighs
// 1 / p_i; g_i is h_i plus `evenly` of the mean of h. As rows are in random order, those are taken
// at which the sum of p passes a whole number. Nothing is taken if the sum of h is not positive.
RowSample sample_rows(std::span<const double> h, double n, double evenly, int n_threads);

// The rows whose number is not 0, and these numbers. Threads change no bit.
RowSample nonzero_rows(std::span<const double> h, int n_threads);

}  // namespace splinear
