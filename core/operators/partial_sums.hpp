// Sums over rows in pieces, so that they do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <variant>
#include <vector>

#include "rows/blocks.hpp"
#include "rows/group.hpp"
#include "support/buffer.hpp"
#include "support/checks.hpp"
#include "support/pieces.hpp"

namespace splinear {

// total += all sums, one after the other. Threads have a range of the numbers each: on many threads
// one of them would take as long to add up sums as all of them to compute these.
template <class Sum>
void add_in_order(std::span<const Sum> sums, int n_threads, std::vector<double>& total) {
    constexpr std::ptrdiff_t numbers_per_task = 256;
    const auto length = static_cast<std::ptrdiff_t>(total.size());
    parallel_pieces(0, length, numbers_per_task, n_threads,
                    [&](std::ptrdiff_t first, std::ptrdiff_t last) {
                        for (const Sum& sum : sums)
                            for (std::ptrdiff_t k = first; k < last; ++k)
                                total[index(k)] += sum.data()[k];
                    });
}

// How many pieces of sums of so many numbers are computed before they are added up. Where sums are
// short there is room for many: threads then need not wait for each other after every piece. Of
// rows on disk no more than a block is read before it is released.
template <class Rows>
Row pieces_at_once(const Rows& rows, Row n_rows, Row piece, std::size_t length, int n_threads) {
    constexpr std::size_t numbers_kept = std::size_t{1} << 20;
    const Row room = std::min(static_cast<Row>(numbers_kept / std::max<std::size_t>(length, 1)),
                              rows_per_block(rows) / std::max<Row>(piece, 1));
    const Row most = n_threads == 1 ? 1 : std::max<Row>(n_threads, room);
    return std::min(n_pieces(n_rows, piece), most);
}

// The sum of what part(begin, end, out) makes of `out`, a vector of `length` numbers that may have
// others in it before, for the pieces of the first n_rows rows. The pieces
// are spread over threads and their sums added in order.
template <class Rows, class Part>
std::vector<double> sum_over(const Rows& rows, Row n_rows, Row piece, std::size_t length,
                             int n_threads, const Part& part) {
    const Row at_once = pieces_at_once(rows, n_rows, piece, length, n_threads);
    std::vector<double> total(length);
    std::vector<std::vector<double>> sums(index(at_once));
    read_in_order(rows, n_rows, at_once * piece, [&](Row begin, Row end) {
        parallel_pieces(begin, end, piece, n_threads, [&](Row first, Row last) {
            std::vector<double>& sum = sums[index((first - begin) / piece)];
            part(first, last, sum);
        });
        const std::size_t n_here = index(n_pieces(end - begin, piece));
        add_in_order(std::span<const std::vector<double>>(sums).first(n_here), n_threads, total);
    });
    return total;
}

// The same of sums whose parts can be computed apart, and nothing that is added up changes:
// write(begin, end, to) writes the sum of a piece, write_part(begin, end, p, to) the numbers from
// starts[p] to starts[p + 1] of it. The last pieces, one per thread, are computed in parts, so that
// no thread is long without work while others end theirs.
template <class Rows, class Write, class WritePart>
std::vector<double> sum_parts_over(const Rows& rows, Row n_rows, Row piece,
                                   std::span<const std::size_t> starts, int n_threads,
                                   const Write& write, const WritePart& write_part) {
    const std::size_t length = starts.back();
    const std::size_t n_parts = starts.size() - 1;
    const Row at_once = pieces_at_once(rows, n_rows, piece, length, n_threads);
    std::vector<double> total(length);
    std::vector<Buffer<double>> sums;
    for (Row k = 0; k < at_once; ++k) sums.emplace_back(length);
    read_in_order(rows, n_rows, at_once * piece, [&](Row begin, Row end) {
        const std::size_t n_here = index(n_pieces(end - begin, piece));
        const std::size_t n_whole =
            n_threads == 1 ? n_here
                           : n_here - std::min(n_here, static_cast<std::size_t>(n_threads));
        const auto n_tasks = static_cast<Row>(n_whole + (n_here - n_whole) * n_parts);
        parallel_for(n_tasks, n_threads, [&](Row task) {
            const bool is_whole = index(task) < n_whole;
            const std::size_t part = is_whole ? 0 : index(task) - n_whole;
            const std::size_t k = is_whole ? index(task) : n_whole + part / n_parts;
            const Row first = begin + static_cast<Row>(k) * piece;
            const Row last = std::min(end, first + piece);
            const std::size_t p = part % n_parts;
            if (is_whole)
                write(first, last, sums[k].data());
            else
                write_part(first, last, p, sums[k].data() + starts[p]);
        });
        add_in_order(std::span<const Buffer<double>>(sums).first(n_here), n_threads, total);
    });
    return total;
}

// Where the numbers of parts of so many features begin, and where those of the last one end.
inline std::vector<std::size_t> part_starts(std::size_t n_features, std::size_t per_feature,
                                            std::size_t features_per_part) {
    std::vector<std::size_t> starts;
    for (std::size_t j = 0; j < n_features; j += features_per_part)
        starts.push_back(j * per_feature);
    starts.push_back(n_features * per_feature);
    return starts;
}

inline bool has_sparse_rows(const Group& group) {
    return std::visit([]<class S>(const S&) { return is_sparse<S>; }, group.rows);
}

// Rows of one partial sum over dense rows, `most` of them where there are many. Few rows have many
// short pieces, so that many threads can share them; but adding up a piece's sums is to cost little
// against its rows.
inline Row rows_per_piece(Row n_rows, std::size_t length, std::size_t n_features, Row most) {
    constexpr Row pieces = 64;
    constexpr Row step = 64;
    const Row costly = static_cast<Row>(8 * length / std::max<std::size_t>(n_features, 1));
    const Row least = std::min(most, std::max<Row>(4 * step, whole_pieces(costly, step)));
    return std::clamp(whole_pieces(n_pieces(n_rows, pieces), step), least, most);
}

// Rows of one partial sum: enough that adding it up is less work than the rows themselves. Of
// sparse rows most have a slope of zero in a certificate, and take no time.
inline Row rows_per_sum(const Group& group, std::size_t length, Row at_least) {
    std::size_t per_row = group.n_features();
    std::visit(
        [&]<class S>(const S& rows) {
            if constexpr (is_sparse<S>)
                per_row = rows.n_entries() / index(4 * std::max<Row>(rows.n_rows(), 1));
        },
        group.rows);
    return std::max(at_least, static_cast<Row>(length / (per_row + 1)));
}

// Throws std::invalid_argument for groups that do not belong together, and unless there is one
// number per row.
inline void check_per_row(Groups groups, std::span<const double> per_row) {
    check(groups);
    must_be("the number of weights, one per row,", per_row.size(), index(groups.front()->n_rows()));
}

}  // namespace splinear
