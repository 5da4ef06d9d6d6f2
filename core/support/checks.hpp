// Checks of arguments from outside. They throw std::invalid_argument, a ValueError in Python.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace splinear {

inline void must(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

// Checks a size or a number of things; `what` describes it.
inline void must_be(const char* what, std::size_t found, std::size_t expected) {
    if (found == expected) return;
    throw std::invalid_argument(std::string(what) + " must be " + std::to_string(expected) +
                                ", not " + std::to_string(found));
}

// Checks an index, e.g. of a row or feature, against the number n of such things.
inline void must_be_one_of(const char* what, std::int64_t number, std::size_t n) {
    if (0 <= number && static_cast<std::uint64_t>(number) < n) return;
    throw std::invalid_argument("there is no " + std::string(what) + " " + std::to_string(number) +
                                "; there are " + std::to_string(n));
}

}  // namespace splinear
