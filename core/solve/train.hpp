// Entry points of dual coordinate descent: basis, penalty, rows and loss are chosen at run time.
#pragma once

#include <span>
#include <vector>

#include "model/loss/any.hpp"
#include "rows/group.hpp"
#include "solve/problem.hpp"

namespace splinear {

// Returns |phi_i|^2 of every row, without the bias, for problems that share their rows. Throws
// std::invalid_argument if the groups do not fit together.
std::vector<float> squared_norms(Groups groups, int n_threads);

// Solves the problem with all costs multiplied by each of `factors` in turn, every fit starting
// from the solution of the one before. Returns one result per factor, or fewer if the monitor stops
// the fit. Throws std::invalid_argument if the groups do not fit together or an array has the wrong
// size.
std::vector<DualResult> train(Groups groups, const AnyLoss& loss, const DualProblem& problem,
                              const DualOptions& options, const DualStart& start,
                              std::span<const double> factors, Monitor& monitor);

}  // namespace splinear
