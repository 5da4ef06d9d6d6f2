// Sorts columns of a matrix, restricted to some rows.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "rows/matrix_view.hpp"
#include "support/pieces.hpp"

namespace splinear {

// Sorts floating-point numbers, NaN last, as integer keys of the same order: a radix sort by the
// highest bits, 11 at a time, then comparisons for the few keys that agree in these.
template <class Real>
class ColumnSorter {
public:
    // For columns of n values.
    explicit ColumnSorter(std::size_t n) : keys_(n), others_(n), n_(n) {}

    void sort(Real* column) {
        const std::size_t n_lowest = take_out_lowest(column);
        std::array<std::array<std::uint32_t, n_buckets>, n_digits> starts{};
        for (std::size_t i = 0; i < n_; ++i)
            for (int d = 0; d < n_digits; ++d) ++starts[index_of(d)][digit(keys_[i], d)];
        for (int d = 0; d < n_digits; ++d) sort_by(d, starts[index_of(d)]);
        sort_the_rest();
        for (std::size_t i = 0; i < n_; ++i) column[n_lowest + i] = value_of(keys_[i]);
    }

private:
    using Key = std::conditional_t<sizeof(Real) == 8, std::uint64_t, std::uint32_t>;
    static constexpr int n_bits = 8 * sizeof(Key);
    static constexpr int n_digits = sizeof(Real) == 8 ? 3 : 2;
    static constexpr int digit_bits = 11;
    static constexpr int first_bit = n_bits - n_digits * digit_bits;
    static constexpr std::size_t n_buckets = std::size_t{1} << digit_bits;
    static constexpr Key sign = Key{1} << (n_bits - 1);

    static constexpr std::size_t index_of(int d) { return static_cast<std::size_t>(d); }

    static constexpr std::size_t digit(Key key, int d) {
        return static_cast<std::size_t>(key >> (first_bit + d * digit_bits)) % n_buckets;
    }

    // Negative numbers have all bits flipped, others only the sign bit.
    static Key key_of(Real x) {
        if (std::isnan(x)) return ~Key{0};
        const Key bits = std::bit_cast<Key>(x);
        return (bits & sign) != 0 ? ~bits : bits | sign;
    }

    static Real value_of(Key key) {
        return std::bit_cast<Real>((key & sign) != 0 ? key & ~sign : ~key);
    }

    // Many columns are zero in half of the rows and positive in the others; the zeros need no
    // sorting. Writes all copies of the lowest value to the front of the column and keeps the keys
    // of the rest. Returns the number of copies.
    std::size_t take_out_lowest(Real* column) {
        Key lowest = ~Key{0};
        const std::size_t n = keys_.size();
        for (std::size_t i = 0; i < n; ++i) {
            others_[i] = key_of(column[i]);
            lowest = std::min(lowest, others_[i]);
        }
        n_ = 0;
        for (std::size_t i = 0; i < n; ++i) {
            keys_[n_] = others_[i];
            n_ += others_[i] != lowest ? 1 : 0;
        }
        std::fill_n(column, n - n_, value_of(lowest));
        return n - n_;
    }

    // Stable counting sort by digit d; counts[v] is how often the digit v occurs.
    void sort_by(int d, std::span<std::uint32_t> counts) {
        if (n_ == 0 || counts[digit(keys_[0], d)] == n_) return;
        std::uint32_t before = 0;
        for (std::uint32_t& count : counts) before += std::exchange(count, before);
        for (std::size_t i = 0; i < n_; ++i) others_[counts[digit(keys_[i], d)]++] = keys_[i];
        keys_.swap(others_);
    }

    // Sorts runs of keys with equal high bits in which two neighbors are out of order.
    void sort_the_rest() {
        const auto is_same = [](Key a, Key b) { return a >> first_bit == b >> first_bit; };
        for (std::size_t i = 1; i < n_; ++i) {
            if (keys_[i - 1] <= keys_[i]) continue;
            std::size_t from = i - 1;
            std::size_t to = i + 1;
            while (from > 0 && is_same(keys_[from - 1], keys_[i])) --from;
            while (to < n_ && is_same(keys_[to], keys_[i])) ++to;
            std::sort(&keys_[from], keys_.data() + to);
            i = to;
        }
    }

    std::vector<Key> keys_;
    std::vector<Key> others_;  // scratch
    std::size_t n_;            // number of keys, without copies of the lowest value
};

// Writes X[rows][:, columns] to out, column by column, each in ascending order with NaN last.
template <class Real>
void sort_columns(const MatrixView<Real>& X, std::span<const std::int64_t> rows,
                  std::span<const std::int64_t> columns, int n_threads, Real* out) {
    check_rows(rows, X.n_rows);
    check_columns(columns, columns.size(), X.n_columns);
    // Columns that share cache lines are read together, unless there are too many threads.
    constexpr std::ptrdiff_t most_together = 64 / sizeof(Real);
    const auto n_columns = static_cast<std::ptrdiff_t>(columns.size());
    const std::ptrdiff_t together = std::clamp<std::ptrdiff_t>(
        n_columns / (2 * static_cast<std::ptrdiff_t>(n_threads)), 1, most_together);
    const std::size_t n = rows.size();
    const auto sort_some = [&](std::ptrdiff_t first, std::ptrdiff_t last) {
        const auto own = columns.subspan(static_cast<std::size_t>(first),
                                         static_cast<std::size_t>(last - first));
        Real* const begin = out + static_cast<std::size_t>(first) * n;
        for (std::size_t i = 0; i < n; ++i) {
            ask_ahead(X, rows, i, own);
            const Real* row = X.data + rows[i] * X.row_stride;
            Real* to = begin + i;
            for (const std::int64_t column : own) {
                *to = row[column * X.column_stride];
                to += n;
            }
        }
        ColumnSorter<Real> sorter(n);
        for (std::size_t j = 0; j < own.size(); ++j) sorter.sort(begin + j * n);
    };
    parallel_pieces(0, n_columns, together, n_threads, sort_some);
}

}  // namespace splinear
