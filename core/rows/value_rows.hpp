// Rows of a dense matrix, read in full precision whenever they are needed.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/arguments.hpp"
#include "model/axis.hpp"
#include "rows/matrix_view.hpp"
#include "rows/row.hpp"
#include "simd/coding.hpp"

namespace splinear {

// The rows order[0], order[1], ... of X; feature j is in column columns[j]. Nothing is copied: X,
// axes and order must outlive this.
template <class Real>
class ValueRows {
public:
    ValueRows(MatrixView<Real> X, std::span<const std::int64_t> columns, const Axes& axes,
              std::span<const std::int64_t> order)
        : X_(X), columns_(columns.begin(), columns.end()), axes_(axes), order_(order) {
        check_columns(columns, axes.size(), X.n_columns);
        check_rows(order, X.n_rows);
    }

    // The rows with the given numbers.
    ValueRows some_rows(std::span<const std::int64_t> numbers) const {
        check_rows(numbers, n_rows());
        auto own = std::make_shared<std::vector<std::int64_t>>();
        for (const std::int64_t i : numbers) own->push_back(order_[static_cast<std::size_t>(i)]);
        ValueRows some = *this;
        some.own_ = own;
        some.order_ = *own;
        return some;
    }

    // The first n rows.
    ValueRows first_rows(Row n) const {
        ValueRows some = *this;
        some.order_ = order_.first(static_cast<std::size_t>(std::min(n, n_rows())));
        return some;
    }

    Row n_rows() const noexcept { return static_cast<Row>(order_.size()); }
    std::size_t n_features() const noexcept { return columns_.size(); }
    double argument(Row row, std::size_t feature) const noexcept {
        const auto place = static_cast<std::ptrdiff_t>(order_[static_cast<std::size_t>(row)]);
        return argument_of(axes_[feature],
                           X_(place, static_cast<std::ptrdiff_t>(columns_[feature])));
    }

    // Arguments of one feature in simd::column_rows rows, whose addresses in X are places(rows).
    // Returns false if a value is missing, whose argument is then not NaN.
    using Column = std::array<double, simd::column_rows>;
    using Places = std::array<const Real*, simd::column_rows>;
    Places places(std::span<const Row> rows) const noexcept {
        Places out;
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = X_.data + order_[index(rows[i])] * X_.row_stride;
        return out;
    }
    bool arguments(const Places& places, std::size_t feature, Column& out) const noexcept {
        Column x;
        const auto at = static_cast<std::ptrdiff_t>(columns_[feature]) * X_.column_stride;
        bool missing = false;
        for (std::size_t i = 0; i < x.size(); ++i) {
            x[i] = static_cast<double>(places[i][at]);
            missing |= x[i] != x[i];
        }
        place_column(axes_[feature], x.data(), out.data());
        return !missing;
    }

    // out[a] = argument(rows[a], feature) for any number of rows.
    void arguments(std::span<const Row> rows, std::size_t feature, double* out) const noexcept {
        const auto column = static_cast<std::ptrdiff_t>(columns_[feature]);
        std::array<double, simd::column_rows> x{};
        std::array<double, simd::column_rows> placed;
        for (std::size_t first = 0; first < rows.size(); first += x.size()) {
            const std::size_t n = std::min(x.size(), rows.size() - first);
            for (std::size_t a = 0; a < n; ++a)
                x[a] = X_(static_cast<std::ptrdiff_t>(order_[index(rows[first + a])]), column);
            place_column(axes_[feature], x.data(), placed.data());
            for (std::size_t a = 0; a < n; ++a)
                out[first + a] = std::isnan(x[a]) ? x[a] : placed[a];
        }
    }
    template <class Visit>
    void for_each(Row row, const Visit& visit) const {
        for (std::size_t j = 0; j < columns_.size(); ++j) visit(j, argument(row, j));
    }

private:
    MatrixView<Real> X_;
    std::vector<std::int64_t> columns_;
    const Axes& axes_;
    std::shared_ptr<const std::vector<std::int64_t>> own_;  // null if somebody else owns the order
    std::span<const std::int64_t> order_;
};

}  // namespace splinear
