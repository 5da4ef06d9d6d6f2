// Dual coordinate descent with everything chosen at run time.
#pragma once

#include <span>
#include <vector>

#include "model/loss/any.hpp"
#include "rows/group.hpp"
#include "solve/problem.hpp"

namespace splinear {

// The squared lengths of the rows' embeddings, for problems that have the rows in common. Throws
// std::invalid_argument for groups that do not belong together.
std::vector<float> squared_norms(Groups groups, int n_threads);

// Fits for all costs times each of `factors` in turn, each starting from the one before; fewer
// results than factors if the monitor stopped it. Throws std::invalid_argument for groups that do
// not belong together, and for arrays of the wrong size.
std::vector<DualResult> train(Groups groups, const AnyLoss& loss, const DualProblem& problem,
                              const DualOptions& options, const DualStart& start,
                              std::span<const double> factors, Monitor& monitor);

}  // namespace splinear
