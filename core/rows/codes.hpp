// The training data as whole numbers of 16 or 32 bits: all the solver ever reads.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "model/arguments.hpp"
#include "model/axis.hpp"
#include "rows/matrix_view.hpp"
#include "rows/paging.hpp"
#include "simd/coding.hpp"
#include "support/parallel.hpp"

namespace splinear {

using Code = std::uint16_t;
using WideCode = std::uint32_t;  // where 65,535 codes are not enough
using Row = std::ptrdiff_t;

// How finely an axis is divided. A position u in [0, 1] along the axis becomes the whole number
// min(floor(u * steps + rounding), last); the code k stands for the position k / steps. With a
// `span` the steps divide that length of the basis's argument, and an axis that is shorter takes
// the lower codes only: a feature may have fewer bins than others. A missing value, a gap, has a
// code of its own behind the last.
struct CodeGrid {
    static constexpr std::int64_t most_codes = 65535;  // of 16 bits
    static constexpr std::uint32_t no_gap = std::numeric_limits<std::uint32_t>::max();

    double steps;
    double rounding;
    std::uint32_t last;
    double span = 0.0;           // 0: each axis's own length
    int fraction_bits = 0;       // of a code; the bin is above them
    std::uint32_t gap = no_gap;  // the code of a gap
    bool is_wide = false;        // codes are WideCode

    bool has_gaps() const noexcept { return gap != no_gap; }

    // Codes per unit of the basis's argument.
    double density(const Axis& axis) const noexcept {
        return steps / (span > 0.0 ? span : axis.last() - axis.first());
    }

    // B-splines: bins in the high bits, as many bits of the fraction below as 16 bits leave, so
    // that a bin and its fraction come apart by a shift and a mask; at most most_codes bins, those
    // of a gap included. Degree 0 needs the bin alone, and may have any number of them. A gap is in
    // the bin n_bins + degree, where a table goes on behind its last basis function.
    static CodeGrid bins(int n_bins, int degree, bool gaps) noexcept {
        const auto span = static_cast<double>(n_bins);
        const std::int64_t size = std::int64_t{n_bins} + degree;
        const std::int64_t top = gaps ? size + 1 : n_bins;
        int bits = 0;
        while (degree > 0 && (top << (bits + 1)) <= most_codes) ++bits;
        const std::int64_t end = std::int64_t{n_bins} << bits;
        const auto code = [](std::int64_t k) { return static_cast<std::uint32_t>(k); };
        return {static_cast<double>(end),
                degree == 0 ? 0.0 : 0.5,
                code(degree == 0 ? end - 1 : end),
                span,
                bits,
                gaps ? code(size << bits) : no_gap,
                degree == 0 && top > most_codes};
    }

    static CodeGrid whole_axis(bool gaps) noexcept {
        if (gaps) return {65534.0, 0.5, 65534, 0.0, 0, 65535, false};
        return {65535.0, 0.5, 65535};
    }
};

// Codes values: the axes, the columns of X that their features are in, and how finely the axes are
// divided.
class Encoder {
public:
    Encoder(const Axes& axes, std::span<const std::int64_t> columns, const CodeGrid& grid)
        : axes_(axes), columns_(columns), grid_(grid) {
        for (std::size_t j = 0; j < axes.size(); ++j) {
            const Axis& axis = axes[j];
            const double steps = grid.density(axis);
            const bool shorter = grid.span > axis.last() - axis.first();
            if (axis.has_knots() || shorter || grid.is_wide) by_column_.push_back(j);
            if (columns[j] != columns[0] + static_cast<std::int64_t>(j)) in_a_row_ = false;
            steps_.push_back(steps);
            prescale_.push_back(axis.prescale());
            lo_.push_back(axis.scaled_lo());
            slope_.push_back(axis.slope() * steps);
        }
    }

