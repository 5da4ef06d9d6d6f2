// Where the operators read the arguments of the basis from: codes, the values themselves, or
// those that are not zero.
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

// for_each(row, visit) calls visit(feature, argument) for every value that may count: all of them,
// or those that are not zero. The argument of a missing one is NaN.
template <class S>
concept RowSource = requires(const S source, Row row, void (*visit)(std::size_t, double)) {
    { source.n_rows() } -> std::same_as<Row>;
    source.for_each(row, visit);
};

template <class S>
concept DenseSource = RowSource<S> && requires(const S source, Row row, std::size_t feature) {
    { source.argument(row, feature) } -> std::same_as<double>;
};

using AnyRows = std::variant<CodedRows, WideRows, ValueRows<float>, ValueRows<double>, SparseRows,
                             ExactSparseRows>;

// The first n rows alone; `rows` must outlive them.
inline AnyRows first_rows(const AnyRows& rows, Row n) {
    must(n >= 0, "the number of rows must not be negative");
    return std::visit([&](const auto& source) -> AnyRows { return source.first_rows(n); }, rows);
}

// Some rows, in the given order; of codes and sparse rows a copy.
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

inline AnyRows coded_rows(const Codes& codes, const Axes& axes) {
    if (codes.grid().is_wide) return WideRows(codes, axes);
    return CodedRows(codes, axes);
}

}  // namespace splinear
