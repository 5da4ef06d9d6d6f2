// A fast screening of columns by histograms of some rows: which columns certainly have no long tail
// and need not be sorted.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "model/tail_knots.hpp"
#include "rows/matrix_view.hpp"
#include "support/checks.hpp"
#include "support/pieces.hpp"

namespace splinear {

// Histograms of some columns, each with n_parts bins of equal width over the column's range.
template <class Real>
class PartCounts {
public:
    static constexpr std::size_t most_columns = 128;
    static constexpr std::size_t most_rows = std::numeric_limits<std::uint16_t>::max();

    // `stride` is the column stride of the matrix; lo and hi have one entry per column.
    PartCounts(std::span<const std::int64_t> columns, std::ptrdiff_t stride,
               std::span<const double> lo, std::span<const double> hi)
        : columns_(columns), stride_(stride), n_(columns.size()), counts_(n_ * n_parts) {
        constexpr auto most = static_cast<double>(std::numeric_limits<Real>::max());
        for (std::size_t j = 0; j < n_; ++j) {
            lo_[j] = static_cast<Real>(lo[j]);
            per_unit_[j] =
                static_cast<Real>(std::min(static_cast<double>(n_parts) / (hi[j] - lo[j]), most));
            if (columns[j] != columns[0] + static_cast<std::int64_t>(j)) in_a_row_ = false;
        }
    }

    // Counts the values of one row.
    void add(const Real* row) {
        constexpr auto last = static_cast<Real>(n_parts - 1);
        std::array<Real, most_columns> x;
        std::array<std::int32_t, most_columns> part;
        if (in_a_row_ && stride_ == 1)
            std::copy_n(row + columns_[0], n_, x.begin());
        else
            for (std::size_t j = 0; j < n_; ++j) x[j] = row[columns_[j] * stride_];
        for (std::size_t j = 0; j < n_; ++j) {
            Real at = (x[j] - lo_[j]) * per_unit_[j];
            at = at > Real{0} ? at : Real{0};
            at = at < last ? at : last;
            part[j] = static_cast<std::int32_t>(at);
            missing_[j] = x[j] == x[j] ? missing_[j] : Real{1};
        }
        for (std::size_t j = 0; j < n_; ++j)
            ++counts_[j * n_parts + static_cast<std::size_t>(part[j])];
    }

    // Whether column j, after n_rows > 0 calls of add(), has more than `few` distinct values, no
    // missing ones, and certainly no long tail.
    bool is_spread(std::size_t j, std::size_t n_rows, const TailRule& rule, std::size_t few) const {
        const auto counts = std::span(counts_).subspan(j * n_parts, n_parts);
        const auto part_of = [&](double share) {
            const std::size_t place = quantile_place(share, n_rows);
            std::size_t before = 0;
            std::size_t part = 0;
            while ((before += counts[part]) <= place) ++part;
            return static_cast<double>(part);
        };
        const auto n_empty = static_cast<std::size_t>(std::ranges::count(counts, 0));
        // The number of whole bins between the two quantiles, minus one for rounding errors.
        const double between = part_of(rule.to) - part_of(rule.from) - 2.0;
        return missing_[j] == Real{0} && n_parts - n_empty > few &&
               between >= rule.narrow * static_cast<double>(n_parts);
    }

private:
    static constexpr std::size_t n_parts = 128;

    std::span<const std::int64_t> columns_;
    std::ptrdiff_t stride_;
    std::size_t n_;
    bool in_a_row_ = true;
    std::array<Real, most_columns> lo_{};
    std::array<Real, most_columns> per_unit_{};
    std::array<Real, most_columns> missing_{};  // 1: the column has missing values
    std::vector<std::uint16_t> counts_;         // n_parts per column
};

// The indices into `columns` of those that may have, in the given rows, a long tail over [lo, hi],
// missing values, or at most `few` distinct values. Columns that are not returned certainly do not.
template <class Real>
std::vector<std::int64_t> suspect_columns(const MatrixView<Real>& X,
                                          std::span<const std::int64_t> rows,
                                          std::span<const std::int64_t> columns,
                                          std::span<const double> lo, std::span<const double> hi,
                                          const TailRule& rule, std::size_t few, int n_threads) {
    using Counts = PartCounts<Real>;
    check_rows(rows, X.n_rows);
    check_columns(columns, columns.size(), X.n_columns);
    must_be("the number of lo, one per column,", lo.size(), columns.size());
    must_be("the number of hi, one per column,", hi.size(), columns.size());
    must(rows.size() <= Counts::most_rows, "there must be fewer than 65,536 rows");
    const auto n = static_cast<std::ptrdiff_t>(columns.size());
    const std::ptrdiff_t together =
        std::clamp<std::ptrdiff_t>(n / (2 * static_cast<std::ptrdiff_t>(n_threads)), 1,
                                   static_cast<std::ptrdiff_t>(Counts::most_columns));
    std::vector<unsigned char> is_suspect(columns.size(), 1);
    parallel_pieces(0, n, together, n_threads, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
        const auto first = static_cast<std::size_t>(begin);
        const auto size = static_cast<std::size_t>(end - begin);
        const auto own = columns.subspan(first, size);
        Counts counts(own, X.column_stride, lo.subspan(first, size), hi.subspan(first, size));
        for (std::size_t i = 0; i < rows.size(); ++i) {
            ask_ahead(X, rows, i, own);
            counts.add(X.data + rows[i] * X.row_stride);
        }
        for (std::size_t j = 0; j < size && !rows.empty(); ++j)
            is_suspect[first + j] = counts.is_spread(j, rows.size(), rule, few) ? 0 : 1;
    });
    std::vector<std::int64_t> out;
    for (std::size_t j = 0; j < is_suspect.size(); ++j)
        if (is_suspect[j] != 0) out.push_back(static_cast<std::int64_t>(j));
    return out;
}

}  // namespace splinear
