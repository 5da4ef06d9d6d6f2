#include "predict/decision.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <variant>
#include <vector>

#include "model/arguments.hpp"
#include "simd/dispatch.hpp"
#include "support/aligned.hpp"
#include "support/parallel.hpp"

namespace splinear {
namespace {

constexpr std::ptrdiff_t rows_per_task = 64;  // a multiple of simd::lanes

// The curves of all outputs: coef is n_outputs x n_features x stride, the values of gaps included.
struct Model {
    const Axes& axes;
    std::span<const std::int64_t> columns;
    std::span<const double> coef;
    std::span<const double> intercepts;  // one per output
    std::size_t stride;                  // size of the basis + 1

    std::size_t n_outputs() const noexcept { return intercepts.size(); }
    const double* coef_of(std::size_t output, std::size_t j) const noexcept {
        return coef.data() + (output * axes.size() + j) * stride;
    }
};

void check(const AnyBasis& any, const Model& model) {
    if (model.intercepts.empty()) throw std::invalid_argument("there must be an output");
    if (model.coef.size() != model.n_outputs() * model.axes.size() * model.stride)
        throw std::invalid_argument("coef must be n_outputs x n_features x (size + 1)");
    std::visit(
        [&](const auto& basis) {
            if constexpr (requires { basis.n_bins; })
                for (std::size_t j = 0; j < model.axes.size(); ++j)
                    if (!(model.axes[j].first() >= 0.0 && model.axes[j].last() <= basis.n_bins))
                        throw std::invalid_argument("an axis goes beyond its basis");
        },
        any);
}

// The value of one curve of each output, added to total[0], total[1], ...; NaN for one that is not
// finite.
template <Basis B>
void add_values(const B& basis, const Model& model, std::size_t j, double x, double argument,
                std::vector<double>& w, double* total) {
    const bool is_gap = std::isnan(x);
    const auto start =
        is_gap ? model.stride - 1 : static_cast<std::size_t>(basis.evaluate(argument, w.data()));
    for (std::size_t k = 0; k < model.n_outputs(); ++k) {
        const double* c = model.coef_of(k, j) + start;
        if (is_gap) {
            total[k] += c[0];
            continue;
        }
        double sum = 0.0 * x;  // NaN, if x is infinite
        for (std::size_t p = 0; p < w.size(); ++p) sum += c[p] * w[p];
        total[k] += sum;
    }
}

// A value's basis functions are evaluated once, for all outputs; at most rows_per_task rows.
template <Basis B, class Real>
void decide_exactly(const B& basis, const MatrixView<Real>& X, const Model& model,
                    std::span<const std::ptrdiff_t> rows, double* out) {
    const std::size_t n_outputs = model.n_outputs();
    std::vector<double> w(static_cast<std::size_t>(basis.support()));
    std::array<double, simd::column_rows> x{};
    std::array<double, simd::column_rows> argument{};
    static_assert(rows_per_task <= static_cast<std::ptrdiff_t>(simd::column_rows));
    const auto scores = [&](std::size_t i) {
        return out + static_cast<std::size_t>(rows[i]) * n_outputs;
    };
    for (std::size_t i = 0; i < rows.size(); ++i)
        std::copy(model.intercepts.begin(), model.intercepts.end(), scores(i));
    for (std::size_t j = 0; j < model.axes.size(); ++j) {
        for (std::size_t i = 0; i < rows.size(); ++i) x[i] = X(rows[i], model.columns[j]);
        place_column(model.axes[j], x.data(), argument.data());
        for (std::size_t i = 0; i < rows.size(); ++i)
            add_values(basis, model, j, x[i], argument[i], w, scores(i));
    }
}

// A B-spline model in the form that the kernels take.
class SingleModel {
public:
    // Nothing if axes are so wide or narrow, or their ends or knots such numbers, that single
    // precision would not do; nor for degree 0, where rounding could move a value into the next
    // bin.
    template <int Degree>
    static std::optional<SingleModel> make(const BSpline<Degree>& basis, const Model& model) {
        const Axes& axes = model.axes;
        const simd::Kernels* kernels = simd::chosen();
        const int entries = simd::padded_entries(basis.size());
        if (Degree == 0 || kernels == nullptr || entries == 0) return std::nullopt;
        SingleModel made(*kernels, model.columns);
        made.shape_ = {Degree, 0, 0, basis.size(), entries, axes.size()};
        const auto n = static_cast<std::size_t>(basis.size());
        const auto stride = static_cast<std::size_t>(entries);
        for (std::size_t j = 0; j < axes.size(); ++j)
            if (!(axes[j].has_knots() ? made.push_knots(j, axes[j]) : made.push_line(axes[j])))
                return std::nullopt;
        made.tables_.assign(model.n_outputs(), AlignedFloats(axes.size() * stride));
        for (std::size_t k = 0; k < model.n_outputs(); ++k)
            for (std::size_t j = 0; j < axes.size(); ++j) {
                const double* coef = model.coef_of(k, j);
                std::transform(coef, coef + n, made.tables_[k].data() + j * stride,
                               [](double c) { return static_cast<float>(c); });
            }
        return made;
    }

