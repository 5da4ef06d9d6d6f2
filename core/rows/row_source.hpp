// Where the operator reads the arguments of the basis from: codes, the values themselves, or those
// that are not zero.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <variant>
#include <vector>

#include "model/axis.hpp"
#include "rows/codes.hpp"
#include "rows/matrix_view.hpp"
#include "rows/sparse_rows.hpp"

namespace splinear {

// for_each(row, visit) calls visit(feature, argument) for every value that may count: all of them,
// or those that are not zero. The argument of a gap is NaN.
template <class S>
concept RowSource = requires(const S source, Row row, void (*visit)(std::size_t, double)) {
    { source.n_rows() } -> std::same_as<Row>;
    source.for_each(row, visit);
};

template <class S>
concept DenseSource = RowSource<S> && requires(const S source, Row row, std::size_t feature) {
    { source.argument(row, feature) } -> std::same_as<double>;
};

// Coded rows: 2 bytes per value, rounded to some 32,768 places along the axis or more; or 4.
template <class C>
class CodedRowsOf {
public:
    CodedRowsOf(const Codes& codes, const Axes& axes)
        : codes_(&codes), n_rows_(codes.n_rows()), gap_(codes.grid().gap) {
        if (static_cast<std::ptrdiff_t>(axes.size()) != codes.n_features())
            throw std::invalid_argument("there must be one axis per feature");
        if (codes.grid().is_wide != std::is_same_v<C, WideCode>)
            throw std::invalid_argument("the codes are not as wide as these rows");
        for (std::size_t j = 0; j < axes.size(); ++j) {
            first_.push_back(axes[j].first());
            width_.push_back(1.0 / codes.grid().density(axes[j]));
        }
    }

    // The first n rows alone.
    CodedRowsOf first_rows(Row n) const {
        CodedRowsOf some = *this;
        some.n_rows_ = std::min(n, n_rows_);
        return some;
    }

    // Some rows, in memory of their own.
    CodedRowsOf some_rows(std::span<const std::int64_t> numbers) const {
        check_rows(numbers, n_rows_);
        CodedRowsOf some = *this;
        some.own_ = std::make_shared<const Codes>(codes_->some_rows(numbers));
        some.codes_ = some.own_.get();
        some.n_rows_ = some.codes_->n_rows();
        return some;
    }

    const Codes& codes() const noexcept { return *codes_; }
    const CodeGrid& grid() const noexcept { return codes_->grid(); }
    const C* row(Row i) const noexcept { return codes_->template row<C>(i); }
    double first(std::size_t feature) const noexcept { return first_[feature]; }
    double width(std::size_t feature) const noexcept { return width_[feature]; }
    Row n_rows() const noexcept { return n_rows_; }
    std::size_t n_features() const noexcept { return first_.size(); }
    Row rows_per_block() const noexcept { return codes_->rows_per_block(); }
    void done_with(Row begin, Row end) const noexcept { codes_->done_with(begin, end); }
    double argument(Row i, std::size_t feature) const noexcept {
        const C code = row(i)[feature];
        if (code == gap_) return std::numeric_limits<double>::quiet_NaN();
        return first_[feature] + width_[feature] * code;
    }
    template <class Visit>
    void for_each(Row i, const Visit& visit) const {
        for (std::size_t j = 0; j < first_.size(); ++j) visit(j, argument(i, j));
    }

private:
    std::shared_ptr<const Codes> own_;  // none, where somebody else owns them
    const Codes* codes_;
    Row n_rows_;
    std::uint32_t gap_;
    std::vector<double> first_;
    std::vector<double> width_;  // of one code
};

using CodedRows = CodedRowsOf<Code>;
using WideRows = CodedRowsOf<WideCode>;

// Rows of a matrix in full precision, in a given order: nothing is stored beyond the order. Feature
// j is in column columns[j].
template <class Real>
class ValueRows {
public:
    ValueRows(MatrixView<Real> X, std::span<const std::int64_t> columns, const Axes& axes,
              std::span<const std::int64_t> order)
        : X_(X), columns_(columns.begin(), columns.end()), axes_(axes), order_(order) {
        check_columns(columns, axes.size(), X.n_columns);
        check_rows(order, X.n_rows);
    }

    ValueRows some_rows(std::span<const std::int64_t> numbers) const {
        check_rows(numbers, n_rows());
        auto own = std::make_shared<std::vector<std::int64_t>>();
        for (const std::int64_t i : numbers) own->push_back(order_[static_cast<std::size_t>(i)]);
        ValueRows some = *this;
        some.own_ = own;
        some.order_ = *own;
        return some;
    }

    ValueRows first_rows(Row n) const {
        ValueRows some = *this;
        some.order_ = order_.first(static_cast<std::size_t>(std::min(n, n_rows())));
        return some;
    }

    Row n_rows() const noexcept { return static_cast<Row>(order_.size()); }
    std::size_t n_features() const noexcept { return columns_.size(); }
    double argument(Row row, std::size_t feature) const noexcept {
        const auto place = static_cast<std::ptrdiff_t>(order_[static_cast<std::size_t>(row)]);
        const double x = X_(place, static_cast<std::ptrdiff_t>(columns_[feature]));
        return std::isnan(x) ? x : axes_[feature].argument(x);
    }
    template <class Visit>
    void for_each(Row row, const Visit& visit) const {
        for (std::size_t j = 0; j < columns_.size(); ++j) visit(j, argument(row, j));
    }

private:
    MatrixView<Real> X_;
    std::vector<std::int64_t> columns_;
    const Axes& axes_;
    std::shared_ptr<const std::vector<std::int64_t>> own_;  // none, where somebody else owns it
    std::span<const std::int64_t> order_;
};

using AnyRows = std::variant<CodedRows, WideRows, ValueRows<float>, ValueRows<double>, SparseRows>;

// The first n rows alone; `rows` must outlive them.
inline AnyRows first_rows(const AnyRows& rows, Row n) {
    if (n < 0) throw std::invalid_argument("there must be no fewer than 0 rows");
    return std::visit([&](const auto& source) -> AnyRows { return source.first_rows(n); }, rows);
}

// Some rows, in the given order; of codes and sparse rows a copy.
inline AnyRows some_rows(const AnyRows& rows, std::span<const std::int64_t> numbers) {
    const auto some = [&](const auto& source) -> AnyRows { return source.some_rows(numbers); };
    return std::visit(some, rows);
}

inline AnyRows coded_rows(const Codes& codes, const Axes& axes) {
    if (codes.grid().is_wide) return WideRows(codes, axes);
    return CodedRows(codes, axes);
}

}  // namespace splinear
