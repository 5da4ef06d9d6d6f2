// The training data as integer codes of 16 or 32 bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

#include "model/axis.hpp"
#include "rows/code_grid.hpp"
#include "rows/encoder.hpp"
#include "rows/matrix_view.hpp"
#include "rows/paging.hpp"
#include "rows/row.hpp"
#include "support/checks.hpp"
#include "support/pieces.hpp"

namespace splinear {

// n_rows x n_features codes in row-major order, of type WideCode if grid.is_wide, else Code. Either
// owns its memory, or refers to a file mapping that must outlive it.
class Codes {
public:
    Codes(std::ptrdiff_t n_rows, std::ptrdiff_t n_features, CodeGrid grid)
        : Codes(n_rows, n_features, grid, &zeros) {}

    // Codes in a read-only file mapping, of which rows_per_block rows may be in memory at a time.
    Codes(const Code* mapped, std::ptrdiff_t n_rows, std::ptrdiff_t n_features, CodeGrid grid,
          Row rows_per_block)
        : Codes(static_cast<const void*>(mapped), false, n_rows, n_features, grid, rows_per_block) {
    }
    Codes(const WideCode* mapped, std::ptrdiff_t n_rows, std::ptrdiff_t n_features, CodeGrid grid,
          Row rows_per_block)
        : Codes(static_cast<const void*>(mapped), true, n_rows, n_features, grid, rows_per_block) {}

    std::ptrdiff_t n_rows() const noexcept { return n_rows_; }
    std::ptrdiff_t n_features() const noexcept { return n_features_; }
    const CodeGrid& grid() const noexcept { return grid_; }

    // C must be the type that the grid implies.
    template <class C = Code>
    const C* row(std::ptrdiff_t i) const noexcept {
        return static_cast<const C*>(data_) + i * n_features_;
    }

    // See blocks.hpp.
    Row rows_per_block() const noexcept { return rows_per_block_; }
    void done_with(Row begin, Row end) const noexcept {
        if (!own_) release_pages(at(begin), at(end), at(0), at(n_rows_));
    }

    // A copy of the rows with the given numbers, in this order.
    Codes some_rows(std::span<const std::int64_t> numbers, int n_threads) const {
        check_rows(numbers, n_rows_);
        Codes some(static_cast<std::ptrdiff_t>(numbers.size()), n_features_, grid_, &unwritten);
        constexpr Row rows_per_task = 128;
        parallel_pieces(0, some.n_rows_, rows_per_task, n_threads, [&](Row begin, Row end) {
            std::byte* to = some.own_.get() + begin * n_features_ * code_bytes();
            for (Row k = begin; k < end; ++k) {
                const std::int64_t i = numbers[index(k)];
                to = std::copy(at(i), at(i + 1), to);
            }
        });
        return some;
    }

    // Encodes row i of X into row places[i]; a negative place skips the row. Feature j is in column
    // columns[j] of X. Only for codes in memory. Calls for different places may run at once.
    template <class Real>
    void fill(const MatrixView<Real>& X, std::span<const std::int64_t> columns,
              std::span<const std::int64_t> places, const Axes& axes, int n_threads) {
        check_fill(X.n_rows, X.n_columns, columns, places, axes);
        const Encoder encoder(axes, columns, grid_);
        constexpr Row rows_per_task = 256;
        parallel_pieces(0, X.n_rows, rows_per_task, n_threads, [&](Row begin, Row end) {
            check_places(places.subspan(index(begin), index(end - begin)));
            if (grid_.is_wide)
                encoder.encode(X, begin, end, places.data(),
                               static_cast<WideCode*>(static_cast<void*>(own_.get())));
            else
                encoder.encode(X, begin, end, places.data(),
                               static_cast<Code*>(static_cast<void*>(own_.get())));
        });
    }

private:
    struct Free {
        void operator()(std::byte* p) const noexcept { std::free(p); }
    };
    using Memory = std::unique_ptr<std::byte[], Free>;

    Codes(std::ptrdiff_t n_rows, std::ptrdiff_t n_features, CodeGrid grid,
          Memory (*memory)(std::size_t))
        : n_rows_(n_rows),
          n_features_(n_features),
          rows_per_block_(std::max<Row>(n_rows, 1)),
          grid_(grid),
          own_(memory(static_cast<std::size_t>(n_rows * n_features * code_bytes()))),
          data_(own_.get()) {}

    Codes(const void* mapped, bool wide, std::ptrdiff_t n_rows, std::ptrdiff_t n_features,
          CodeGrid grid, Row rows_per_block)
        : n_rows_(n_rows),
          n_features_(n_features),
          rows_per_block_(std::max<Row>(rows_per_block, 1)),
          grid_(grid),
          data_(mapped) {
        must(wide == grid.is_wide, "the codes are not as wide as their grid says");
    }

    // Zeros, so that rows that are never filled have valid codes.
    static Memory zeros(std::size_t n_bytes) {
        return held(std::calloc(std::max<std::size_t>(n_bytes, 1), 1), n_bytes);
    }

    // Uninitialized, for codes that are all written next: pages are touched first by the threads
    // that write them.
    static Memory unwritten(std::size_t n_bytes) {
        return held(std::malloc(std::max<std::size_t>(n_bytes, 1)), n_bytes);
    }

    static Memory held(void* given, std::size_t n_bytes) {
        Memory memory(static_cast<std::byte*>(given));
        if (!memory) throw std::bad_alloc();
        prefer_large_pages(memory.get(), n_bytes);
        return memory;
    }

    std::ptrdiff_t code_bytes() const noexcept {
        return static_cast<std::ptrdiff_t>(grid_.is_wide ? sizeof(WideCode) : sizeof(Code));
    }

    const std::byte* at(Row row) const noexcept {
        return static_cast<const std::byte*>(data_) + row * n_features_ * code_bytes();
    }

    void check_fill(std::ptrdiff_t n_rows, std::ptrdiff_t n_columns,
                    std::span<const std::int64_t> columns, std::span<const std::int64_t> places,
                    const Axes& axes) const {
        must(own_ != nullptr, "codes in a file are not to be filled");
        must_be("the number of axes, one per feature,", axes.size(), index(n_features_));
        check_columns(columns, axes.size(), n_columns);
        must_be("the number of places, one per row,", places.size(), index(n_rows));
    }

    void check_places(std::span<const std::int64_t> places) const {
        for (const std::int64_t place : places)
            if (place >= 0) must_be_one_of("place", place, index(n_rows_));
    }

    std::ptrdiff_t n_rows_;
    std::ptrdiff_t n_features_;
    Row rows_per_block_;
    CodeGrid grid_;
    Memory own_;        // null for codes in a file
    const void* data_;  // own_ or the mapping
};

}  // namespace splinear
