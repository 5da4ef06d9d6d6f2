// Sums of vectors over rows, in pieces whose size does not depend on the number of threads and
// which are added in order: threads do not change the result.
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

// Adds all sums to total, in order. Each thread adds a range of the entries: with many threads, a
// single one would take as long to add the sums as all of them to compute them.
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

// How many pieces are computed before their sums, `length` numbers each, are added up. As many as
// fit in some memory, so that threads do not wait for each other after every few pieces; but rows
// on disk must be released after one block.
template <class Rows>
Row pieces_at_once(const Rows& rows, Row n_rows, Row piece, std::size_t length, int n_threads) {
    constexpr std::size_t numbers_kept = std::size_t{1} << 20;
    const Row room = std::min(static_cast<Row>(numbers_kept / std::max<std::size_t>(length, 1)),
                              rows_per_block(rows) / std::max<Row>(piece, 1));
    const Row most = n_threads == 1 ? 1 : std::max<Row>(n_threads, room);
    return std::min(n_pieces(n_rows, piece), most);
}

// Sums over the first n_rows rows, in parallel pieces of `piece` rows. part(begin, end, out) sets
// `out`, a vector that may hold anything before, to the piece's sum of `length` numbers.
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

// The same for sums of which parts can be computed separately, with the same bits.
// write(begin, end, to) writes the sum of a piece, write_part(begin, end, p, to) its entries
// starts[p], ..., starts[p + 1] - 1. The last pieces, one per thread, are computed in parts, so
// that no thread is idle for long while others finish theirs.
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

// `starts` of sum_parts_over() for parts of features_per_part features each.
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

// The number of rows of one piece, at most `most`, for dense rows. Few rows are divided into many
// short pieces so that many threads can share them, but not into so short ones that adding up their
// sums would be more work than the rows themselves.
inline Row rows_per_piece(Row n_rows, std::size_t length, std::size_t n_features, Row most) {
    constexpr Row pieces = 64;
    constexpr Row step = 64;
    const Row costly = static_cast<Row>(8 * length / std::max<std::size_t>(n_features, 1));
    const Row least = std::min(most, std::max<Row>(4 * step, whole_pieces(costly, step)));
    return std::clamp(whole_pieces(n_pieces(n_rows, pieces), step), least, most);
}

// The number of rows of one piece, at least `at_least`, such that adding up its sum is less work
// than the rows themselves. Sparse rows count for a quarter of their entries: in a certificate most
// rows have a slope of zero and are skipped.
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

// Throws std::invalid_argument if the groups do not fit together, or unless per_row has one entry
// per row.
inline void check_per_row(Groups groups, std::span<const double> per_row) {
    check(groups);
    must_be("the number of weights, one per row,", per_row.size(), index(groups.front()->n_rows()));
}

}  // namespace splinear
