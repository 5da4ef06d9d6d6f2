// Chooses the operator of a group, from types that are known only at run time.
#pragma once

#include <memory>

#include "operators/operator.hpp"
#include "rows/group.hpp"

namespace splinear {

// The fastest operator for the group, which must have passed check() and must outlive it.
std::unique_ptr<Operator> make_operator(const Group& group, int n_threads);

// The same without Operator::prepare(), for score(), sum() and sums() only.
std::unique_ptr<Operator> make_pass_operator(const Group& group, int n_threads);

}  // namespace splinear
