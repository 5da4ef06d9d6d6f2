// The training data as 16-bit positions: all the solver ever reads.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "arguments.hpp"
#include "axis.hpp"
#include "matrix_view.hpp"
#include "paging.hpp"
#include "parallel.hpp"
#include "simd/coding.hpp"

namespace splinear {

using Code = std::uint16_t;
using Row = std::ptrdiff_t;

// How finely an axis is divided. A position u in [0, 1] along the axis becomes the whole number
// min(floor(u * steps + rounding), last); the code k stands for the position k / steps. With a
// `span` the steps divide that length of the basis's argument, and an axis that is shorter takes
// the lower codes only: a feature may have fewer bins than others.
struct CodeGrid {
    double steps;
    double rounding;
    Code last;
    double span = 0.0;  // 0: each axis's own length

    // Codes per unit of the basis's argument.
    double density(const Axis& axis) const noexcept {
        return steps / (span > 0.0 ? span : axis.last() - axis.first());
    }

    // B-splines: bins in the high bits, as many bits of the fraction below as 16 bits leave, so
    // that a bin and its fraction come apart by a shift and a mask. Degree 0 needs the bin alone.
    static CodeGrid bins(int n_bins, int degree) noexcept {
        const auto span = static_cast<double>(n_bins);
        if (degree == 0) return {span, 0.0, static_cast<Code>(n_bins - 1), span};
        const double steps = static_cast<double>(n_bins << fraction_bits(n_bins));
        return {steps, 0.5, static_cast<Code>(steps), span};
    }

    static int fraction_bits(int n_bins) noexcept {
        int bits = 0;
        while ((n_bins << (bits + 1)) <= 65535) ++bits;
        return bits;
    }

    static CodeGrid smooth() noexcept { return {65535.0, 0.5, 65535}; }
};

// Codes values: the axes, and how finely they are divided.
class Encoder {
public:
    Encoder(const Axes& axes, const CodeGrid& grid) : axes_(axes), grid_(grid) {
        for (std::size_t j = 0; j < axes.size(); ++j) {
            const Axis& axis = axes[j];
            const double steps = grid.density(axis);
            const bool shorter = grid.span > axis.last() - axis.first();
            if (axis.has_knots() || shorter) columns_.push_back(static_cast<std::ptrdiff_t>(j));
            steps_.push_back(steps);
            prescale_.push_back(axis.prescale());
            lo_.push_back(axis.scaled_lo());
            slope_.push_back(axis.slope() * steps);
        }
    }

    // Codes the rows [begin, end) of X into the rows places[begin], ... of `out`; a negative place
    // skips a row.
    template <class Real>
    void encode(const MatrixView<Real>& X, std::ptrdiff_t begin, std::ptrdiff_t end,
                const std::int64_t* places, Code* out) const noexcept {
        const auto n_features = static_cast<std::ptrdiff_t>(axes_.size());
        if (columns_.size() == axes_.size()) return encode_columns(X, begin, end, places, out);
        std::vector<Real> together(X.column_stride == 1 ? 0 : axes_.size());
        for (std::ptrdiff_t i = begin; i < end; ++i)
            if (places[i] >= 0) encode_row(X, i, together, out + places[i] * n_features);
        encode_columns(X, begin, end, places, out);
    }

private:
    template <class Real>
    void encode_row(const MatrixView<Real>& X, std::ptrdiff_t row, std::vector<Real>& together,
                    Code* out) const noexcept {
        const simd::Coder coder{prescale_.data(),
                                lo_.data(),
                                slope_.data(),
                                grid_.rounding,
                                static_cast<double>(grid_.last),
                                axes_.size()};
        const Real* x = X.data + row * X.row_stride;
        for (std::size_t j = 0; j < together.size(); ++j)
            together[j] = x[static_cast<std::ptrdiff_t>(j) * X.column_stride];
        simd::code_row(coder, together.empty() ? x : together.data(), out);
    }

