// B-spline curves in single precision, in the form that the kernels take.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/basis/bspline.hpp"
#include "predict/decision.hpp"
#include "rows/matrix_view.hpp"
#include "rows/row.hpp"
#include "simd/dispatch.hpp"
#include "support/aligned.hpp"

namespace splinear {

class FloatModel {
public:
    static constexpr Row max_rows = 256;  // at a time; a multiple of simd::lanes

    // Nothing if axes are so wide or narrow, or their ends or knots such numbers, that single
    // precision would not do; nor for degree 0, where rounding could move a value into the next
    // bin. Feature j is in column columns[j] of X.
    template <int Degree>
    static std::optional<FloatModel> make(const BSpline<Degree>& basis, const Curves& curves,
                                          std::span<const std::int64_t> columns) {
        const simd::Kernels* kernels = simd::chosen();
        const int entries = simd::padded_entries(basis.size(), Degree);
        if (Degree == 0 || kernels == nullptr || entries == 0) return std::nullopt;
        FloatModel made(*kernels, columns);
        made.shape_ = {Degree, 0, 0, basis.size(), entries, curves.axes.size()};
        made.has_trees_ = Degree == 1 || kernels->knot_form == simd::KnotForm::columns;
        if (!made.push_axes(curves.axes)) return std::nullopt;
        made.fill_tables(curves);
        made.plant_trees(curves);
        return made;
    }

    // Whether it was made for these kernels and columns.
    bool is_for(const simd::Kernels* kernels,
                std::span<const std::int64_t> columns) const noexcept {
        return kernels == &kernels_ && std::ranges::equal(columns, columns_);
    }

    // Scores up to max_rows rows, which stay in a near cache while all outputs are scored.
    void decide(const MatrixView<float>& X, std::span<const double> intercepts, Row begin, Row end,
                double* out) const;

private:
    FloatModel(const simd::Kernels& kernels, std::span<const std::int64_t> columns);

    // False where single precision would not do.
    bool push_axes(const Axes& axes);
    bool push_line(const Axis& axis);
    bool push_knots(std::size_t j, const Axis& axis);
    bool push_table(std::size_t j, std::span<const double> knots);
    void push(double lo, double slope, double end, bool warped);
    void fill_tables(const Curves& curves);
    void plant_trees(const Curves& curves);

    void decide_together(std::span<const float* const> all, std::size_t output,
                         float* scores) const;
    void copy_together(std::span<const float*> rows, std::ptrdiff_t stride,
                       std::vector<float>& copies) const;

    const simd::Kernels& kernels_;
    std::vector<std::int64_t> columns_;
    bool in_a_row_ = true;  // the features are neighbors in X
    simd::Shape shape_{};
    std::vector<AlignedFloats> tables_;  // one per output
    std::vector<float> lo_;
    std::vector<float> slope_;
    std::vector<float> end_;
    std::vector<unsigned char> is_warped_;
    bool has_trees_ = false;
    AlignedFloats knots_;        // if not
    std::size_t most_bins_ = 0;  // of the trees
    int depth_ = 0;
    int sections_ = 0;
    std::vector<AlignedFloats> trees_;   // one per output
    std::vector<const float*> tree_of_;  // n_outputs x n_features, null where there are no knots
};

}  // namespace splinear
