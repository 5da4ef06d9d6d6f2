// A DualProblem made of NumPy arrays.
#pragma once

#include <nanobind/stl/optional.h>

#include <optional>
#include <utility>

#include "bindings/arrays.hpp"
#include "solve/problem.hpp"

namespace splinear::bindings {

using Labels = Vector<std::int8_t>;
using OptionalVector = std::optional<Vector<double>>;
using OptionalNorms = std::optional<Vector<float>>;

inline std::span<const double> as_span_or_none(const OptionalVector& array) {
    return array ? as_span(*array) : std::span<const double>{};
}

// Unlike a span, an empty array is not the same as None, so sizes are checked here.
inline void must_fit(const char* what, const OptionalVector& array, std::size_t expected) {
    if (array) must_be(what, array->size(), expected);
}

// A DualProblem that keeps the arrays its spans point to alive.
struct HeldProblem : DualProblem {
    HeldProblem(Labels y_array, OptionalVector target_array, OptionalVector weight_array,
                double negative, double positive, double bias_unit,
                OptionalNorms norm_array = std::nullopt)
        : DualProblem{as_span(y_array),
                      as_span_or_none(target_array),
                      as_span_or_none(weight_array),
                      negative,
                      positive,
                      bias_unit,
                      norm_array ? as_span(*norm_array) : std::span<const float>{}},
          held_y(std::move(y_array)),
          held_targets(std::move(target_array)),
          held_weights(std::move(weight_array)),
          held_norms(std::move(norm_array)) {
        must_fit("the number of targets, one per y,", held_targets, y.size());
        must_fit("the number of weights, one per y,", held_weights, y.size());
    }

    Labels held_y;
    OptionalVector held_targets;
    OptionalVector held_weights;
    OptionalNorms held_norms;
};

}  // namespace splinear::bindings
