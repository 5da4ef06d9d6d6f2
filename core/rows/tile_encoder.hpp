// From single-precision values to codes by the kernels: some rows and a tile of features at a time.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/axis.hpp"
#include "model/knot_tree.hpp"
#include "rows/code_grid.hpp"
#include "rows/matrix_view.hpp"
#include "rows/row.hpp"
#include "simd/coding.hpp"
#include "simd/dispatch.hpp"
#include "support/aligned.hpp"

namespace splinear {

// Features with knots, and those without that lie among them; needs code_tile of the kernels. Codes
// of features that it does not take are nonsense.
class TileEncoder {
public:
    static bool takes_line(const Axis& axis, const CodeGrid& grid) noexcept {
        return !axis.has_knots() && grid.span <= axis.last() - axis.first() && !grid.is_wide;
    }

    // Bins between knots that are numbers of single precision, not too many of them.
    static bool takes_knots(const Axis& axis, const CodeGrid& grid) noexcept {
        const std::span<const double> knots = axis.knots();
        const double density = grid.density(axis);
        return !grid.is_wide && have_single_tree(knots) && tree_depth(knots.size() - 1) > 0 &&
               axis.first() == 0.0 && axis.last() == static_cast<double>(knots.size() - 1) &&
               std::floor(density) == density;
    }

    TileEncoder(const Axes& axes, const CodeGrid& grid, const simd::Coder& lines,
                const simd::Kernels& kernels)
        : axes_(axes), grid_(grid), lines_(lines), kernels_(kernels), trees_(axes.size(), nullptr) {
        std::vector<std::size_t> warped;
        for (std::size_t j = 0; j < axes.size(); ++j)
            if (axes[j].has_knots() && takes_knots(axes[j], grid)) {
                warped.push_back(j);
                depth_ = std::max(depth_, tree_depth(axes[j].knots().size() - 1));
            }
        const std::size_t n_leaves = std::size_t{1} << depth_;
        for (std::size_t leaf = 0; leaf < n_leaves; ++leaf)
            bins_.push_back(simd::reversed(leaf, depth_));
        tables_.resize(4 * n_leaves * warped.size());
        for (std::size_t k = 0; k < warped.size(); ++k) {
            float* tree = tables_.data() + 4 * n_leaves * k;
            plant(axes[warped[k]].knots(), grid.density(axes[warped[k]]), tree);
            trees_[warped[k]] = tree;
            // Four roundings, each by half a unit of the last of 24 bits.
            doubt_ = static_cast<float>(3e-7 * grid.density(axes[warped[k]]));
        }
    }

    // Codes the rows [begin, end) of X, whose features lie in these columns.
    void encode(const MatrixView<float>& X, std::span<const std::int64_t> columns, bool in_a_row,
                Row begin, Row end, const std::int64_t* places, Code* out) const {
        const std::size_t n = axes_.size();
        std::vector<float> together(in_a_row && X.column_stride == 1 ? 0 : n_rows * n);
        std::array<const float*, n_rows> x;
        std::array<Code*, n_rows> to;
        for (Row i = begin; i < end;) {
            std::size_t a = 0;
            for (; i < end && a < n_rows; ++i) {
                if (places[i] < 0) continue;
                x[a] = X.data + i * X.row_stride;
                to[a++] = out + index(places[i]) * n;
            }
            if (a == 0) return;
            std::fill(x.begin() + static_cast<std::ptrdiff_t>(a), x.end(), x[a - 1]);
            std::fill(to.begin() + static_cast<std::ptrdiff_t>(a), to.end(), to[a - 1]);
            if (together.empty())
                for (const float*& row : x) row += columns[0];
            else
                copy_together(x, columns, X.column_stride, together);
            encode_together(x, to);
        }
    }

private:
    static constexpr std::size_t n_rows = simd::code_rows;

    void plant(std::span<const double> knots, double density, float* tree) const noexcept {
        const std::size_t n_leaves = bins_.size();
        const std::size_t n_bins = knots.size() - 1;
        fill_nodes(knots, depth_, tree);
        for (std::size_t leaf = 0; leaf < n_leaves; ++leaf) {
            const std::size_t bin = std::min(bins_[leaf], n_bins);
            const double width = bin < n_bins ? knots[bin + 1] - knots[bin] : 0.0;
            const double begin = static_cast<double>(bin) * density + grid_.rounding;
            float* at = tree + leaf;
            at[n_leaves] = static_cast<float>(knots[bin]);
            at[2 * n_leaves] = width > 0.0 ? static_cast<float>(density / width) : 0.0f;
            // What is between knots is rounded by the kernel; what is at the last one, here.
            const auto code =
                static_cast<std::int32_t>(std::min(begin, static_cast<double>(grid_.last)));
            at[3 * n_leaves] = std::bit_cast<float>(code);
        }
    }

    void copy_together(std::array<const float*, n_rows>& x, std::span<const std::int64_t> columns,
                       std::ptrdiff_t stride, std::vector<float>& together) const {
        const std::size_t n = axes_.size();
        for (std::size_t j = 0; j < n; ++j)
            for (std::size_t a = 0; a < n_rows; ++a)
                together[a * n + j] = x[a][columns[j] * stride];
        for (std::size_t a = 0; a < n_rows; ++a) x[a] = &together[a * n];
    }

    void encode_together(const std::array<const float*, n_rows>& x,
                         const std::array<Code*, n_rows>& to) const {
        const auto nan = static_cast<std::int32_t>(grid_.has_missing() ? grid_.missing_code : 0);
        const simd::CodeMap map{lines_.prescale, lines_.lo,     lines_.slope,
                                lines_.rounding, lines_.last,   nan,
                                depth_,          trees_.data(), doubt_};
        std::array<std::uint64_t, simd::tile> doubts;
        for (std::size_t j = 0; j < axes_.size(); j += simd::tile) {
            const std::size_t n = std::min(axes_.size() - j, std::size_t{simd::tile});
            kernels_.code_tile(map, j, n, x.data(), to.data(), doubts.data());
            for (std::size_t f = 0; f < n; ++f)
                for (std::uint64_t left = doubts[f]; left != 0; left &= left - 1) {
                    const auto a = static_cast<std::size_t>(std::countr_zero(left));
                    to[a][j + f] = exact_code(j + f, x[a][j + f]);
                }
        }
    }

    Code exact_code(std::size_t j, float x) const noexcept {
        const double a = axes_[j].argument(static_cast<double>(x)) * grid_.density(axes_[j]);
        const double rounded = std::min(a + grid_.rounding, static_cast<double>(grid_.last));
        return static_cast<Code>(static_cast<std::int32_t>(rounded));
    }

    const Axes& axes_;
    CodeGrid grid_;
    simd::Coder lines_;
    const simd::Kernels& kernels_;
    int depth_ = simd::least_depth;
    std::vector<std::size_t> bins_;  // of the leaves
    float doubt_ = 0.0f;
    AlignedFloats tables_;
    std::vector<const float*> trees_;
};

}  // namespace splinear
