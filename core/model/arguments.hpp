// Maps many values of one feature to arguments of its basis at once.
#pragma once

#include <cmath>
#include <cstddef>

#include "model/axis.hpp"
#include "simd/coding.hpp"

namespace splinear {

// out[i] = axis.argument(x[i]), bit for bit, for simd::column_rows values.
inline void place_column(const Axis& axis, const double* x, double* out) {
    const auto knots = axis.knots();
    // The vector loop cannot handle a distance between knots that overflows.
    if (!knots.empty() && std::isinf(knots.back() - knots.front())) {
        for (std::size_t i = 0; i < simd::column_rows; ++i) out[i] = axis.argument(x[i]);
        return;
    }
    simd::place_column({knots.empty() ? nullptr : knots.data(), knots.size(), axis.prescale(),
                        axis.scaled_lo(), axis.slope(), axis.first(), axis.last()},
                       x, out);
}

}  // namespace splinear
