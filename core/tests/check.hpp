// Tools for tests: CHECK(), which reports file, line and condition if it fails, and comparisons of
// numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <vector>

namespace splinear::testing {

inline int failures = 0;

inline void check(bool holds, const char* what, const char* file, int line) {
    if (holds) return;
    ++failures;
    std::fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
}

// Whether two numbers differ by no more than `tolerance`, relative to the larger if that is
// above 1.
inline bool near(double a, double b, double tolerance = 1e-12) {
    return std::abs(a - b) <= tolerance * std::max({1.0, std::abs(a), std::abs(b)});
}

// The largest difference of two lists, relative to the largest absolute expected number.
inline double difference(const std::vector<double>& found, const std::vector<double>& expected) {
    double most = 1e-30;
    double apart = 0.0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        most = std::max(most, std::abs(expected[i]));
        apart = std::max(apart, std::abs(found[i] - expected[i]));
    }
    return apart / most;
}

// Whether a call throws std::invalid_argument.
template <class Call>
bool is_refused(const Call& call) {
    try {
        call();
    } catch (const std::invalid_argument&) {
        return true;
    }
    return false;
}

inline int result() { return failures == 0 ? 0 : 1; }

}  // namespace splinear::testing

#define CHECK(...) ::splinear::testing::check((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
