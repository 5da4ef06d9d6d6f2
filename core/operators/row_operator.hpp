// The reference operator for dense rows: any basis, any penalty, any processor, double precision.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "operators/plain_tables.hpp"
#include "rows/any_rows.hpp"
#include "rows/blocks.hpp"
#include "simd/coding.hpp"

namespace splinear {

template <DenseSource S, Basis B, Penalty P>
class RowOperator final : public PlainTables<B, P> {
    using Base = PlainTables<B, P>;
    using Base::basis_, Base::penalty_, Base::variance_, Base::missing_, Base::at_missing;
    using Base::size, Base::support, Base::width;

    static constexpr std::size_t rows_at_once = 64;

public:
    // variance: s_j^2, one per feature.
    RowOperator(const S& source, B basis, P penalty, std::span<const double> variance,
                const MissingValues& missing = {})
        : Base(std::move(basis), std::move(penalty), variance, missing), source_(source) {
        std::vector<double> none(support());
        for (std::size_t j = 0; missing.any() && j < variance.size(); ++j)
            missing_norm_.push_back(this->part_norm(j, at_missing, none));
    }

    Row n_rows() const noexcept override { return source_.n_rows(); }
    Row rows_per_block() const noexcept override { return splinear::rows_per_block(source_); }
    void done_with(Row begin, Row end) const noexcept override {
        splinear::done_with(source_, begin, end);
    }

    // out[a] = sum_j coef_j' B(x_{rows[a], j}).
    void score(std::span<const Row> rows, const GroupTables& tables, double* out) const override {
        std::size_t done = 0;
        if constexpr (has_columns)
            for (; done + simd::column_rows <= rows.size(); done += simd::column_rows)
                score_columns(rows.subspan(done, simd::column_rows), tables, out + done);
        std::vector<double> w(support());
        for (std::size_t a = done; a < rows.size(); ++a) {
            const double* table = tables.exact.data();
            double total = 0.0;
            for (std::size_t j = 0; j < variance_.size(); ++j, table += width())
                total += this->value(table, evaluate(rows[a], j, w.data()), w.data());
            out[a] = total;
        }
    }

    // out[a * m + b] = sum_j s_j^2 B(x_{rows[a], j})'L B(x_{rows[b], j}) for a < b, m =
    // rows.size().
    void gram(std::span<const Row> rows, double* out, TeamIndex&) const override {
        const std::size_t m = rows.size();
        std::fill_n(out, m * m, 0.0);
        std::vector<double> w(m * support());
        std::vector<int> start(m);
        std::vector<double> smooth(size());
        for (std::size_t j = 0; j < variance_.size(); ++j) {
            for (std::size_t a = 0; a < m; ++a) start[a] = evaluate(rows[a], j, &w[a * support()]);
            for (std::size_t b = 1; b < m; ++b) {
                this->smooth_row(j, start[b], &w[b * support()], smooth.data());
                for (std::size_t a = 0; a < b; ++a)
                    out[a * m + b] += this->row_product(j, smooth.data(), start[b] == at_missing,
                                                        start[a], &w[a * support()]);
            }
        }
    }

    // coef_j += s_j^2 L sum_a steps[a] B(x_{rows[a], j}): L is applied once per feature, not per
    // row.
    void add(std::span<const Row> rows, const double* steps, GroupTables& tables,
             TeamIndex&) const override {
        std::vector<double> w(support());
        std::vector<double> sum(size());
        for (std::size_t j = 0; j < variance_.size(); ++j) {
            std::fill(sum.begin(), sum.end(), 0.0);
            double missing_steps = 0.0;
            for (std::size_t a = 0; a < rows.size(); ++a) {
                const int start = evaluate(rows[a], j, w.data());
                if (start == at_missing)
                    missing_steps += steps[a];
                else
                    this->spread(start, w.data(), steps[a] * variance_[j], sum.data());
            }
            this->add_sums(j, sum, missing_steps, tables.exact.data() + j * width());
        }
    }

    void sum(std::span<const Row> rows, const double* steps, GroupTables& tables) const override {
        sum_features(0, variance_.size(), rows, steps, tables.exact);
    }
    std::size_t features_per_sum() const noexcept override { return 16; }
    void write_sums(std::size_t part, std::span<const Row> rows, const double* steps,
                    double* out) const override {
        const std::size_t first = part * features_per_sum();
        const std::size_t n = std::min(features_per_sum(), variance_.size() - first);
        std::vector<double> tables(n * width());
        sum_features(first, n, rows, steps, tables);
        std::ranges::copy(missing_.values(tables, n), out);
    }

    double squared_norm(Row row) const override {
        std::vector<double> w(support());
        double total = 0.0;
        for (std::size_t j = 0; j < variance_.size(); ++j) {
            const int start = evaluate(row, j, w.data());
            total += start == at_missing ? missing_norm_[j] : this->part_norm(j, start, w);
        }
        return total;
    }

private:
    // Whether B-splines of many rows can be evaluated together, one feature at a time.
    static constexpr bool has_columns = requires(const S& source, const B& basis) {
        typename S::Places;
        basis.n_bins;
        basis.weights(0.0, nullptr);
    };

    // score() for simd::column_rows rows, one feature at a time; the results are bit-identical.
    void score_columns(std::span<const Row> rows, const GroupTables& tables, double* out) const {
        typename S::Column argument;
        std::vector<double> w(support());
        const auto places = source_.places(rows);
        const double* table = tables.exact.data();
        std::fill_n(out, rows.size(), 0.0);
        for (std::size_t j = 0; j < variance_.size(); ++j, table += width()) {
            if (source_.arguments(places, j, argument)) {
                simd::add_curve({table, static_cast<int>(support()) - 1, basis_.n_bins},
                                argument.data(), out);
                continue;
            }
            for (std::size_t i = 0; i < rows.size(); ++i)
                out[i] += this->value(table, evaluate(rows[i], j, w.data()), w.data());
        }
    }

    // Adds the sums of the features `feature`, ..., feature + n - 1 to `tables`, which begins with
    // the first of them. Rows are processed in batches, one feature after the other.
    void sum_features(std::size_t feature, std::size_t n, std::span<const Row> rows,
                      const double* steps, std::vector<double>& tables) const {
        std::array<double, rows_at_once> arguments;
        std::vector<double> w(support());
        for (std::size_t first = 0; first < rows.size(); first += rows_at_once) {
            const auto here = rows.subspan(first, std::min(rows_at_once, rows.size() - first));
            for (std::size_t j = 0; j < n; ++j) {
                read_arguments(here, feature + j, arguments.data());
                for (std::size_t a = 0; a < here.size(); ++a)
                    if (steps[first + a] != 0.0)
                        this->spread_or_missing(Base::evaluate(arguments[a], w.data()), w.data(),
                                                steps[first + a], &tables[j * width()]);
            }
        }
    }

    void read_arguments(std::span<const Row> rows, std::size_t j, double* out) const noexcept {
        if constexpr (requires { source_.arguments(rows, j, out); })
            source_.arguments(rows, j, out);
        else
            for (std::size_t a = 0; a < rows.size(); ++a) out[a] = source_.argument(rows[a], j);
    }

    int evaluate(Row row, std::size_t j, double* w) const noexcept {
        return Base::evaluate(source_.argument(row, j), w);
    }

    const S& source_;
    std::vector<double> missing_norm_;  // per feature, |phi|^2 of a missing value
};

}  // namespace splinear
