#include "predict/float_model.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "predict/tree_pieces.hpp"
#include "support/pieces.hpp"

namespace splinear {

FloatModel::FloatModel(const simd::Kernels& kernels, std::span<const std::int64_t> columns)
    : kernels_(kernels), columns_(columns.begin(), columns.end()) {
    for (std::size_t j = 1; j < columns.size(); ++j)
        if (columns[j] != columns[j - 1] + 1) in_a_row_ = false;
}

bool FloatModel::push_axes(const Axes& axes) {
    for (std::size_t j = 0; j < axes.size(); ++j)
        if (!(axes[j].has_knots() ? push_knots(j, axes[j]) : push_line(axes[j]))) return false;
    return true;
}

bool FloatModel::push_line(const Axis& axis) {
    const double lo = axis.scaled_lo() / axis.prescale();
    const double slope = axis.slope() * axis.prescale();
    push(lo, slope, axis.last(), false);
    // A float32 column has a float32 minimum; any other would move by being rounded.
    return (slope == 0.0 || is_moderate(slope)) && is_single(lo);
}

bool FloatModel::push_knots(std::size_t j, const Axis& axis) {
    const std::span<const double> knots = axis.knots();
    const std::size_t n_cells = knots.size() - 1;
    push(knots.front(), 0.0, knots.back(), true);
    if (!have_single_tree(knots) || axis.first() != 0.0 ||
        axis.last() != static_cast<double>(n_cells))
        return false;
    if (!has_trees_) return push_table(j, knots);
    most_bins_ = std::max(most_bins_, n_cells);
    return PieceTrees::take(n_cells);
}

bool FloatModel::push_table(std::size_t j, std::span<const double> knots) {
    const std::size_t n_cells = knots.size() - 1;
    const auto entries = static_cast<std::size_t>(shape_.entries);
    if (n_cells > entries) return false;
    if (knots_.empty()) knots_ = AlignedFloats(2 * entries * shape_.n_features);
    float* lower = knots_.data() + 2 * entries * j;
    std::fill_n(lower, entries, std::numeric_limits<float>::infinity());
    for (std::size_t k = 0; k < n_cells; ++k) {
        lower[k] = static_cast<float>(knots[k]);
        lower[entries + k] = static_cast<float>(1.0 / (knots[k + 1] - knots[k]));
    }
    return true;
}

void FloatModel::push(double lo, double slope, double end, bool warped) {
    lo_.push_back(static_cast<float>(lo));
    slope_.push_back(static_cast<float>(slope));
    end_.push_back(static_cast<float>(end));
    is_warped_.push_back(warped ? 1 : 0);
}

void FloatModel::fill_tables(const Curves& curves) {
    const auto size = static_cast<std::size_t>(shape_.n_basis);
    const auto entries = static_cast<std::size_t>(shape_.entries);
    const std::size_t n = whole_pieces(shape_.n_features, std::size_t{simd::tile}) * entries;
    tables_.assign(curves.n_outputs(), AlignedFloats(n));
    for (std::size_t k = 0; k < curves.n_outputs(); ++k)
        for (std::size_t j = 0; j < shape_.n_features; ++j) {
            const double* coef = curves.coef_of(k, j);
            std::transform(coef, coef + size, tables_[k].data() + j * entries,
                           [](double c) { return static_cast<float>(c); });
        }
}

void FloatModel::plant_trees(const Curves& curves) {
    if (most_bins_ == 0) return;
    PieceTrees made(most_bins_, shape_.degree, kernels_.knot_form);
    depth_ = made.depth();
    sections_ = made.sections();
    const auto n = static_cast<std::size_t>(
        std::count(is_warped_.begin(), is_warped_.end(), static_cast<unsigned char>(1)));
    for (std::size_t k = 0; k < curves.n_outputs(); ++k) {
        float* tree = trees_.emplace_back(n * made.n_floats() + made.n_behind()).data();
        for (std::size_t j = 0; j < shape_.n_features; ++j) {
            tree_of_.push_back(is_warped_[j] != 0 ? tree : nullptr);
            if (is_warped_[j] == 0) continue;
            tree = made.plant(curves.axes[j].knots(), curves.coef_of(k, j), tree);
        }
    }
}

void FloatModel::decide(const MatrixView<float>& X, std::span<const double> intercepts, Row begin,
                        Row end, double* out) const {
    std::array<const float*, max_rows> rows;
    const Row n = whole_pieces(end - begin, Row{simd::lanes});
    for (Row a = 0; a < n; ++a)
        rows[index(a)] = X.data + std::min(begin + a, end - 1) * X.row_stride;
    std::vector<float> copies;
    const auto all = std::span(rows).first(index(n));
    if (X.column_stride != 1 || !in_a_row_)
        copy_together(all, X.column_stride, copies);
    else
        for (const float*& row : all) row += columns_.front();
    for (std::size_t k = 0; k < tables_.size(); ++k) {
        std::array<float, max_rows> scores{};
        decide_together(all, k, scores.data());
        double* at = out + index(begin) * tables_.size() + k;
        for (std::size_t i = 0; i < index(end - begin); ++i, at += tables_.size())
            *at = intercepts[k] + static_cast<double>(scores[i]);
    }
}

// Long tables do not fit the nearest caches together: all rows are scored by some of them before
// the next are read.
void FloatModel::decide_together(std::span<const float* const> all, std::size_t output,
                                 float* scores) const {
    std::array<const float*, max_rows> rows;
    std::copy(all.begin(), all.end(), rows.begin());
    const auto entries = static_cast<std::size_t>(shape_.entries);
    const bool is_long = shape_.entries > simd::short_entries;
    const std::size_t step = is_long ? std::size_t{simd::tile} : shape_.n_features;
    for (std::size_t j = 0; j < shape_.n_features; j += step) {
        const float* knots = knots_.empty() ? nullptr : knots_.data() + 2 * entries * j;
        const float* const* trees =
            tree_of_.empty() ? nullptr : tree_of_.data() + output * shape_.n_features + j;
        const simd::BinMap map{lo_.data() + j,  slope_.data() + j,
                               end_.data() + j, is_warped_.data() + j,
                               knots,           depth_,
                               sections_,       trees};
        simd::Shape part = shape_;
        part.n_features = std::min(step, shape_.n_features - j);
        kernels_.decide(part, map, tables_[output].data() + j * entries, rows.data(), all.size(),
                        scores);
        for (std::size_t a = 0; a < all.size(); ++a) rows[a] += part.n_features;
    }
}

// Copies values that do not lie side by side, and points at the copies.
void FloatModel::copy_together(std::span<const float*> rows, std::ptrdiff_t stride,
                               std::vector<float>& copies) const {
    copies.resize(rows.size() * shape_.n_features);
    for (std::size_t j = 0; j < shape_.n_features; ++j)
        for (std::size_t a = 0; a < rows.size(); ++a)
            copies[a * shape_.n_features + j] =
                rows[a][static_cast<std::ptrdiff_t>(columns_[j]) * stride];
    for (std::size_t a = 0; a < rows.size(); ++a) rows[a] = &copies[a * shape_.n_features];
}

}  // namespace splinear