    // Codes the rows [begin, end) of X into the rows places[begin], ... of `out`; a negative place
    // skips a row.
    template <class Real, class C>
    void encode(const MatrixView<Real>& X, std::ptrdiff_t begin, std::ptrdiff_t end,
                const std::int64_t* places, C* out) const {
        if constexpr (std::is_same_v<C, Code>)
            if (by_column_.size() < axes_.size()) encode_rows(X, begin, end, places, out);
        encode_columns(X, begin, end, places, out);
    }

private:
    // All features of a row at once. Values that do not lie side by side are brought together.
    template <class Real>
    void encode_rows(const MatrixView<Real>& X, std::ptrdiff_t begin, std::ptrdiff_t end,
                     const std::int64_t* places, Code* out) const {
        const simd::Coder coder{prescale_.data(),
                                lo_.data(),
                                slope_.data(),
                                grid_.rounding,
                                static_cast<double>(grid_.last),
                                grid_.has_gaps() ? static_cast<double>(grid_.gap) : 0.0,
                                axes_.size()};
        std::vector<Real> together(in_a_row_ && X.column_stride == 1 ? 0 : axes_.size());
        for (std::ptrdiff_t i = begin; i < end; ++i) {
            if (places[i] < 0) continue;
            const Real* x = X.data + i * X.row_stride;
            for (std::size_t j = 0; j < together.size(); ++j)
                together[j] = x[columns_[j] * X.column_stride];
            simd::code_row(coder, together.empty() ? x + columns_[0] : together.data(),
                           out + places[i] * static_cast<std::ptrdiff_t>(axes_.size()));
        }
    }

    // Feature by feature, some rows at a time.
    template <class Real, class C>
    void encode_columns(const MatrixView<Real>& X, std::ptrdiff_t begin, std::ptrdiff_t end,
                        const std::int64_t* places, C* out) const noexcept {
        constexpr auto rows = static_cast<std::ptrdiff_t>(simd::column_rows);
        const auto n_features = static_cast<std::ptrdiff_t>(axes_.size());
        std::array<double, simd::column_rows> x{};
        std::array<C, simd::column_rows> codes{};
        for (std::ptrdiff_t i = begin; i < end; i += rows) {
            const std::ptrdiff_t n = std::min(rows, end - i);
            for (const std::size_t j : by_column_) {
                for (std::ptrdiff_t a = 0; a < n; ++a)
                    x[static_cast<std::size_t>(a)] = X(i + a, columns_[j]);
                encode_column(j, x.data(), codes.data());
                for (std::ptrdiff_t a = 0; a < n; ++a)
                    if (places[i + a] >= 0)
                        out[places[i + a] * n_features + static_cast<std::ptrdiff_t>(j)] =
                            codes[static_cast<std::size_t>(a)];
            }
        }
    }

    template <class C>
    void encode_column(std::size_t j, const double* x, C* out) const noexcept {
        std::array<double, simd::column_rows> argument;
        place_column(axes_[j], x, argument.data());
        const auto last = static_cast<double>(grid_.last);
        simd::round_column({axes_[j].first(), steps_[j], grid_.rounding, last}, argument.data(),
                           out);
        if (!grid_.has_gaps()) return;
        for (std::size_t i = 0; i < simd::column_rows; ++i)
            if (std::isnan(x[i])) out[i] = static_cast<C>(grid_.gap);
    }

    const Axes& axes_;
    std::span<const std::int64_t> columns_;
    CodeGrid grid_;
    bool in_a_row_ = true;                // the features are neighbors in X
    std::vector<std::size_t> by_column_;  // warped axes, those that end early, all of wide codes
    std::vector<double> steps_;           // codes per unit of the basis's argument
    std::vector<double> prescale_;
    std::vector<double> lo_;
    std::vector<double> slope_;
};

// n_rows x n_features codes, row by row: in memory of its own, or in a file that somebody mapped.
// They are WideCode if the grid says so, else Code.
class Codes {
public:
    Codes(std::ptrdiff_t n_rows, std::ptrdiff_t n_features, CodeGrid grid)
        : n_rows_(n_rows),
          n_features_(n_features),
          rows_per_block_(std::max<Row>(n_rows, 1)),
          grid_(grid),
          own_(std::make_unique_for_overwrite<std::byte[]>(
              static_cast<std::size_t>(n_rows * n_features * code_bytes()))),
          data_(own_.get()) {}

    // Codes in a read-only map of a file, of which rows_per_block rows may be in memory at a time.
    Codes(const Code* mapped, std::ptrdiff_t n_rows, std::ptrdiff_t n_features, CodeGrid grid,
          Row rows_per_block)
        : Codes(static_cast<const void*>(mapped), false, n_rows, n_features, grid, rows_per_block) {
    }
    Codes(const WideCode* mapped, std::ptrdiff_t n_rows, std::ptrdiff_t n_features, CodeGrid grid,
          Row rows_per_block)
        : Codes(static_cast<const void*>(mapped), true, n_rows, n_features, grid, rows_per_block) {}

