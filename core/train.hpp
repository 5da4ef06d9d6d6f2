// From run-time choices to one instantiation of the solver.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "basis/any.hpp"
#include "dual_cd.hpp"
#include "loss/any.hpp"
#include "penalty/any.hpp"
#include "row_source.hpp"

namespace splinear {

// The additive model to be trained.
struct ModelSpec {
    const AnyBasis& basis;
    const AnyPenalty& penalty;
    std::span<const double> scale;  // s_j^2, 0 for a feature that takes no part
};

// Throws std::invalid_argument for a basis and a penalty that do not belong together.
DualResult train(const AnyRows& rows, const ModelSpec& model, const AnyLoss& loss,
                 const DualProblem& problem, const DualOptions& options, Monitor& monitor);

// The names of the paths that training may take on this machine, fastest first. All reach the same
// optimum; the environment variable SPLINEAR_PATH forces one where it applies.
std::vector<std::string> paths();

}  // namespace splinear
