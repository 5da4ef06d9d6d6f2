// The lowest and highest value of every column of a matrix.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "rows/matrix_view.hpp"
#include "rows/row.hpp"
#include "support/pieces.hpp"

namespace splinear {

// NaN counts as missing and is ignored; a column of NaN only has lo = infinity and hi = -infinity.
struct ColumnRanges {
    std::vector<double> lo;
    std::vector<double> hi;
    std::vector<double> has_missing;  // 1: yes, 0: no
};

// Accumulates the ranges of some rows, in the precision of the values.
template <class Real>
class SomeRanges {
public:
    explicit SomeRanges(std::size_t n_columns)
        : lo_(n_columns, far), hi_(n_columns, -far), missing_(n_columns) {}

    // Adds one row. With stride 1 the loop can use vector instructions.
    void add(const Real* row, std::ptrdiff_t stride) {
        if (stride == 1) return add(row, [](std::size_t j) { return j; });
        add(row, [=](std::size_t j) { return static_cast<std::ptrdiff_t>(j) * stride; });
    }

    // Merges the ranges of later rows. Of equal values (0 and -0) the earlier one is kept.
    void merge(const SomeRanges& later) {
        for (std::size_t j = 0; j < lo_.size(); ++j) {
            lo_[j] = std::min(lo_[j], later.lo_[j]);
            hi_[j] = std::max(hi_[j], later.hi_[j]);
            missing_[j] = std::max(missing_[j], later.missing_[j]);
        }
    }

    ColumnRanges found() const {
        return {
            {lo_.begin(), lo_.end()}, {hi_.begin(), hi_.end()}, {missing_.begin(), missing_.end()}};
    }

private:
    static constexpr Real far = std::numeric_limits<Real>::infinity();

    // Few rows have missing values, so a second loop finds their columns, only if there are any.
    template <class Place>
    void add(const Real* row, const Place& place) {
        Real* __restrict lo = lo_.data();
        Real* __restrict hi = hi_.data();
        const std::size_t n = lo_.size();
        int has_gap = 0;
        for (std::size_t j = 0; j < n; ++j) {
            const Real value = row[place(j)];
            lo[j] = value < lo[j] ? value : lo[j];
            hi[j] = value > hi[j] ? value : hi[j];
            has_gap |= value != value ? 1 : 0;
        }
        for (std::size_t j = 0; j < n && has_gap != 0; ++j)
            if (std::isnan(row[place(j)])) missing_[j] = Real{1};
    }

    std::vector<Real> lo_;
    std::vector<Real> hi_;
    std::vector<Real> missing_;
};

template <class Real>
ColumnRanges column_ranges(const MatrixView<Real>& X, int n_threads) {
    constexpr Row values_per_task = Row{1} << 18;  // few rows, where there are many columns
    const Row per_task = std::max<Row>(64, values_per_task / std::max<Row>(X.n_columns, 1));
    const auto n = static_cast<std::size_t>(X.n_columns);
    std::vector<SomeRanges<Real>> found(index(n_pieces(X.n_rows, per_task)), SomeRanges<Real>(0));
    parallel_pieces(0, X.n_rows, per_task, n_threads, [&](Row begin, Row end) {
        SomeRanges<Real> own(n);
        for (Row i = begin; i < end; ++i) own.add(X.data + i * X.row_stride, X.column_stride);
        found[index(begin / per_task)] = std::move(own);
    });
    SomeRanges<Real> all(n);
    for (const SomeRanges<Real>& own : found) all.merge(own);
    return all.found();
}

}  // namespace splinear
