#include "decision.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "aligned.hpp"
#include "arguments.hpp"
#include "parallel.hpp"
#include "simd/dispatch.hpp"

namespace splinear {
namespace {

constexpr std::ptrdiff_t rows_per_task = 64;  // a multiple of simd::lanes

// The curves of all outputs: coef is n_outputs x n_features x basis size.
struct Model {
    const Axes& axes;
    std::span<const double> coef;
    std::span<const double> intercepts;  // one a output

    std::size_t n_outputs() const noexcept { return intercepts.size(); }
};

// A value's basis functions are evaluated once, for all outputs; at most rows_per_task rows.
template <Basis B, class Real>
void decide_exactly(const B& basis, const MatrixView<Real>& X, const Model& model,
                    std::ptrdiff_t begin, std::ptrdiff_t end, double* out) {
    const std::size_t n_outputs = model.n_outputs();
    const auto size = static_cast<std::size_t>(basis.size());
    const std::size_t per_output = model.axes.size() * size;
    std::vector<double> w(static_cast<std::size_t>(basis.support()));
    std::array<double, simd::column_rows> x{};
    std::array<double, simd::column_rows> argument{};
    static_assert(rows_per_task <= static_cast<std::ptrdiff_t>(simd::column_rows));
    const auto n = static_cast<std::size_t>(end - begin);
    double* scores = out + static_cast<std::size_t>(begin) * n_outputs;
    for (std::size_t i = 0; i < n; ++i)
        std::copy(model.intercepts.begin(), model.intercepts.end(), scores + i * n_outputs);
    for (std::size_t j = 0; j < model.axes.size(); ++j) {
        for (std::size_t i = 0; i < n; ++i)
            x[i] = X(begin + static_cast<std::ptrdiff_t>(i), static_cast<std::ptrdiff_t>(j));
        place_column(model.axes[j], x.data(), argument.data());
        for (std::size_t i = 0; i < n; ++i) {
            const int start = basis.evaluate(argument[i], w.data());
            const double* c = model.coef.data() + j * size + static_cast<std::size_t>(start);
            double* total = scores + i * n_outputs;
            for (std::size_t k = 0; k < n_outputs; ++k, c += per_output) {
                double sum = 0.0 * x[i];  // NaN, if x is not finite
                for (std::size_t p = 0; p < w.size(); ++p) sum += c[p] * w[p];
                total[k] += sum;
            }
        }
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
        SingleModel made(*kernels);
        made.shape_ = {Degree, 0, 0, basis.size(), entries, axes.size()};
        const auto n = static_cast<std::size_t>(basis.size());
        const auto stride = static_cast<std::size_t>(entries);
        for (std::size_t j = 0; j < axes.size(); ++j)
            if (!(axes[j].has_knots() ? made.push_knots(j, axes[j]) : made.push_line(axes[j])))
                return std::nullopt;
        made.tables_.assign(model.n_outputs(), AlignedFloats(axes.size() * stride));
        const double* coef = model.coef.data();
        for (AlignedFloats& tables : made.tables_)
            for (std::size_t j = 0; j < axes.size(); ++j, coef += n)
                std::transform(coef, coef + n, tables.data() + j * stride,
                               [](double c) { return static_cast<float>(c); });
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
        if (X.column_stride != 1) together(all, X.column_stride, turned);
        for (std::size_t k = 0; k < tables_.size(); ++k) {
            std::array<float, rows_per_task> scores{};
            decide_together(all, tables_[k], scores.data());
            double* at = out + static_cast<std::size_t>(begin) * tables_.size() + k;
            for (std::ptrdiff_t i = 0; i < end - begin; ++i, at += tables_.size())
                *at = intercepts[k] + static_cast<double>(scores[static_cast<std::size_t>(i)]);
        }
    }

private:
    explicit SingleModel(const simd::Kernels& kernels) : kernels_(kernels) {}

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

    // Copies rows of a matrix that is not stored by rows, and points at the copies.
    void together(std::span<const float*> rows, std::ptrdiff_t stride,
                  std::vector<float>& turned) const {
        turned.resize(rows.size() * shape_.n_features);
        for (std::size_t j = 0; j < shape_.n_features; ++j)
            for (std::size_t a = 0; a < rows.size(); ++a)
                turned[a * shape_.n_features + j] =
                    rows[a][static_cast<std::ptrdiff_t>(j) * stride];
        for (std::size_t a = 0; a < rows.size(); ++a) rows[a] = &turned[a * shape_.n_features];
    }

    const simd::Kernels& kernels_;
    simd::Shape shape_{};
    std::vector<AlignedFloats> tables_;  // one a output
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
void decide(const AnyBasis& any, const MatrixView<Real>& X, const Axes& axes,
            std::span<const double> coef, std::span<const double> intercepts, int n_threads,
            double* out) {
    const Model model{axes, coef, intercepts};
    std::visit(
        [&]<Basis B>(const B& basis) {
            if constexpr (std::is_same_v<Real, float> && requires { basis.n_bins; }) {
                if (const auto single = SingleModel::make(basis, model)) {
                    over_rows(X.n_rows, n_threads, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
                        single->decide(X, intercepts, begin, end, out);
                    });
                    return;
                }
            }
            over_rows(X.n_rows, n_threads, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
                decide_exactly(basis, X, model, begin, end, out);
            });
        },
        any);
}

template <class Real>
void decide_sparse(const AnyBasis& any, const SparseView<Real>& X, const Axes& axes,
                   std::span<const double> coef, std::span<const double> at_zero,
                   std::span<const double> intercepts, int n_threads, double* out) {
    const std::size_t n_outputs = intercepts.size();
    const auto decide_row = [&]<Basis B>(const B& basis, std::size_t i, std::vector<double>& w) {
        const auto size = static_cast<std::size_t>(basis.size());
        double* total = out + i * n_outputs;
        std::copy(intercepts.begin(), intercepts.end(), total);
        for (auto k = static_cast<std::size_t>(X.starts[i]);
             k < static_cast<std::size_t>(X.starts[i + 1]); ++k) {
            const auto j = static_cast<std::size_t>(X.features[k]);
            const auto x = static_cast<double>(X.values[k]);
            const auto start =
                static_cast<std::size_t>(basis.evaluate(axes[j].argument(x), w.data()));
            for (std::size_t o = 0; o < n_outputs; ++o) {
                const double* c = &coef[(o * axes.size() + j) * size + start];
                double sum = 0.0 * x;  // NaN, if x is not finite
                for (std::size_t p = 0; p < w.size(); ++p) sum += c[p] * w[p];
                total[o] += at_zero.empty() ? sum : sum - at_zero[o * axes.size() + j];
            }
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

template void decide<float>(const AnyBasis&, const MatrixView<float>&, const Axes&,
                            std::span<const double>, std::span<const double>, int, double*);
template void decide<double>(const AnyBasis&, const MatrixView<double>&, const Axes&,
                             std::span<const double>, std::span<const double>, int, double*);
template void decide_sparse<float>(const AnyBasis&, const SparseView<float>&, const Axes&,
                                   std::span<const double>, std::span<const double>,
                                   std::span<const double>, int, double*);
template void decide_sparse<double>(const AnyBasis&, const SparseView<double>&, const Axes&,
                                    std::span<const double>, std::span<const double>,
                                    std::span<const double>, int, double*);

}  // namespace splinear
