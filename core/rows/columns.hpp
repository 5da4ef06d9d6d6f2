// The basis functions of some rows in column-major form, from which Hessians are computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rows/group.hpp"
#include "simd/joint.hpp"

namespace splinear {

// The functions of a column. A cell is a set of functions that are nonzero together, e.g. those of
// one bin of a B-spline; missing values have a cell of their own. A column holds, for every row,
// its cell and the values ("weights") of the cell's functions, at most 4. A feature with more
// nonzero functions takes several columns.
struct ColumnShape {
    std::size_t feature;       // index within the group
    std::size_t size;          // number of basis functions
    std::size_t first;         // cell k has the functions first + k, ..., first + k + n_used - 1
    std::size_t n_used;        // functions per cell
    std::size_t width;         // weights per row: n_used, rounded up to 1, 2 or 4
    std::size_t missing_cell;  // the number of other cells
    bool has_missing;
    bool is_unit;  // all weights are 1 and are not stored

    std::size_t n_cells() const noexcept { return missing_cell + (has_missing ? 1 : 0); }

    // The index of the basis function that weight p of a cell belongs to: `size` for a missing
    // value, -1 for padding.
    std::int64_t function(std::size_t cell, std::size_t p) const noexcept {
        if (cell == missing_cell)
            return p == 0 && first == 0 ? static_cast<std::int64_t>(size) : -1;
        return p < n_used ? static_cast<std::int64_t>(first + cell + p) : -1;
    }
};

// Cells and weights of some rows.
struct Column {
    std::vector<std::int32_t> cell;  // one per row
    std::vector<double> weight;      // rows x width; empty if is_unit

    void resize(std::size_t n, const ColumnShape& shape) {
        cell.resize(n);
        weight.resize(shape.is_unit ? 0 : n * shape.width);
    }
    simd::CellColumn view(const ColumnShape& shape) const noexcept {
        return {cell.data(), shape.is_unit ? nullptr : weight.data(),
                static_cast<int>(shape.width)};
    }
};

// The sums that simd::add_joint() and add_own() add to. Few sums are kept in four copies, so that
// consecutive additions to the same sum do not wait for each other.
class CellSums {
public:
    void reset(std::size_t length) {
        length_ = length;
        apart_ = length <= few ? length : 0;
        sums_.assign(length + 3 * apart_, 0.0);
    }
    simd::Sums to() noexcept { return {sums_.data(), apart_}; }

    // Adds up the copies; valid until the next reset().
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
    std::size_t apart_ = 0;  // distance between copies; 0: a single copy
    std::vector<double> sums_;
};

// The column with its weights multiplied by h (one entry per row). The result points to `scaled`,
// or to h itself if all weights are 1.
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

// Reads the columns of a group with dense rows. Thread-safe for different ranges of rows.
class ColumnReader {
public:
    virtual ~ColumnReader() = default;

    // The shapes of all columns, feature by feature.
    virtual const std::vector<ColumnShape>& shapes() const noexcept = 0;

    // Writes the rows [begin, end) to columns[c], one per shape, starting at index `to`. Columns
    // that are null are skipped.
    virtual void read(Row begin, Row end, Column* const* columns, std::size_t to) const = 0;
};

// Null for sparse rows. The group must outlive the reader.
std::unique_ptr<ColumnReader> make_reader(const Group& group);

}  // namespace splinear
