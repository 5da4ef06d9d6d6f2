// Converts values to codes.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "model/arguments.hpp"
#include "model/axis.hpp"
#include "rows/code_grid.hpp"
#include "rows/matrix_view.hpp"
#include "rows/row.hpp"
#include "rows/tile_encoder.hpp"
#include "simd/coding.hpp"
#include "support/pieces.hpp"

namespace splinear {

// Chooses the fastest method for every feature: linear axes are encoded one row at a time, axes
// with knots by vector kernels where these support them (TileEncoder), all others one column at a
// time. The codes do not depend on the method. Const members are thread-safe.
class Encoder {
public:
    // Feature j is in column columns[j] of X. Axes and columns must outlive the encoder.
    Encoder(const Axes& axes, std::span<const std::int64_t> columns, const CodeGrid& grid)
        : axes_(axes), columns_(columns), grid_(grid) {
        const simd::Kernels* kernels = simd::chosen();
        const bool has_tiles = kernels != nullptr && kernels->code_tile != nullptr;
        for (std::size_t j = 0; j < axes.size(); ++j) {
            const Axis& axis = axes[j];
            const double steps = grid.density(axis);
            if (!TileEncoder::takes_line(axis, grid)) {
                by_column_.push_back(j);
                if (!has_tiles || !TileEncoder::takes_knots(axis, grid, kernels->knot_form))
                    not_by_tile_.push_back(j);
            }
            if (columns[j] != columns[0] + static_cast<std::int64_t>(j)) in_a_row_ = false;
            steps_.push_back(steps);
            prescale_.push_back(axis.prescale());
            lo_.push_back(axis.scaled_lo());
            slope_.push_back(axis.slope() * steps);
        }
        if (has_tiles && not_by_tile_.size() < by_column_.size())
            by_tile_.emplace(axes, grid, lines(), *kernels);
    }
    Encoder(const Encoder&) = delete;  // by_tile_ points to other members
    Encoder& operator=(const Encoder&) = delete;

    // Encodes row i of X into row places[i] of `out`, for i in [begin, end); a negative place skips
    // the row.
    template <class Real, class C>
    void encode(const MatrixView<Real>& X, std::ptrdiff_t begin, std::ptrdiff_t end,
                const std::int64_t* places, C* out) const {
        if constexpr (std::is_same_v<C, Code> && std::is_same_v<Real, float>)
            if (by_tile_) {
                by_tile_->encode(X, columns_, in_a_row_, begin, end, places, out);
                return encode_columns(X, not_by_tile_, begin, end, places, out);
            }
        if constexpr (std::is_same_v<C, Code>)
            if (by_column_.size() < axes_.size()) encode_rows(X, begin, end, places, out);
        encode_columns(X, by_column_, begin, end, places, out);
    }

private:
    // The linear axes; those with knots get codes that are overwritten later.
    simd::Coder lines() const noexcept {
        return {prescale_.data(),
                lo_.data(),
                slope_.data(),
                grid_.rounding,
                static_cast<double>(grid_.last),
                grid_.has_missing() ? static_cast<double>(grid_.missing_code) : 0.0,
                axes_.size()};
    }

    // All features of a row at once. Values that are not contiguous in X are copied first.
    template <class Real>
    void encode_rows(const MatrixView<Real>& X, std::ptrdiff_t begin, std::ptrdiff_t end,
                     const std::int64_t* places, Code* out) const {
        const simd::Coder coder = lines();
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

    // The given features, one at a time, simd::column_rows rows per batch.
    template <class Real, class C>
    void encode_columns(const MatrixView<Real>& X, std::span<const std::size_t> features,
                        std::ptrdiff_t begin, std::ptrdiff_t end, const std::int64_t* places,
                        C* out) const noexcept {
        if (features.empty()) return;
        constexpr auto rows = static_cast<std::ptrdiff_t>(simd::column_rows);
        const auto n_features = static_cast<std::ptrdiff_t>(axes_.size());
        std::array<double, simd::column_rows> x{};
        std::array<C, simd::column_rows> codes{};
        for_each_piece(begin, end, rows, [&](Row first, Row last) {
            for (const std::size_t j : features) {
                for (Row i = first; i < last; ++i) x[index(i - first)] = X(i, columns_[j]);
                encode_column(j, x.data(), codes.data());
                for (Row i = first; i < last; ++i)
                    if (places[i] >= 0)
                        out[places[i] * n_features + static_cast<std::ptrdiff_t>(j)] =
                            codes[index(i - first)];
            }
        });
    }

    template <class C>
    void encode_column(std::size_t j, const double* x, C* out) const noexcept {
        std::array<double, simd::column_rows> argument;
        place_column(axes_[j], x, argument.data());
        const auto last = static_cast<double>(grid_.last);
        simd::round_column({axes_[j].first(), steps_[j], grid_.rounding, last}, argument.data(),
                           out);
        if (!grid_.has_missing()) return;
        for (std::size_t i = 0; i < simd::column_rows; ++i)
            if (std::isnan(x[i])) out[i] = static_cast<C>(grid_.missing_code);
    }

    const Axes& axes_;
    std::span<const std::int64_t> columns_;
    CodeGrid grid_;
    bool in_a_row_ = true;  // the features are in consecutive columns of X
    // Features that encode_rows() does not support: axes with knots, axes shorter than the grid's
    // span, and all features if codes are wide.
    std::vector<std::size_t> by_column_;
    std::vector<double> steps_;     // codes per unit of the basis's argument
    std::vector<double> prescale_;  // this and the next two: see simd::Coder
    std::vector<double> lo_;
    std::vector<double> slope_;
    std::vector<std::size_t> not_by_tile_;  // features that the kernels do not support, either
    std::optional<TileEncoder> by_tile_;
};

}  // namespace splinear
