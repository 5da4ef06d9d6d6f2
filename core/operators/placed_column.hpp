// A column of basis functions (see rows/columns.hpp) with its places in a Hessian.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rows/columns.hpp"

namespace splinear {

// The number of functions after thinning `size` of them by a factor; see hessian_thinned().
inline std::size_t n_thinned(std::size_t size, std::size_t support, std::size_t factor) {
    if (factor == 1) return size;
    return support == 1 ? (size - 1) / factor + 1 : (size - 2) / factor + 2;
}

// The shape of a column after thinning.
inline ColumnShape thinned(ColumnShape shape, std::size_t factor) {
    if (factor == 1) return shape;
    const std::size_t support = shape.n_used;  // 1 or 2, so one column holds all functions
    shape.size = n_thinned(shape.size, support, factor);
    shape.missing_cell = shape.size + 1 - support;
    return shape;
}

// A column and the places of its functions in the matrix. Cells none of whose functions has a place
// are merged into cell 0.
struct PlacedColumn {
    std::size_t group = 0;
    std::size_t number = 0;              // index among the group's columns
    std::size_t factor = 1;              // thinning factor
    std::size_t missing = 0;             // the cell of missing values before thinning
    ColumnShape shape{};                 // after thinning
    std::vector<std::int32_t> cells;     // from cells of `shape` to merged cells
    std::vector<std::int64_t> places;    // merged cells x width; -1: no place
    Column rows{};                       // cells and weights of the rows in memory
    std::vector<double> scaled{};        // the weights times h
    bool is_rare = false;                // whether `listed` is used
    std::vector<std::int32_t> listed{};  // the rows in which a function with a place is nonzero

    std::size_t n_cells() const noexcept { return places.size() / shape.width; }
    // Converts the rows [begin, end), as a ColumnReader wrote them, to thinned and merged cells.
    void renumber(std::size_t begin, std::size_t end) {
        if (factor > 1) thin(begin, end);
        for (std::size_t i = begin; i < end; ++i)
            rows.cell[i] = cells[static_cast<std::size_t>(rows.cell[i])];
    }

    // Lists the rows in which a function with a place is nonzero, if these are few; for example, in
    // a column of zeros and ones, whose function at zero has no place.
    void list_rows() {
        const std::size_t n = rows.cell.size();
        listed.clear();
        is_rare = true;
        for (std::size_t i = 0; i < n && is_rare; ++i) {
            if (!counts(i)) continue;
            listed.push_back(static_cast<std::int32_t>(i));
            is_rare = listed.size() * rare_share <= n;
        }
    }

    // Thinning: moves weight from nonzero functions to the kept ones on both sides, by linear
    // interpolation.
    void thin(std::size_t begin, std::size_t end) {
        const double step = 1.0 / static_cast<double>(factor);
        for (std::size_t i = begin; i < end; ++i) {
            const auto cell = static_cast<std::size_t>(rows.cell[i]);
            const std::size_t kept = cell / factor;
            const bool is_missing = cell == missing;
            rows.cell[i] = static_cast<std::int32_t>(is_missing ? shape.missing_cell : kept);
            if (is_missing || shape.is_unit) continue;
            double* weight = &rows.weight[2 * i];
            const double a = static_cast<double>(cell - kept * factor) * step;
            const double right = weight[0] * a + weight[1] * (a + step);
            weight[0] += weight[1] - right;
            weight[1] = right;
        }
    }

private:
    // Few: at most one row in 4. Picking rows takes about as long as adding them up.
    static constexpr std::size_t rare_share = 4;

    // Whether a function with a place is nonzero in row i.
    bool counts(std::size_t i) const noexcept {
        const auto cell = static_cast<std::size_t>(rows.cell[i]);
        if (cell == 0 || shape.is_unit) return cell != 0;
        for (std::size_t p = 0; p < shape.width; ++p)
            if (places[cell * shape.width + p] >= 0 && rows.weight[i * shape.width + p] != 0.0)
                return true;
        return false;
    }
};

// A copy of some rows of a column.
class PickedRows {
public:
    // The result is valid until the next call.
    simd::CellColumn pick(const simd::CellColumn& from, std::span<const std::int32_t> rows) {
        const auto width = static_cast<std::size_t>(from.width);
        cell_.resize(rows.size());
        weight_.resize(from.weight == nullptr ? 0 : rows.size() * width);
        for (std::size_t k = 0; k < rows.size(); ++k) {
            const auto i = static_cast<std::size_t>(rows[k]);
            cell_[k] = from.cell[i];
            if (from.weight == nullptr) continue;
            for (std::size_t p = 0; p < width; ++p)
                weight_[k * width + p] = from.weight[i * width + p];
        }
        return {cell_.data(), from.weight == nullptr ? nullptr : weight_.data(), from.width};
    }

private:
    std::vector<std::int32_t> cell_;
    std::vector<double> weight_;
};

// Makes a column of the shape `whole`. `places` are those of its feature's functions after
// thinning, and of missing values.
inline PlacedColumn placed(const ColumnShape& whole, std::size_t factor,
                           std::span<const std::int64_t> places) {
    PlacedColumn column;
    const ColumnShape shape = thinned(whole, factor);
    column.factor = factor;
    column.missing = whole.missing_cell;
    column.shape = shape;
    column.places.assign(shape.width, -1);
    for (std::size_t cell = 0; cell < shape.n_cells(); ++cell) {
        std::vector<std::int64_t> own(shape.width, -1);
        for (std::size_t p = 0; p < shape.width; ++p)
            if (const std::int64_t k = shape.function(cell, p); k >= 0)
                own[p] = std::max<std::int64_t>(places[static_cast<std::size_t>(k)], -1);
        const bool is_needed = std::ranges::any_of(own, [](std::int64_t k) { return k >= 0; });
        column.cells.push_back(is_needed ? static_cast<std::int32_t>(column.n_cells()) : 0);
        if (is_needed) column.places.insert(column.places.end(), own.begin(), own.end());
    }
    return column;
}

}  // namespace splinear
