// Sums over rows in blocks of fixed size, so that they do not depend on the number of threads.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "rows/row.hpp"
#include "simd/losses.hpp"
#include "solve/problem.hpp"
#include "support/pieces.hpp"

namespace splinear {

// Partial sums: number i of a block is added to lane i % sum_lanes. This lets the compiler use
// vector instructions without changing the order of additions.
inline constexpr std::size_t sum_lanes = 8;
using Lanes = std::array<double, sum_lanes>;

// Adds the simd::loss_rows numbers of a block.
inline void add_block(const double* block, Lanes& sums) noexcept {
    for (std::size_t i = 0; i < simd::loss_rows; i += sum_lanes)
        for (std::size_t l = 0; l < sum_lanes; ++l) sums[l] += block[i + l];
}

inline double total(const Lanes& sums) noexcept {
    double out = 0.0;
    for (const double lane : sums) out += lane;
    return out;
}

inline constexpr Row rows_per_sum_task = 32 * static_cast<Row>(simd::loss_rows);

// Computes n_sums sums over the rows. each(begin, end, sums) adds a block of at most
// simd::loss_rows rows to n_sums Lanes; blocks run in parallel tasks, whose sums are added in
// order.
template <std::size_t n_sums, class Each>
std::array<double, n_sums> add_up(Row n_rows, int n_threads, const Each& each) {
    using Partial = std::array<double, n_sums>;
    std::vector<Partial> found(index(n_pieces(n_rows, rows_per_sum_task)));
    parallel_pieces(0, n_rows, rows_per_sum_task, n_threads, [&](Row begin, Row end) {
        std::array<Lanes, n_sums> sums{};
        for_each_piece(begin, end, static_cast<Row>(simd::loss_rows),
                       [&](Row first, Row last) { each(first, last, sums); });
        Partial& own = found[index(begin / rows_per_sum_task)];
        for (std::size_t k = 0; k < n_sums; ++k) own[k] = total(sums[k]);
    });
    Partial all{};
    for (const Partial& own : found)
        for (std::size_t k = 0; k < n_sums; ++k) all[k] += own[k];
    return all;
}

// A view of the problem's rows at the given scores, as the loops in simd/losses.hpp read them.
inline simd::LossRows loss_rows_of(const DualProblem& problem, const double* scores) noexcept {
    return {scores,
            problem.y.data(),
            problem.targets.empty() ? nullptr : problem.targets.data(),
            problem.weights.empty() ? nullptr : problem.weights.data(),
            problem.cost_negative,
            problem.cost_positive};
}

}  // namespace splinear
