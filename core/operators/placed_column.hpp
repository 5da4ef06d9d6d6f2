// A column of basis functions, and where they stand in a matrix of second derivatives.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rows/columns.hpp"

namespace splinear {

// How many functions are left of `size` if one in `factor` is kept, and one at the end; see
// hessian_thinned().
inline std::size_t n_thinned(std::size_t size, std::size_t support, std::size_t factor) {
    if (factor == 1) return size;
    return support == 1 ? (size - 1) / factor + 1 : (size - 2) / factor + 2;
}

inline ColumnShape thinned(ColumnShape shape, std::size_t factor) {
    if (factor == 1) return shape;
    const std::size_t support = shape.n_used;  // all of it: there are at most two functions
    shape.size = n_thinned(shape.size, support, factor);
    shape.missing_cell = shape.size + 1 - support;
    return shape;
}

// A column, and where its functions stand in the matrix. Cells without a place are one, cell 0.
struct PlacedColumn {
    std::size_t group = 0;
    std::size_t number = 0;   // among the group's columns
    std::size_t factor = 1;   // of thinning
    std::size_t missing = 0;  // the cell of a missing value, before thinning
    ColumnShape shape{};
    std::vector<std::int32_t> cells;   // new number of every cell
    std::vector<std::int64_t> places;  // n_cells x width; -1: none
    Column rows{};
    std::vector<double> scaled{};  // the weights times h
    bool is_rare = false;          // whether few rows count, and these are listed
    std::vector<std::int32_t> listed{};

    std::size_t n_cells() const noexcept { return places.size() / shape.width; }
    void renumber(std::size_t begin, std::size_t end) {
        if (factor > 1) thin(begin, end);
        for (std::size_t i = begin; i < end; ++i)
            rows.cell[i] = cells[static_cast<std::size_t>(rows.cell[i])];
    }

    // Lists the rows in which a function that has a place is not zero, if these are few: of columns
    // of zeros and ones, for example, which have no function of their own at zero.
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

    // From the functions that are not zero to those that are kept on both sides of them.
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
    static constexpr std::size_t rare_share = 4;  // to pick rows takes as long as to add them up

    bool counts(std::size_t i) const noexcept {
        const auto cell = static_cast<std::size_t>(rows.cell[i]);
        if (cell == 0 || shape.is_unit) return cell != 0;
        for (std::size_t p = 0; p < shape.width; ++p)
            if (places[cell * shape.width + p] >= 0 && rows.weight[i * shape.width + p] != 0.0)
                return true;
        return false;
    }
};

// Some rows of a column.
class PickedRows {
public:
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
