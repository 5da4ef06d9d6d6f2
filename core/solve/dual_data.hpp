// The immutable half of dual coordinate descent: rows, loss, problem and options. What changes
// during a fit is in dual_state.hpp.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "model/loss/any.hpp"
#include "operators/grouped_rows.hpp"
#include "rows/blocks.hpp"
#include "rows/row.hpp"
#include "solve/problem.hpp"
#include "solve/stop_request.hpp"
#include "support/pieces.hpp"

namespace splinear {

inline constexpr Row rows_per_score = 16;  // rows scored by one call of the operators

// A multiple of 64, so that no two tasks write to the same word of an ActiveSet.
inline constexpr Row rows_per_task = 4096;

// Calls body(begin, end) for all rows, rows_per_score at a time, in parallel tasks of rows_per_task
// rows. Polls the monitor in between, but does not end early.
template <class Body>
void over_all_rows(const GroupedRows& rows, int n_threads, StopRequest& stop, const Body& body) {
    const Row rows_at_once = 8 * n_threads * rows_per_task;
    read_in_order(rows, rows.n_rows(), rows_at_once, [&](Row begin, Row end) {
        stop.poll();
        parallel_pieces(begin, end, rows_per_task, n_threads, [&](Row first, Row last) {
            for_each_piece(first, last, rows_per_score, body);
        });
    });
}

// |phi_i|^2 of every row, without the bias.
inline std::vector<float> squared_norms(const GroupedRows& rows, int n_threads, StopRequest& stop) {
    std::vector<float> norms(index(rows.n_rows()));
    over_all_rows(rows, n_threads, stop, [&](Row begin, Row end) {
        for (Row i = begin; i < end; ++i)
            norms[index(i)] = static_cast<float>(rows.squared_norm(i));
    });
    return norms;
}

// Does not own the rows and squared norms.
template <DualLoss Loss>
struct DualData {
    const GroupedRows& rows;
    Loss loss;
    DualProblem problem;
    DualOptions options;
    std::span<const float> squared_norm;  // see squared_norms()

    // |phi_i|^2 including the bias: the curvature of the dual along coordinate i. The bias is added
    // in double precision, so that a large one does not swamp the rest.
    double curvature(std::size_t i) const noexcept {
        return static_cast<double>(squared_norm[i]) + problem.bias * problem.bias;
    }
};

}  // namespace splinear
