// Division of ranges into pieces of equal size.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>

#include "support/parallel.hpp"

namespace splinear {

// The number of pieces of `size` items that cover n items; the last may be shorter.
template <std::integral T>
constexpr T n_pieces(T n, T size) noexcept {
    return (n + size - 1) / size;
}

// n rounded up to a multiple of `size`.
template <std::integral T>
constexpr T whole_pieces(T n, T size) noexcept {
    return n_pieces(n, size) * size;
}

// Calls body(first, last) for the pieces [first, last) of [begin, end), in order.
template <class Body>
void for_each_piece(std::ptrdiff_t begin, std::ptrdiff_t end, std::ptrdiff_t size,
                    const Body& body) {
    for (std::ptrdiff_t first = begin; first < end; first += size)
        body(first, std::min(end, first + size));
}

// The same on up to n_threads threads, in no fixed order; see parallel_for().
template <class Body>
void parallel_pieces(std::ptrdiff_t begin, std::ptrdiff_t end, std::ptrdiff_t size, int n_threads,
                     const Body& body) {
    parallel_for(n_pieces(end - begin, size), n_threads, [&](std::ptrdiff_t piece) {
        const std::ptrdiff_t first = begin + piece * size;
        body(first, std::min(end, first + size));
    });
}

}  // namespace splinear
