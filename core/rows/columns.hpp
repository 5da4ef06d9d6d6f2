// The basis functions of some rows, feature by feature: what second derivatives are summed from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rows/group.hpp"
#include "simd/joint.hpp"

namespace splinear {

// Which functions a column holds. Where a row lies says which of a feature's functions are not
// zero: each possibility is a cell, and a missing value is one more. A cell has up to 4 functions;
// a feature with more of them at once takes several columns.
struct ColumnShape {
    std::size_t feature;       // of the group
    std::size_t size;          // of the basis
    std::size_t first;         // function of cell 0; cell k begins with first + k
    std::size_t n_used;        // functions per cell
    std::size_t width;         // weights per row: n_used, rounded up to 1, 2 or 4
    std::size_t missing_cell;  // the last, if there are missing values
    bool has_missing;
    bool is_unit;  // all weights are 1, and not stored

    std::size_t n_cells() const noexcept { return missing_cell + (has_missing ? 1 : 0); }

    // Which of the feature's functions weight p of a cell is, `size` being the missing value; or
    // -1: none.
    std::int64_t function(std::size_t cell, std::size_t p) const noexcept {
        if (cell == missing_cell)
            return p == 0 && first == 0 ? static_cast<std::int64_t>(size) : -1;
        return p < n_used ? static_cast<std::int64_t>(first + cell + p) : -1;
    }
};

// The weights of some rows.
struct Column {
    std::vector<std::int32_t> cell;
    std::vector<double> weight;  // rows x width

    void resize(std::size_t n, const ColumnShape& shape) {
        cell.resize(n);
        weight.resize(shape.is_unit ? 0 : n * shape.width);
    }
    simd::CellColumn view(const ColumnShape& shape) const noexcept {
        return {cell.data(), shape.is_unit ? nullptr : weight.data(),
                static_cast<int>(shape.width)};
    }
};

// Sums per cell in the form that simd::add_joint() and add_own() take: where they are few, in
// copies.
class CellSums {
public:
    void reset(std::size_t length) {
        length_ = length;
        apart_ = length <= few ? length : 0;
        sums_.assign(length + 3 * apart_, 0.0);
    }
    simd::Sums to() noexcept { return {sums_.data(), apart_}; }

    // All copies together.
    std::span<const double> total() noexcept {
        for (std::size_t k = 0; k < apart_; ++k) {
            sums_[k] += sums_[k + apart_] + sums_[k + 2 * apart_] + sums_[k + 3 * apart_];
            sums_[k + apart_] = sums_[k + 2 * apart_] = sums_[k + 3 * apart_] = 0.0;
        }
        return std::span(sums_).first(length_);
    }

private:
    static constexpr std::size_t few = 2048;

    std::size_t length_ = 0;
    std::size_t apart_ = 0;
    std::vector<double> sums_;
};

// A column's weights times h, in `scaled` or h itself.
inline simd::CellColumn times(const Column& column, const ColumnShape& shape, const double* h,
                              std::vector<double>& scaled) {
    simd::CellColumn view = column.view(shape);
    view.weight = h;
    if (shape.is_unit) return view;
    scaled.resize(column.weight.size());
    for (std::size_t i = 0; i < column.cell.size(); ++i)
        for (std::size_t p = 0; p < shape.width; ++p)
            scaled[i * shape.width + p] = column.weight[i * shape.width + p] * h[i];
    view.weight = scaled.data();
    return view;
}

// Reads columns of a group whose rows hold all values.
class ColumnReader {
public:
    virtual ~ColumnReader() = default;

    // Feature by feature.
    virtual const std::vector<ColumnShape>& shapes() const noexcept = 0;

    // The rows begin, ..., end - 1 into columns[0], columns[1], ... from place `to` on; a null
    // pointer leaves a column out.
    virtual void read(Row begin, Row end, Column* const* columns, std::size_t to) const = 0;
};

// Null for sparse rows. The group must live as long.
std::unique_ptr<ColumnReader> make_reader(const Group& group);

}  // namespace splinear
