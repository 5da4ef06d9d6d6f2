// Scores of rows given by their values, in full precision: what predict uses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "axis.hpp"
#include "basis/any.hpp"
#include "matrix_view.hpp"
#include "parallel.hpp"

namespace splinear {

// out[i] = intercept + sum_j coef_j' B(x_ij); coef is n_features x basis.size().
template <Basis B, class Real>
void decide(const MatrixView<Real>& X, const Axes& axes, const B& basis, const double* coef,
            double intercept, int n_threads, double* out) {
    constexpr std::ptrdiff_t rows_per_task = 256;
    const std::ptrdiff_t n_tasks = (X.n_rows + rows_per_task - 1) / rows_per_task;
    const auto support = static_cast<std::size_t>(basis.support());
    parallel_for(n_tasks, n_threads, [&](std::ptrdiff_t task) {
        std::vector<double> w(support);
        const std::ptrdiff_t end = std::min(X.n_rows, (task + 1) * rows_per_task);
        for (std::ptrdiff_t i = task * rows_per_task; i < end; ++i) {
            double total = intercept;
            const double* table = coef;
            for (std::ptrdiff_t j = 0; j < X.n_columns; ++j, table += basis.size()) {
                const double x = axes[static_cast<std::size_t>(j)].argument(X(i, j));
                const double* c = table + basis.evaluate(x, w.data());
                for (std::size_t p = 0; p < support; ++p) total += c[p] * w[p];
            }
            out[i] = total;
        }
    });
}

}  // namespace splinear
