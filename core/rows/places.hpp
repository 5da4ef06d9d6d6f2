// Moves arrays of one number per row between the order of X and that of training.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "support/checks.hpp"
#include "support/pieces.hpp"

namespace splinear {

// Throws std::invalid_argument unless all places are less than n.
inline void check_places(std::span<const std::int64_t> places, std::size_t n) {
    const auto is_there = [&](std::int64_t at) { return static_cast<std::uint64_t>(at) < n; };
    must(std::ranges::all_of(places, is_there), "a row's place is not among the rows");
}

// Calls use(i, places[i]) for all i, in parallel.
template <class Use>
void over_places(std::span<const std::int64_t> places, int n_threads, const Use& use) {
    constexpr std::ptrdiff_t per_task = 4096;
    parallel_pieces(
        0, std::ssize(places), per_task, n_threads, [&](std::ptrdiff_t first, std::ptrdiff_t last) {
            for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i)
                use(i, static_cast<std::size_t>(places[i]));
        });
}

// to[k, i] = from[k, places[i]], for from (n_outputs x n_all) and to (n_outputs x places.size()).
inline void take_rows(const double* from, std::size_t n_all, std::size_t n_outputs,
                      std::span<const std::int64_t> places, int n_threads, double* to) {
    check_places(places, n_all);
    for (std::size_t k = 0; k < n_outputs; ++k, from += n_all, to += places.size())
        over_places(places, n_threads, [&](std::size_t i, std::size_t at) { to[i] = from[at]; });
}

// to[k, places[i]] = from[k, i], for from (n_outputs x places.size()) and to (n_outputs x n_all).
// The places must be distinct.
inline void put_rows(const double* from, std::size_t n_all, std::size_t n_outputs,
                     std::span<const std::int64_t> places, int n_threads, double* to) {
    check_places(places, n_all);
    for (std::size_t k = 0; k < n_outputs; ++k, to += n_all, from += places.size())
        over_places(places, n_threads, [&](std::size_t i, std::size_t at) { to[at] = from[i]; });
}

}  // namespace splinear
