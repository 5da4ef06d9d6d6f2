// From run-time choices to an operator.
#pragma once

#include <memory>

#include "operators/operator.hpp"
#include "rows/group.hpp"

namespace splinear {

// The fastest operator that serves the group, which must have been checked and live as long.
std::unique_ptr<Operator> make_operator(const Group& group, int n_threads);

// The same for passes alone: it is not prepared for anything else.
std::unique_ptr<Operator> make_pass_operator(const Group& group, int n_threads);

}  // namespace splinear
