// Sums over rows in pieces, so that they do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "rows/blocks.hpp"
#include "support/parallel.hpp"

namespace splinear {

// Sums part(begin, end, out) over pieces of the first n_rows rows, the pieces spread over threads
// and their sums added in order.
template <class Rows, class Part>
std::vector<double> sum_over(const Rows& rows, Row n_rows, Row piece, std::size_t length,
                             int n_threads, const Part& part) {
    const Row n_pieces = (n_rows + piece - 1) / piece;
    const Row at_once = std::min<Row>(n_pieces, n_threads);
    std::vector<double> total(length);
    std::vector<std::vector<double>> sums(static_cast<std::size_t>(at_once));
    Trail trail(rows);
    for (Row first = 0; first < n_pieces; first += at_once) {
        const Row here = std::min(at_once, n_pieces - first);
        parallel_for(here, n_threads, [&](Row t) {
            std::vector<double>& sum = sums[static_cast<std::size_t>(t)];
            sum.assign(length, 0.0);
            part((first + t) * piece, std::min(n_rows, (first + t + 1) * piece), sum);
        });
        for (Row t = 0; t < here; ++t) {
            const std::vector<double>& sum = sums[static_cast<std::size_t>(t)];
            for (std::size_t k = 0; k < length; ++k) total[k] += sum[k];
        }
        trail.reached(std::min(n_rows, (first + here) * piece));
    }
    return total;
}

}  // namespace splinear
