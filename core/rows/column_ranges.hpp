// The lowest and highest value of every column.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "rows/matrix_view.hpp"
#include "rows/row.hpp"
#include "support/pieces.hpp"

namespace splinear {

// Missing values, NaN, are left out; a column of nothing else ranges from infinity to -infinity.
struct ColumnRanges {
    std::vector<double> lo;
    std::vector<double> hi;
    std::vector<double> has_missing;  // 1: yes, 0: no
};

template <class Real>
ColumnRanges column_ranges(const MatrixView<Real>& X, int n_threads) {
    struct Ends {
        std::vector<Real> lo;
        std::vector<Real> hi;
        std::vector<Real> missing;
    };
    constexpr Row values_per_task = Row{1} << 16;  // few rows, where there are many columns
    const Row per_task = std::max<Row>(64, values_per_task / std::max<Row>(X.n_columns, 1));
    constexpr Real far = std::numeric_limits<Real>::infinity();
    const std::size_t n = static_cast<std::size_t>(X.n_columns);
    std::vector<Ends> found(index(n_pieces(X.n_rows, per_task)));
    parallel_pieces(0, X.n_rows, per_task, n_threads, [&](Row begin, Row end) {
        Ends own{std::vector<Real>(n, far), std::vector<Real>(n, -far), std::vector<Real>(n)};
        Real* lo = own.lo.data();
        Real* hi = own.hi.data();
        Real* missing = own.missing.data();
        for (Row i = begin; i < end; ++i) {
            const Real* x = X.data + i * X.row_stride;
            for (std::size_t j = 0; j < n; ++j) {
                const Real value = x[static_cast<std::ptrdiff_t>(j) * X.column_stride];
                lo[j] = value < lo[j] ? value : lo[j];
                hi[j] = value > hi[j] ? value : hi[j];
                missing[j] = value == value ? missing[j] : Real{1};
            }
        }
        found[index(begin / per_task)] = std::move(own);
    });
    const auto none = static_cast<double>(far);
    ColumnRanges out{std::vector<double>(n, none), std::vector<double>(n, -none),
                     std::vector<double>(n)};
    for (const Ends& own : found)
        for (std::size_t j = 0; j < n; ++j) {
            out.lo[j] = std::min(out.lo[j], static_cast<double>(own.lo[j]));
            out.hi[j] = std::max(out.hi[j], static_cast<double>(own.hi[j]));
            out.has_missing[j] = std::max(out.has_missing[j], static_cast<double>(own.missing[j]));
        }
    return out;
}

}  // namespace splinear
