// Rows that may lie on disk: read a block at a time, and let go after use.
//
// A row can be read at any time, wherever it lies; only how much of the file stays in memory
// depends on what is said here. Rows without such members lie in memory, as one block.
#pragma once

#include <algorithm>
#include <cstddef>

#include "rows/codes.hpp"

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

// Lets rows go behind a pass that reads them in order.
template <class Rows>
class Trail {
public:
    explicit Trail(const Rows& rows) : rows_(rows) {}
    Trail(const Trail&) = delete;
    Trail& operator=(const Trail&) = delete;
    ~Trail() { done_with(rows_, begin_, end_); }

    // The pass has read all rows up to, and without, `end`.
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

}  // namespace splinear
