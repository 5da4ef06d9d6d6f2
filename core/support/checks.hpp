// Checks of what comes in from outside: what does not hold is a std::invalid_argument, which is a
// ValueError in Python.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace splinear {

inline void must(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

// A size, or a number of things.
inline void must_be(const char* what, std::size_t found, std::size_t expected) {
    if (found == expected) return;
    throw std::invalid_argument(std::string(what) + " must be " + std::to_string(expected) +
                                ", not " + std::to_string(found));
}

// The number of one thing of n: of a row, a column, a feature.
inline void must_be_one_of(const char* what, std::int64_t number, std::size_t n) {
    if (0 <= number && static_cast<std::uint64_t>(number) < n) return;
    throw std::invalid_argument("there is no " + std::string(what) + " " + std::to_string(number) +
                                "; there are " + std::to_string(n));
}

}  // namespace splinear
