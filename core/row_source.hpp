// Where the operator reads the arguments of the basis from: codes, the values themselves, or those
// that are not zero.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "axis.hpp"
#include "codes.hpp"
#include "matrix_view.hpp"
#include "sparse_rows.hpp"

namespace splinear {

// for_each(row, visit) calls visit(feature, argument) for every value that may count: all of them,
// or those that are not zero.
template <class S>
concept RowSource = requires(const S source, Row row, void (*visit)(std::size_t, double)) {
    { source.n_rows() } -> std::same_as<Row>;
    source.for_each(row, visit);
};

template <class S>
concept DenseSource = RowSource<S> && requires(const S source, Row row, std::size_t feature) {
    { source.argument(row, feature) } -> std::same_as<double>;
};

// Rows coded in 16 bits: 2 bytes a value, rounded to at least 32,768 places along the axis.
class CodedRows {
public:
    CodedRows(const Codes& codes, const Axes& axes) : codes_(codes) {
        for (std::size_t j = 0; j < axes.size(); ++j) {
            first_.push_back(axes[j].first());
            width_.push_back(1.0 / codes.grid().density(axes[j]));
        }
    }

    const Codes& codes() const noexcept { return codes_; }
    double first(std::size_t feature) const noexcept { return first_[feature]; }
    double width(std::size_t feature) const noexcept { return width_[feature]; }
    Row n_rows() const noexcept { return codes_.n_rows(); }
    Row rows_per_block() const noexcept { return codes_.rows_per_block(); }
    void done_with(Row begin, Row end) const noexcept { codes_.done_with(begin, end); }
    double argument(Row row, std::size_t feature) const noexcept {
        return first_[feature] + width_[feature] * codes_.row(row)[feature];
    }
    template <class Visit>
    void for_each(Row row, const Visit& visit) const {
        for (std::size_t j = 0; j < first_.size(); ++j) visit(j, argument(row, j));
    }

private:
    const Codes& codes_;
    std::vector<double> first_;
    std::vector<double> width_;  // of one code
};

// Rows of a matrix in full precision, in a given order: nothing is stored beyond the order.
template <class Real>
class ValueRows {
public:
    ValueRows(MatrixView<Real> X, const Axes& axes, std::span<const std::int64_t> order)
        : X_(X), axes_(axes), order_(order) {}

    Row n_rows() const noexcept { return static_cast<Row>(order_.size()); }
    double argument(Row row, std::size_t feature) const noexcept {
        const auto place = static_cast<std::ptrdiff_t>(order_[static_cast<std::size_t>(row)]);
        return axes_[feature].argument(X_(place, static_cast<std::ptrdiff_t>(feature)));
    }
    template <class Visit>
    void for_each(Row row, const Visit& visit) const {
        for (std::size_t j = 0; j < axes_.size(); ++j) visit(j, argument(row, j));
    }

private:
    MatrixView<Real> X_;
    const Axes& axes_;
    std::span<const std::int64_t> order_;
};

using AnyRows = std::variant<CodedRows, ValueRows<float>, ValueRows<double>, SparseRows>;

}  // namespace splinear
