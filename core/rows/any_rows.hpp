// The forms in which rows are stored, and a variant of all of them: codes of 16 or 32 bits, values
// of a dense matrix, or the nonzero values of a sparse one.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include "rows/coded_rows.hpp"
#include "rows/row.hpp"
#include "rows/sparse_rows.hpp"
#include "rows/value_rows.hpp"
#include "support/checks.hpp"

namespace splinear {

// for_each(row, visit) calls visit(feature, argument of the basis) for all values of a row, or for
// the nonzero ones of a sparse row. The argument of a missing value is NaN.
template <class S>
concept RowSource = requires(const S source, Row row, void (*visit)(std::size_t, double)) {
    { source.n_rows() } -> std::same_as<Row>;
    source.for_each(row, visit);
};

// Rows whose values can be accessed by feature.
template <class S>
concept DenseSource = RowSource<S> && requires(const S source, Row row, std::size_t feature) {
    { source.argument(row, feature) } -> std::same_as<double>;
};

using AnyRows = std::variant<CodedRows, WideRows, ValueRows<float>, ValueRows<double>, SparseRows,
                             ExactSparseRows>;

// A view of the first n rows; `rows` must outlive it.
inline AnyRows first_rows(const AnyRows& rows, Row n) {
    must(n >= 0, "the number of rows must not be negative");
    return std::visit([&](const auto& source) -> AnyRows { return source.first_rows(n); }, rows);
}

// The rows with the given numbers, in this order. Codes and sparse rows are copied; others are a
// view of the matrix.
inline AnyRows some_rows(const AnyRows& rows, std::span<const std::int64_t> numbers,
                         int n_threads) {
    const auto some = [&]<class S>(const S& source) -> AnyRows {
        if constexpr (requires { source.codes(); })
            return source.some_rows(numbers, n_threads);
        else
            return source.some_rows(numbers);
    };
    return std::visit(some, rows);
}

// Does not own codes and axes.
inline AnyRows coded_rows(const Codes& codes, const Axes& axes) {
    if (codes.grid().is_wide) return WideRows(codes, axes);
    return CodedRows(codes, axes);
}

}  // namespace splinear
