// What the solver may do with the rows: score them, compare them, add them to the tables.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "blocks.hpp"
#include "plain_tables.hpp"
#include "row_source.hpp"

namespace splinear {

// The reference: any basis, any penalty, any processor, in double precision.
template <DenseSource S, Basis B, Penalty P>
class RowOperator : public PlainTables<B, P> {
    using Base = PlainTables<B, P>;
    using Base::basis_, Base::penalty_, Base::scale_;
    using Base::size, Base::support, Base::product, Base::spread;

public:
    using typename Base::Tables;

    // scale: s_j^2 of every feature.
    RowOperator(const S& source, B basis, P penalty, std::span<const double> scale)
        : Base(std::move(basis), std::move(penalty), scale), source_(source) {}

    Row n_rows() const noexcept { return source_.n_rows(); }
    Row rows_per_block() const noexcept { return splinear::rows_per_block(source_); }
    void done_with(Row begin, Row end) const noexcept { splinear::done_with(source_, begin, end); }

    // out[a] = sum_j coef_j' B(x_{rows[a], j}).
    void score(std::span<const Row> rows, const Tables& tables, double* out) const {
        std::vector<double> w(support());
        for (std::size_t a = 0; a < rows.size(); ++a) {
            const double* coef = tables.data();
            double total = 0.0;
            for (std::size_t j = 0; j < scale_.size(); ++j, coef += size())
                total += product(coef + evaluate(rows[a], j, w.data()), w.data());
            out[a] = total;
        }
    }

    // out[a * m + b] = sum_j s_j^2 B(x_{rows[a], j})' L B(x_{rows[b], j}) for a < b, m =
    // rows.size().
    void gram(std::span<const Row> rows, double* out) const {
        const std::size_t m = rows.size();
        std::fill_n(out, m * m, 0.0);
        std::vector<double> w(m * support());
        std::vector<int> start(m);
        std::vector<double> smooth(size());
        for (std::size_t j = 0; j < scale_.size(); ++j) {
            for (std::size_t a = 0; a < m; ++a) start[a] = evaluate(rows[a], j, &w[a * support()]);
            for (std::size_t b = 1; b < m; ++b) {
                std::fill(smooth.begin(), smooth.end(), 0.0);
                spread(start[b], &w[b * support()], scale_[j], smooth.data());
                penalty_.smooth(smooth.data());
                for (std::size_t a = 0; a < b; ++a)
                    out[a * m + b] += product(smooth.data() + start[a], &w[a * support()]);
            }
        }
    }

    // coef_j += s_j^2 L sum_a steps[a] B(x_{rows[a], j}): one smoothing per feature, not per row.
    void add(std::span<const Row> rows, const double* steps, Tables& tables) const {
        std::vector<double> w(support());
        std::vector<double> sum(size());
        for (std::size_t j = 0; j < scale_.size(); ++j) {
            std::fill(sum.begin(), sum.end(), 0.0);
            for (std::size_t a = 0; a < rows.size(); ++a) {
                const int start = evaluate(rows[a], j, w.data());
                spread(start, w.data(), steps[a] * scale_[j], sum.data());
            }
            penalty_.smooth(sum.data());
            double* coef = tables.data() + j * size();
            for (std::size_t k = 0; k < size(); ++k) coef[k] += sum[k];
        }
    }

    // The squared length of a row's embedding.
    double squared_norm(Row row) const {
        std::vector<double> w(support());
        double total = 0.0;
        for (std::size_t j = 0; j < scale_.size(); ++j) {
            const int start = evaluate(row, j, w.data());
            total += scale_[j] * penalty_.quadratic(start, w);
        }
        return total;
    }

private:
    int evaluate(Row row, std::size_t j, double* w) const noexcept {
        return basis_.evaluate(source_.argument(row, j), w);
    }

    const S& source_;
};

}  // namespace splinear