    // Feature by feature, some rows at a time.
    template <class Real>
    void encode_columns(const MatrixView<Real>& X, std::ptrdiff_t begin, std::ptrdiff_t end,
                        const std::int64_t* places, Code* out) const noexcept {
        constexpr auto rows = static_cast<std::ptrdiff_t>(simd::column_rows);
        const auto n_features = static_cast<std::ptrdiff_t>(axes_.size());
        std::array<double, simd::column_rows> x{};
        std::array<Code, simd::column_rows> codes{};
        for (std::ptrdiff_t i = begin; i < end; i += rows) {
            const std::ptrdiff_t n = std::min(rows, end - i);
            for (const std::ptrdiff_t j : columns_) {
                for (std::ptrdiff_t a = 0; a < n; ++a) x[static_cast<std::size_t>(a)] = X(i + a, j);
                encode_column(static_cast<std::size_t>(j), x.data(), codes.data());
                for (std::ptrdiff_t a = 0; a < n; ++a)
                    if (places[i + a] >= 0)
                        out[places[i + a] * n_features + j] = codes[static_cast<std::size_t>(a)];
            }
        }
    }

    void encode_column(std::size_t j, const double* x, Code* out) const noexcept {
        std::array<double, simd::column_rows> argument;
        place_column(axes_[j], x, argument.data());
        const auto last = static_cast<double>(grid_.last);
        simd::round_column({axes_[j].first(), steps_[j], grid_.rounding, last}, argument.data(),
                           out);
    }

    const Axes& axes_;
    CodeGrid grid_;
    std::vector<std::ptrdiff_t> columns_;  // of axes that are warped, or end before the last code
    std::vector<double> steps_;            // codes per unit of the basis's argument
    std::vector<double> prescale_;
    std::vector<double> lo_;
    std::vector<double> slope_;
};

// n_rows x n_features codes, row by row: in memory of its own, or in a file that somebody mapped.
class Codes {
public:
    Codes(std::ptrdiff_t n_rows, std::ptrdiff_t n_features, CodeGrid grid)
        : n_rows_(n_rows),
          n_features_(n_features),
          rows_per_block_(std::max<Row>(n_rows, 1)),
          grid_(grid),
          own_(std::make_unique_for_overwrite<Code[]>(
              static_cast<std::size_t>(n_rows * n_features))),
          data_(own_.get()) {}

    // Codes in a read-only map of a file, of which rows_per_block rows may be in memory at a time.
    Codes(const Code* mapped, std::ptrdiff_t n_rows, std::ptrdiff_t n_features, CodeGrid grid,
          Row rows_per_block)
        : n_rows_(n_rows),
          n_features_(n_features),
          rows_per_block_(std::max<Row>(rows_per_block, 1)),
          grid_(grid),
          data_(mapped) {}

    std::ptrdiff_t n_rows() const noexcept { return n_rows_; }
    std::ptrdiff_t n_features() const noexcept { return n_features_; }
    const CodeGrid& grid() const noexcept { return grid_; }

    const Code* row(std::ptrdiff_t i) const noexcept { return data_ + i * n_features_; }

    // See blocks.hpp.
    Row rows_per_block() const noexcept { return rows_per_block_; }
    void done_with(Row begin, Row end) const noexcept {
        if (!own_) release_pages(row(begin), row(end), row(0), row(n_rows_));
    }

    // Codes the rows of X into the rows places[0], places[1], ...; a negative place skips a row.
    // Only for codes in memory.
    template <class Real>
    void fill(const MatrixView<Real>& X, const std::int64_t* places, const Axes& axes,
              int n_threads) {
        const Encoder encoder(axes, grid_);
        constexpr std::ptrdiff_t rows_per_task = 256;
        const std::ptrdiff_t n_tasks = (X.n_rows + rows_per_task - 1) / rows_per_task;
        parallel_for(n_tasks, n_threads, [&](std::ptrdiff_t task) {
            const std::ptrdiff_t begin = task * rows_per_task;
            const std::ptrdiff_t end = std::min(X.n_rows, begin + rows_per_task);
            encoder.encode(X, begin, end, places, own_.get());
        });
    }

private:
    std::ptrdiff_t n_rows_;
    std::ptrdiff_t n_features_;
    Row rows_per_block_;
    CodeGrid grid_;
    std::unique_ptr<Code[]> own_;  // not initialised: fill() writes all of it, once
    const Code* data_;
};

}  // namespace splinear
