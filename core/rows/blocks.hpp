// Rows that may be in a file mapped into memory: read in blocks, and released after use.
//
// Any row can be read at any time. The functions here only determine how much of the file stays in
// memory. Row sources without these members are in memory, as a single block.
#pragma once

#include <algorithm>
#include <cstddef>

#include "rows/row.hpp"
#include "support/pieces.hpp"

namespace splinear {

// The number of rows that should be in memory at a time, at least 1.
template <class Rows>
Row rows_per_block(const Rows& rows) noexcept {
    if constexpr (requires { rows.rows_per_block(); })
        return rows.rows_per_block();
    else
        return std::max<Row>(rows.n_rows(), 1);
}

// Dual coordinate descent reads rows on disk in blocks of this many units, see ActiveSet.
inline constexpr std::size_t units_per_block = 16;

// The number of rows of a unit: a multiple of 64, or all rows if these are in memory.
template <class Rows>
Row rows_per_unit(const Rows& rows) noexcept {
    const Row block = rows_per_block(rows);
    if (block >= rows.n_rows()) return block;
    constexpr Row least = 64 * static_cast<Row>(units_per_block);
    return std::max<Row>(block / least, 1) * 64;
}

// Tells the source that the rows [begin, end) will not be needed soon.
template <class Rows>
void done_with(const Rows& rows, Row begin, Row end) noexcept {
    if constexpr (requires { rows.done_with(begin, end); }) rows.done_with(begin, end);
}

// Releases rows after a sequential reader has passed them, one block at a time, and the rest on
// destruction.
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
// rows that have been read.
template <class Rows, class Read>
void read_in_order(const Rows& rows, Row n_rows, Row step, const Read& read) {
    ReleaseBehind behind(rows);
    for_each_piece(0, n_rows, step, [&](Row begin, Row end) {
        read(begin, end);
        behind.reached(end);
    });
}

}  // namespace splinear
