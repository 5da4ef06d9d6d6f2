// Converts single-precision values to codes by vector kernels, in tiles of rows and features.
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

// Encodes features with knots, and linear ones among them; requires kernels with code_tile(). The
// codes of unsupported features, for which takes_line() and takes_knots() are false, are undefined.
class TileEncoder {
public:
    // Whether a linear axis is supported.
    static bool takes_line(const Axis& axis, const CodeGrid& grid) noexcept {
        return !axis.has_knots() && grid.span <= axis.last() - axis.first() && !grid.is_wide;
    }

    // Whether an axis with knots is supported: the knots must be exact in single precision and not
    // too many. With pairs of bins, which are coded from the knot between them, a value at another
    // knot must not be where one code ends and the next begins, hence the condition on rounding.
    static bool takes_knots(const Axis& axis, const CodeGrid& grid, simd::KnotForm form) noexcept {
        if (form != simd::KnotForm::columns && grid.rounding != 0.5) return false;
        const std::span<const double> knots = axis.knots();
        const double density = grid.density(axis);
        return !grid.is_wide && have_single_tree(knots) && PairTrees::take(knots.size() - 1) &&
               axis.first() == 0.0 && axis.last() == static_cast<double>(knots.size() - 1) &&
               std::floor(density) == density;
    }

    TileEncoder(const Axes& axes, const CodeGrid& grid, const simd::Coder& lines,
                const simd::Kernels& kernels)
        : axes_(axes), grid_(grid), lines_(lines), kernels_(kernels), trees_(axes.size(), nullptr) {
        std::vector<std::size_t> warped;
        std::size_t n_bins = 0;
        for (std::size_t j = 0; j < axes.size(); ++j)
            if (axes[j].has_knots() && takes_knots(axes[j], grid, kernels.knot_form)) {
                warped.push_back(j);
                n_bins = std::max(n_bins, axes[j].knots().size() - 1);
            }
        if (kernels.knot_form == simd::KnotForm::columns)
            plant_bins(warped, TreeOrder(tree_depth(n_bins)));
        else
            plant_pairs(warped, PairTrees(n_bins, kernels.knot_form));
    }

    // Encodes row i of X into row places[i] of `out`, for i in [begin, end); negative places are
    // skipped. in_a_row: `columns` are consecutive.
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

    // Allocates one tree per feature and calls plant(axis, tree) to fill it.
    template <class Plant>
    void plant_all(std::span<const std::size_t> warped, std::size_t n_floats, const Plant& plant) {
        tables_.resize(n_floats * warped.size());
        float* tree = tables_.data();
        for (const std::size_t j : warped) {
            plant(axes_[j], tree);
            trees_[j] = tree;
            tree += n_floats;
            // The error of a code by four roundings, each of half a unit in the last of 24 bits.
            doubt_ = static_cast<float>(3e-7 * grid_.density(axes_[j]));
        }
    }

    // Trees for KnotForm::columns: one leaf per bin.
    void plant_bins(std::span<const std::size_t> warped, const TreeOrder& order) {
        depth_ = order.depth();
        const std::size_t n_leaves = order.n_leaves();
        plant_all(warped, 4 * n_leaves, [&](const Axis& axis, float* tree) {
            const std::span<const double> knots = axis.knots();
            const std::size_t n_bins = knots.size() - 1;
            const double density = grid_.density(axis);
            order.write_nodes(knots, 1, 0, tree);
            for (std::size_t leaf = 0; leaf < n_leaves; ++leaf) {
                const std::size_t bin = std::min(order.bin_of_leaf(leaf), n_bins);
                const double width = bin < n_bins ? knots[bin + 1] - knots[bin] : 0.0;
                const double begin = static_cast<double>(bin) * density + grid_.rounding;
                float* at = tree + leaf;
                at[n_leaves] = static_cast<float>(knots[bin]);
                at[2 * n_leaves] = width > 0.0 ? static_cast<float>(density / width) : 0.0f;
                // The kernel rounds values between knots; the code of the last knot is rounded
                // here.
                const auto code =
                    static_cast<std::int32_t>(std::min(begin, static_cast<double>(grid_.last)));
                at[3 * n_leaves] = std::bit_cast<float>(code);
            }
        });
    }

    // Trees for the other forms: one leaf per pair of bins.
    void plant_pairs(std::span<const std::size_t> warped, const PairTrees& pairs) {
        depth_ = pairs.depth();
        sections_ = pairs.sections();
        plant_all(warped, pairs.n_floats(), [&](const Axis& axis, float* tree) {
            const std::span<const double> knots = axis.knots();
            const std::size_t n_bins = knots.size() - 1;
            const double density = grid_.density(axis);
            const auto per_unit = [&](std::size_t place) {
                return place > 0 && place <= n_bins
                           ? static_cast<float>(density / (knots[place] - knots[place - 1]))
                           : 0.0f;
            };
            const auto record = [&](std::size_t place) {
                const std::size_t knot = std::min(place, n_bins);
                return std::array{static_cast<float>(knots[knot]),
                                  static_cast<float>(density * static_cast<double>(knot)),
                                  per_unit(place), per_unit(place + 1)};
            };
            pairs.plant(knots, record, tree);
        });
    }

    // Copies the values of n_rows rows to `together`, row by row, and points x there.
    void copy_together(std::array<const float*, n_rows>& x, std::span<const std::int64_t> columns,
                       std::ptrdiff_t stride, std::vector<float>& together) const {
        const std::size_t n = axes_.size();
        for (std::size_t j = 0; j < n; ++j)
            for (std::size_t a = 0; a < n_rows; ++a)
                together[a * n + j] = x[a][columns[j] * stride];
        for (std::size_t a = 0; a < n_rows; ++a) x[a] = &together[a * n];
    }

    // Encodes n_rows rows, tile by tile. Codes that single precision leaves in doubt are computed
    // again in double precision.
    void encode_together(const std::array<const float*, n_rows>& x,
                         const std::array<Code*, n_rows>& to) const {
        const auto nan = static_cast<std::int32_t>(grid_.has_missing() ? grid_.missing_code : 0);
        const simd::CodeMap map{lines_.prescale, lines_.lo, lines_.slope, lines_.rounding,
                                lines_.last,     nan,       depth_,       sections_,
                                trees_.data(),   doubt_};
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
    int depth_ = 0;
    int sections_ = 0;
    float doubt_ = 0.0f;               // codes this close to a boundary are in doubt
    AlignedFloats tables_;             // the trees
    std::vector<const float*> trees_;  // per feature; null for linear axes
};

}  // namespace splinear