    // Up to rows_per_task rows, which stay in a near cache while all outputs are scored.
    void decide(const MatrixView<float>& X, std::span<const double> intercepts,
                std::ptrdiff_t begin, std::ptrdiff_t end, double* out) const {
        std::array<const float*, rows_per_task> rows;
        const std::ptrdiff_t n = (end - begin + simd::lanes - 1) / simd::lanes * simd::lanes;
        for (std::ptrdiff_t a = 0; a < n; ++a)
            rows[static_cast<std::size_t>(a)] =
                X.data + std::min(begin + a, end - 1) * X.row_stride;
        std::vector<float> turned;
        const auto all = std::span(rows).first(static_cast<std::size_t>(n));
        if (X.column_stride != 1 || !in_a_row_)
            together(all, X.column_stride, turned);
        else
            for (const float*& row : all) row += columns_.front();
        for (std::size_t k = 0; k < tables_.size(); ++k) {
            std::array<float, rows_per_task> scores{};
            decide_together(all, tables_[k], scores.data());
            double* at = out + static_cast<std::size_t>(begin) * tables_.size() + k;
            for (std::ptrdiff_t i = 0; i < end - begin; ++i, at += tables_.size())
                *at = intercepts[k] + static_cast<double>(scores[static_cast<std::size_t>(i)]);
        }
    }

private:
    SingleModel(const simd::Kernels& kernels, std::span<const std::int64_t> columns)
        : kernels_(kernels), columns_(columns) {
        for (std::size_t j = 1; j < columns.size(); ++j)
            if (columns[j] != columns[j - 1] + 1) in_a_row_ = false;
    }

    bool push_line(const Axis& axis) {
        const double lo = axis.scaled_lo() / axis.prescale();
        const double slope = axis.slope() * axis.prescale();
        push(lo, slope, axis.last(), false);
        // A float32 column has a float32 minimum; any other would move by being rounded.
        return (slope == 0.0 || is_moderate(slope)) && is_single(lo);
    }

    bool push_knots(std::size_t j, const Axis& axis) {
        const std::span<const double> knots = axis.knots();
        const std::size_t n_cells = knots.size() - 1;
        push(knots.front(), 0.0, knots.back(), true);
        const auto entries = static_cast<std::size_t>(shape_.entries);
        if (knots_.empty()) knots_ = AlignedFloats(2 * entries * shape_.n_features);
        float* lower = knots_.data() + 2 * entries * j;
        std::fill_n(lower, entries, std::numeric_limits<float>::infinity());
        for (std::size_t k = 0; k < n_cells; ++k) {
            const double width = knots[k + 1] - knots[k];
            if (!is_moderate(width) || !is_single(knots[k])) return false;
            lower[k] = static_cast<float>(knots[k]);
            lower[entries + k] = static_cast<float>(1.0 / width);
        }
        return is_single(knots.back()) && axis.first() == 0.0 &&
               axis.last() == static_cast<double>(n_cells);
    }

    void push(double lo, double slope, double end, bool warped) {
        lo_.push_back(static_cast<float>(lo));
        slope_.push_back(static_cast<float>(slope));
        end_.push_back(static_cast<float>(end));
        is_warped_.push_back(warped ? 1 : 0);
    }

    static bool is_moderate(double x) noexcept { return 1e-30 < x && x < 1e30; }
    static bool is_single(double x) noexcept {
        return static_cast<double>(static_cast<float>(x)) == x;
    }

    // Long tables do not fit the nearest caches together: all rows are scored by some of them
    // before the next are read.
    void decide_together(std::span<const float* const> all, const AlignedFloats& tables_of_all,
                         float* scores) const {
        std::array<const float*, rows_per_task> rows;
        std::copy(all.begin(), all.end(), rows.begin());
        const bool is_long = shape_.entries > simd::short_entries;
        const std::size_t step = is_long ? std::size_t{simd::tile} : shape_.n_features;
        for (std::size_t j = 0; j < shape_.n_features; j += step) {
            const auto entries = static_cast<std::size_t>(shape_.entries);
            const float* knots = knots_.empty() ? nullptr : knots_.data() + 2 * entries * j;
            const simd::Way way{lo_.data() + j, slope_.data() + j, end_.data() + j,
                                is_warped_.data() + j, knots};
            simd::Shape part = shape_;
            part.n_features = std::min(step, shape_.n_features - j);
            const float* tables =
                tables_of_all.data() + j * static_cast<std::size_t>(shape_.entries);
            for (std::size_t a = 0; a < all.size(); a += simd::lanes)
                kernels_.decide(part, way, tables, &rows[a], scores + a);
            for (std::size_t a = 0; a < all.size(); ++a) rows[a] += part.n_features;
        }
    }

