// The arguments of a basis for many values of one feature.
#pragma once

#include <cmath>
#include <cstddef>

#include "model/axis.hpp"
#include "simd/coding.hpp"

namespace splinear {

// out[i] = axis.argument(x[i]) for simd::column_rows values, to the bit.
inline void place_column(const Axis& axis, const double* x, double* out) {
    const auto knots = axis.knots();
    if (!knots.empty() && std::isinf(knots.back() - knots.front())) {  // cells may be so wide too
        for (std::size_t i = 0; i < simd::column_rows; ++i) out[i] = axis.argument(x[i]);
        return;
    }
    simd::place_column({knots.empty() ? nullptr : knots.data(), knots.size(), axis.prescale(),
                        axis.scaled_lo(), axis.slope(), axis.first(), axis.last()},
                       x, out);
}

}  // namespace splinear
