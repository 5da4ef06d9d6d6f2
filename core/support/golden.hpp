// Golden-section search for the maximum of a concave function.
#pragma once

#include <utility>

namespace splinear {

// The maximizer of f in [0, 1]. Each of n_sections steps leaves 62 % of the interval. If the
// remaining interval touches 0 or 1, the result is exactly that.
template <class Function>
double highest_in_unit_interval(const Function& f, int n_sections) {
    constexpr double golden = 0.6180339887498949;
    double low = 0.0;
    double high = 1.0;
    double left = 1.0 - golden;
    double right = golden;
    double f_left = f(left);
    double f_right = f(right);
    for (int i = 0; i < n_sections; ++i) {
        if (f_left > f_right) {
            high = std::exchange(right, left);
            f_right = f_left;
            left = high - golden * (high - low);
            f_left = f(left);
        } else {
            low = std::exchange(left, right);
            f_left = f_right;
            right = low + golden * (high - low);
            f_right = f(right);
        }
    }
    return low == 0.0 ? 0.0 : high == 1.0 ? 1.0 : 0.5 * (low + high);
}

}  // namespace splinear