    // Copies values that do not lie side by side, and points at the copies.
    void together(std::span<const float*> rows, std::ptrdiff_t stride,
                  std::vector<float>& turned) const {
        turned.resize(rows.size() * shape_.n_features);
        for (std::size_t j = 0; j < shape_.n_features; ++j)
            for (std::size_t a = 0; a < rows.size(); ++a)
                turned[a * shape_.n_features + j] =
                    rows[a][static_cast<std::ptrdiff_t>(columns_[j]) * stride];
        for (std::size_t a = 0; a < rows.size(); ++a) rows[a] = &turned[a * shape_.n_features];
    }

    const simd::Kernels& kernels_;
    std::span<const std::int64_t> columns_;
    bool in_a_row_ = true;  // the features are neighbors in X
    simd::Shape shape_{};
    std::vector<AlignedFloats> tables_;  // one per output
    std::vector<float> lo_;
    std::vector<float> slope_;
    std::vector<float> end_;
    std::vector<unsigned char> is_warped_;
    AlignedFloats knots_;
};

// body(begin, end) for all rows, in tasks.
template <class Body>
void over_rows(std::ptrdiff_t n_rows, int n_threads, const Body& body) {
    parallel_for((n_rows + rows_per_task - 1) / rows_per_task, n_threads, [&](std::ptrdiff_t task) {
        body(task * rows_per_task, std::min(n_rows, (task + 1) * rows_per_task));
    });
}

}  // namespace

template <class Real>
void decide(const AnyBasis& any, const MatrixView<Real>& X, std::span<const std::int64_t> columns,
            const Axes& axes, std::span<const double> coef, std::span<const double> intercepts,
            int n_threads, double* out) {
    const Model model{axes, columns, coef, intercepts,
                      static_cast<std::size_t>(basis_size(any)) + 1};
    check(any, model);
    check_columns(columns, axes.size(), X.n_columns);
    std::visit(
        [&]<Basis B>(const B& basis) {
            const auto single = [&]() -> std::optional<SingleModel> {
                if constexpr (std::is_same_v<Real, float> && requires { basis.n_bins; })
                    if (axes.size() > 0) return SingleModel::make(basis, model);
                return std::nullopt;
            }();
            over_rows(X.n_rows, n_threads, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
                std::array<std::ptrdiff_t, rows_per_task> rows;
                std::size_t n = 0;
                if constexpr (std::is_same_v<Real, float>)
                    if (single) single->decide(X, intercepts, begin, end, out);
                // What the kernels have scored as NaN may be a gap.
                for (std::ptrdiff_t i = begin; i < end; ++i)
                    if (!single || std::isnan(out[static_cast<std::size_t>(i) * model.n_outputs()]))
                        rows[n++] = i;
                decide_exactly(basis, X, model, std::span(rows).first(n), out);
            });
        },
        any);
}

template <class Real>
void decide_sparse(const AnyBasis& any, const SparseView<Real>& X, const Axes& axes,
                   std::span<const double> coef, std::span<const double> at_zero,
                   std::span<const double> intercepts, int n_threads, double* out) {
    const std::size_t n_outputs = intercepts.size();
    const Model model{axes, {}, coef, intercepts, static_cast<std::size_t>(basis_size(any)) + 1};
    check(any, model);
    check(X, axes.size());
    if (!at_zero.empty() && at_zero.size() != n_outputs * axes.size())
        throw std::invalid_argument("at_zero must be n_outputs x n_features");
    const auto decide_row = [&]<Basis B>(const B& basis, std::size_t i, std::vector<double>& w) {
        double* total = out + i * n_outputs;
        std::copy(intercepts.begin(), intercepts.end(), total);
        for (auto k = static_cast<std::size_t>(X.starts[i]);
             k < static_cast<std::size_t>(X.starts[i + 1]); ++k) {
            const auto j = static_cast<std::size_t>(X.features[k]);
            const auto x = static_cast<double>(X.values[k]);
            add_values(basis, model, j, x, axes[j].argument(x), w, total);
            for (std::size_t o = 0; o < n_outputs && !at_zero.empty(); ++o)
                total[o] -= at_zero[o * axes.size() + j];
        }
    };
    std::visit(
        [&](const Basis auto& basis) {
            over_rows(X.n_rows(), n_threads, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
                std::vector<double> w(static_cast<std::size_t>(basis.support()));
                for (std::ptrdiff_t i = begin; i < end; ++i)
                    decide_row(basis, static_cast<std::size_t>(i), w);
            });
        },
        any);
}

template void decide<float>(const AnyBasis&, const MatrixView<float>&,
                            std::span<const std::int64_t>, const Axes&, std::span<const double>,
                            std::span<const double>, int, double*);
template void decide<double>(const AnyBasis&, const MatrixView<double>&,
                             std::span<const std::int64_t>, const Axes&, std::span<const double>,
                             std::span<const double>, int, double*);
template void decide_sparse<float>(const AnyBasis&, const SparseView<float>&, const Axes&,
                                   std::span<const double>, std::span<const double>,
                                   std::span<const double>, int, double*);
template void decide_sparse<double>(const AnyBasis&, const SparseView<double>&, const Axes&,
                                    std::span<const double>, std::span<const double>,
                                    std::span<const double>, int, double*);

}  // namespace splinear