    std::ptrdiff_t n_rows() const noexcept { return n_rows_; }
    std::ptrdiff_t n_features() const noexcept { return n_features_; }
    const CodeGrid& grid() const noexcept { return grid_; }

    // C: Code or WideCode, as the grid says.
    template <class C = Code>
    const C* row(std::ptrdiff_t i) const noexcept {
        return static_cast<const C*>(data_) + i * n_features_;
    }

    // See blocks.hpp.
    Row rows_per_block() const noexcept { return rows_per_block_; }
    void done_with(Row begin, Row end) const noexcept {
        if (!own_) release_pages(at(begin), at(end), at(0), at(n_rows_));
    }

    // Some rows, copied to memory of their own.
    Codes some_rows(std::span<const std::int64_t> numbers) const {
        check_rows(numbers, n_rows_);
        Codes some(static_cast<std::ptrdiff_t>(numbers.size()), n_features_, grid_);
        std::byte* to = some.own_.get();
        for (const std::int64_t i : numbers) to = std::copy(at(i), at(i + 1), to);
        return some;
    }

    // Codes the rows of X into the rows places[0], places[1], ...; a negative place skips a row.
    // Feature j is in column columns[j] of X. Only for codes in memory.
    template <class Real>
    void fill(const MatrixView<Real>& X, std::span<const std::int64_t> columns,
              std::span<const std::int64_t> places, const Axes& axes, int n_threads) {
        check_fill(X.n_rows, X.n_columns, columns, places, axes);
        const Encoder encoder(axes, columns, grid_);
        constexpr std::ptrdiff_t rows_per_task = 256;
        const std::ptrdiff_t n_tasks = (X.n_rows + rows_per_task - 1) / rows_per_task;
        parallel_for(n_tasks, n_threads, [&](std::ptrdiff_t task) {
            const std::ptrdiff_t begin = task * rows_per_task;
            const std::ptrdiff_t end = std::min(X.n_rows, begin + rows_per_task);
            if (grid_.is_wide)
                encoder.encode(X, begin, end, places.data(),
                               static_cast<WideCode*>(static_cast<void*>(own_.get())));
            else
                encoder.encode(X, begin, end, places.data(),
                               static_cast<Code*>(static_cast<void*>(own_.get())));
        });
    }

private:
    Codes(const void* mapped, bool wide, std::ptrdiff_t n_rows, std::ptrdiff_t n_features,
          CodeGrid grid, Row rows_per_block)
        : n_rows_(n_rows),
          n_features_(n_features),
          rows_per_block_(std::max<Row>(rows_per_block, 1)),
          grid_(grid),
          data_(mapped) {
        if (wide != grid.is_wide)
            throw std::invalid_argument("the codes are not as wide as their grid says");
    }

    std::ptrdiff_t code_bytes() const noexcept {
        return static_cast<std::ptrdiff_t>(grid_.is_wide ? sizeof(WideCode) : sizeof(Code));
    }

    const std::byte* at(Row row) const noexcept {
        return static_cast<const std::byte*>(data_) + row * n_features_ * code_bytes();
    }

    void check_fill(std::ptrdiff_t n_rows, std::ptrdiff_t n_columns,
                    std::span<const std::int64_t> columns, std::span<const std::int64_t> places,
                    const Axes& axes) const {
        if (!own_) throw std::invalid_argument("codes in a file are not to be filled");
        if (static_cast<std::ptrdiff_t>(axes.size()) != n_features_)
            throw std::invalid_argument("there must be one axis per feature");
        check_columns(columns, axes.size(), n_columns);
        if (static_cast<std::ptrdiff_t>(places.size()) != n_rows)
            throw std::invalid_argument("there must be one place per row");
        for (const std::int64_t place : places)
            if (place >= n_rows_) throw std::invalid_argument("a place is beyond the last row");
    }

    std::ptrdiff_t n_rows_;
    std::ptrdiff_t n_features_;
    Row rows_per_block_;
    CodeGrid grid_;
    std::unique_ptr<std::byte[]> own_;  // not initialised: fill() writes all of it, once
    const void* data_;
};

}  // namespace splinear
