// Dual coordinate descent with everything chosen at run time.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/loss/any.hpp"
#include "rows/group.hpp"
#include "solve/dual_cd.hpp"

namespace splinear {

// Fits for all costs times each of `factors` in turn, each starting from the one before; fewer
// results than factors if the monitor stopped it. The last result has the dual variables if
// `keep_alpha`. Throws std::invalid_argument for groups that do not belong together, and for arrays
// of the wrong size.
std::vector<DualResult> train(Groups groups, const AnyLoss& loss, const DualProblem& problem,
                              const DualOptions& options, const DualStart& start,
                              std::span<const double> factors, bool keep_alpha, Monitor& monitor);

// The names of the paths that training may take on this machine, fastest first. All reach the same
// optimum; the environment variable SPLINEAR_PATH forces one where it applies.
std::vector<std::string> paths();

}  // namespace splinear
