// Rows that may lie on disk: read a block at a time, and released after use.
//
// A row can be read at any time, wherever it lies; only how much of the file stays in memory
// depends on what is said here. Rows without such members lie in memory, as one block.
#pragma once

#include <algorithm>
#include <cstddef>

#include "rows/row.hpp"
#include "support/pieces.hpp"

namespace splinear {

// How many rows are to be in memory at a time, at least 1.
template <class Rows>
Row rows_per_block(const Rows& rows) noexcept {
    if constexpr (requires { rows.rows_per_block(); })
        return rows.rows_per_block();
    else
        return std::max<Row>(rows.n_rows(), 1);
}

// Rows on disk are read in units, a multiple of 64 rows each: so many of them make a block. Rows in
// memory are one unit.
inline constexpr std::size_t units_per_block = 16;

template <class Rows>
Row rows_per_unit(const Rows& rows) noexcept {
    const Row block = rows_per_block(rows);
    if (block >= rows.n_rows()) return block;
    constexpr Row least = 64 * static_cast<Row>(units_per_block);
    return std::max<Row>(block / least, 1) * 64;
}

// Says that rows begin to end - 1 are not needed soon.
template <class Rows>
void done_with(const Rows& rows, Row begin, Row end) noexcept {
    if constexpr (requires { rows.done_with(begin, end); }) rows.done_with(begin, end);
}

// Releases the rows that lie behind a reader, whole blocks at a time, and the rest at its end.
template <class Rows>
class ReleaseBehind {
public:
    explicit ReleaseBehind(const Rows& rows) : rows_(rows) {}
    ReleaseBehind(const ReleaseBehind&) = delete;
    ReleaseBehind& operator=(const ReleaseBehind&) = delete;
    ~ReleaseBehind() { done_with(rows_, begin_, end_); }

    // All rows before `end` have been read.
    void reached(Row end) noexcept {
        end_ = end;
        if (end_ - begin_ < rows_per_block(rows_)) return;
        done_with(rows_, begin_, end_);
        begin_ = end_;
    }

private:
    const Rows& rows_;
    Row begin_ = 0;
    Row end_ = 0;
};

// Calls read(begin, end) for the first n_rows rows in order, `step` rows at a time, and releases
// what lies behind.
template <class Rows, class Read>
void read_in_order(const Rows& rows, Row n_rows, Row step, const Read& read) {
    ReleaseBehind behind(rows);
    for_each_piece(0, n_rows, step, [&](Row begin, Row end) {
        read(begin, end);
        behind.reached(end);
    });
}

}  // namespace splinear
