#include "predict/decision.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "model/arguments.hpp"
#include "predict/float_model.hpp"
#include "rows/row.hpp"
#include "support/buffer.hpp"
#include "support/checks.hpp"
#include "support/pieces.hpp"

namespace splinear {
namespace {

constexpr Row rows_per_task = FloatModel::max_rows;  // at most
constexpr Row few_rows = 64;

void check(const Curves& curves) {
    must(!curves.intercepts.empty(), "there must be an output");
    must_be("the size of coef, n_outputs x n_features x (size + 1),", curves.coef.size(),
            curves.n_outputs() * curves.axes.size() * curves.stride());
    std::visit(
        [&](const auto& basis) {
            if constexpr (requires { basis.n_bins; })
                for (std::size_t j = 0; j < curves.axes.size(); ++j)
                    must(curves.axes[j].first() >= 0.0 && curves.axes[j].last() <= basis.n_bins,
                         "an axis goes beyond its basis");
        },
        curves.basis);
}

// Curves that are scored again and again, a row at a time perhaps, are prepared once.
template <Basis B>
std::shared_ptr<const FloatModel> prepare(const B& basis, const Curves& curves,
                                          std::span<const std::int64_t> columns) {
    const std::shared_ptr<const FloatModel> last = curves.prepared->last();
    if (last && last->is_for(simd::chosen(), columns)) return last;
    std::optional<FloatModel> made = FloatModel::make(basis, curves, columns);
    if (!made) return nullptr;
    auto kept = std::make_shared<const FloatModel>(std::move(*made));
    curves.prepared->keep(kept);
    return kept;
}

// The value of one curve of each output, added to total[0], total[1], ...; NaN for one that is not
// finite.
template <Basis B>
void add_values(const B& basis, const Curves& curves, std::size_t j, double x, double argument,
                std::vector<double>& w, double* total) {
    const auto size = static_cast<std::size_t>(basis.size());
    const std::size_t stride = size + 1;
    const bool is_missing = std::isnan(x);
    const auto start =
        is_missing ? size : static_cast<std::size_t>(basis.evaluate(argument, w.data()));
    for (std::size_t k = 0; k < curves.n_outputs(); ++k) {
        const double* c = &curves.coef[(k * curves.axes.size() + j) * stride + start];
        if (is_missing) {
            total[k] += c[0];
            continue;
        }
        double sum = 0.0 * x;  // NaN, if x is infinite
        for (std::size_t p = 0; p < w.size(); ++p) sum += c[p] * w[p];
        total[k] += sum;
    }
}

// A value's basis functions are evaluated once, for all outputs; at most few_rows rows.
template <Basis B, class Real>
void decide_exactly(const B& basis, const MatrixView<Real>& X,
                    std::span<const std::int64_t> columns, const Curves& curves,
                    std::span<const Row> rows, double* out) {
    if (rows.empty()) return;
    const std::size_t n_outputs = curves.n_outputs();
    std::vector<double> w(static_cast<std::size_t>(basis.support()));
    std::array<double, simd::column_rows> x{};
    std::array<double, simd::column_rows> argument{};
    static_assert(few_rows <= static_cast<Row>(simd::column_rows));
    const auto scores = [&](std::size_t i) { return out + index(rows[i]) * n_outputs; };
    for (std::size_t i = 0; i < rows.size(); ++i)
        std::copy(curves.intercepts.begin(), curves.intercepts.end(), scores(i));
    for (std::size_t j = 0; j < curves.axes.size(); ++j) {
        for (std::size_t i = 0; i < rows.size(); ++i) x[i] = X(rows[i], columns[j]);
        place_column(curves.axes[j], x.data(), argument.data());
        for (std::size_t i = 0; i < rows.size(); ++i)
            add_values(basis, curves, j, x[i], argument[i], w, scores(i));
    }
}

// Scores rows of X, at most rows_per_task at a time; `single` scores them, if there is one.
template <Basis B, class Real>
void decide_some(const B& basis, const Curves& curves, const MatrixView<Real>& X,
                 std::span<const std::int64_t> columns, const FloatModel* single, double* out) {
    std::array<Row, rows_per_task> rows;
    std::size_t n = 0;
    if constexpr (std::is_same_v<Real, float>)
        if (single != nullptr) single->decide(X, curves.intercepts, 0, X.n_rows, out);
    // What the kernels have scored as NaN may be a missing value.
    for (Row i = 0; i < X.n_rows; ++i)
        if (single == nullptr || std::isnan(out[index(i) * curves.n_outputs()])) rows[n++] = i;
    for_each_piece(0, static_cast<Row>(n), few_rows, [&](Row first, Row last) {
        decide_exactly(basis, X, columns, curves,
                       std::span(rows).subspan(index(first), index(last - first)), out);
    });
}

// Calls use(first, n, score) for pieces of the rows of X, on threads; score(out) writes the scores
// of the n rows from `first` on.
template <class Real, class Use>
void decide_pieces(const Curves& curves, const MatrixView<Real>& X,
                   std::span<const std::int64_t> columns, int n_threads, const Use& use) {
    check(curves);
    check_columns(columns, curves.axes.size(), X.n_columns);
    std::visit(
        [&]<Basis B>(const B& basis) {
            const auto single = [&]() -> std::shared_ptr<const FloatModel> {
                if constexpr (std::is_same_v<Real, float> && requires { basis.n_bins; })
                    if (curves.axes.size() > 0) return prepare(basis, curves, columns);
                return nullptr;
            }();
            // Few rows are divided among many threads, too; how does not change their scores.
            const Row shares = 4 * static_cast<Row>(n_threads);
            const Row n_rows = std::clamp(whole_pieces(n_pieces(X.n_rows, shares), few_rows),
                                          few_rows, rows_per_task);
            parallel_pieces(0, X.n_rows, n_rows, n_threads, [&](Row begin, Row end) {
                MatrixView<Real> here = X;
                here.data += begin * X.row_stride;
                here.n_rows = end - begin;
                use(index(begin), index(end - begin), [&](double* out) {
                    decide_some(basis, curves, here, columns, single.get(), out);
                });
            });
        },
        curves.basis);
}

}  // namespace

template <class Real>
void decide(const Curves& curves, const MatrixView<Real>& X, std::span<const std::int64_t> columns,
            int n_threads, double* out) {
    decide_pieces(curves, X, columns, n_threads,
                  [&](std::size_t first, std::size_t, const auto& score) {
                      score(out + first * curves.n_outputs());
                  });
}

template <class Real>
void add_decision(const Curves& curves, const MatrixView<Real>& X,
                  std::span<const std::int64_t> columns, std::span<const double> start,
                  int n_threads, double* out) {
    const std::size_t n_outputs = curves.n_outputs();
    if (!start.empty()) must_be("the number of starts, one per output,", start.size(), n_outputs);
    decide_pieces(curves, X, columns, n_threads,
                  [&](std::size_t first, std::size_t n, const auto& score) {
                      Buffer<double> own(n * n_outputs);
                      score(own.data());
                      double* to = out + first * n_outputs;
                      const double* from = own.data();
                      for (std::size_t i = 0; i < n; ++i, to += n_outputs, from += n_outputs)
                          for (std::size_t k = 0; k < n_outputs; ++k)
                              to[k] = (start.empty() ? to[k] : start[k]) + from[k];
                  });
}

bool are_finite(std::span<const double> values, int n_threads) {
    constexpr std::ptrdiff_t per_task = 1 << 14;
    constexpr std::size_t lanes = 8;
    std::atomic<bool> all{true};
    const auto look = [&](std::ptrdiff_t first, std::ptrdiff_t last) {
        // 0 times a number is 0, unless it is infinite or none.
        std::array<double, lanes> sums{};
        auto i = static_cast<std::size_t>(first);
        for (; i + lanes <= static_cast<std::size_t>(last); i += lanes)
            for (std::size_t l = 0; l < lanes; ++l) sums[l] += 0.0 * values[i + l];
        for (; i < static_cast<std::size_t>(last); ++i) sums[0] += 0.0 * values[i];
        for (const double sum : sums)
            if (std::isnan(sum)) all.store(false, std::memory_order_relaxed);
    };
    parallel_pieces(0, std::ssize(values), per_task, n_threads, look);
    return all.load(std::memory_order_relaxed);
}

template <class Real>
void decide_sparse(const Curves& curves, const SparseView<Real>& X, std::span<const double> at_zero,
                   int n_threads, double* out) {
    const Axes& axes = curves.axes;
    const std::size_t n_outputs = curves.n_outputs();
    check(curves);
    check(X, axes.size());
    if (!at_zero.empty())
        must_be("the size of at_zero, n_outputs x n_features,", at_zero.size(),
                n_outputs * axes.size());
    const auto decide_row = [&]<Basis B>(const B& basis, std::size_t i, std::vector<double>& w) {
        double* total = out + i * n_outputs;
        std::copy(curves.intercepts.begin(), curves.intercepts.end(), total);
        for (std::size_t k = index(X.starts[i]); k < index(X.starts[i + 1]); ++k) {
            const auto j = static_cast<std::size_t>(X.features[k]);
            const auto x = static_cast<double>(X.values[k]);
            add_values(basis, curves, j, x, axes[j].argument(x), w, total);
            for (std::size_t o = 0; o < n_outputs && !at_zero.empty(); ++o)
                total[o] -= at_zero[o * axes.size() + j];
        }
    };
    std::visit(
        [&](const Basis auto& basis) {
            parallel_pieces(0, X.n_rows(), few_rows, n_threads, [&](Row begin, Row end) {
                std::vector<double> w(static_cast<std::size_t>(basis.support()));
                for (Row i = begin; i < end; ++i) decide_row(basis, index(i), w);
            });
        },
        curves.basis);
}

template void decide<float>(const Curves&, const MatrixView<float>&, std::span<const std::int64_t>,
                            int, double*);
template void decide<double>(const Curves&, const MatrixView<double>&,
                             std::span<const std::int64_t>, int, double*);
template void add_decision<float>(const Curves&, const MatrixView<float>&,
                                  std::span<const std::int64_t>, std::span<const double>, int,
                                  double*);
template void add_decision<double>(const Curves&, const MatrixView<double>&,
                                   std::span<const std::int64_t>, std::span<const double>, int,
                                   double*);
template void decide_sparse<float>(const Curves&, const SparseView<float>&, std::span<const double>,
                                   int, double*);
template void decide_sparse<double>(const Curves&, const SparseView<double>&,
                                    std::span<const double>, int, double*);

}  // namespace splinear
