// The operator for categories with many levels under a ridge penalty.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "model/missing.hpp"
#include "operators/operator.hpp"
#include "rows/any_rows.hpp"
#include "support/pieces.hpp"

namespace splinear {

// A category is a B-spline of degree 0 under D_0: the code of a level, or of a missing value, is an
// index into the feature's table. Double precision; the cost of a row does not depend on the number
// of levels.
template <class C>
class LevelOperator final : public Operator {
public:
    // variance: s_j^2, one per feature.
    LevelOperator(const CodedRowsOf<C>& source, std::size_t n_levels,
                  std::span<const double> variance, int n_threads,
                  const MissingValues& missing = {})
        : source_(source),
          n_levels_(n_levels),
          n_threads_(n_threads),
          variance_(variance.begin(), variance.end()),
          missing_(missing) {
        for (std::size_t j = 0; missing.any() && j < variance.size(); ++j)
            missing_norm_.push_back(variance[j] * missing.mean_product(j, missing.mean(j).data()) +
                                    missing.variance(j));
    }

    Row n_rows() const noexcept override { return source_.n_rows(); }
    Row rows_per_block() const noexcept override { return source_.rows_per_block(); }
    void done_with(Row begin, Row end) const noexcept override { source_.done_with(begin, end); }

    GroupTables zero_tables() const override {
        return {{}, std::vector<double>(variance_.size() * width())};
    }
    GroupTables tables_of(std::span<const double> coef) const override {
        return {{}, missing_.tables_of(coef, variance_.size())};
    }
    std::vector<double> coefficients(const GroupTables& tables) const override {
        return missing_.coefficients(tables.exact, variance_.size());
    }
    void blend(double a, GroupTables& tables, double b, const GroupTables& others) const override {
        blend_tables(a, tables, b, others);
    }

    void score(std::span<const Row> rows, const GroupTables& tables, double* out) const override {
        constexpr std::ptrdiff_t rows_per_task = 64;
        const bool worth_it = rows.size() * variance_.size() > 16384;
        parallel_pieces(0, std::ssize(rows), rows_per_task, worth_it ? n_threads_ : 1,
                        [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
                            for (std::size_t a = index(begin); a < index(end); ++a)
                                out[a] = score_row(source_.row(rows[a]), tables.exact.data());
                        });
    }

    void gram(std::span<const Row> rows, double* out, TeamIndex&) const override {
        const std::size_t m = rows.size();
        for (std::size_t a = 0; a < m; ++a)
            for (std::size_t b = a + 1; b < m; ++b)
                out[a * m + b] = product(source_.row(rows[a]), source_.row(rows[b]));
    }

    void add(std::span<const Row> rows, const double* steps, GroupTables& tables,
             TeamIndex&) const override {
        for (std::size_t j = 0; j < variance_.size(); ++j) {
            double* table = &tables.exact[j * width()];
            double missing_steps = 0.0;
            for (std::size_t a = 0; a < rows.size(); ++a) {
                const std::size_t level = source_.row(rows[a])[j];
                if (level >= n_levels_)
                    missing_steps += steps[a];
                else
                    add_step(j, level, variance_[j] * steps[a], table);
            }
            if (missing_steps == 0.0) continue;
            missing_.add_mean(j, variance_[j] * missing_steps, table);
            missing_.settle(j, missing_steps, table);
        }
    }

    void sum(std::span<const Row> rows, const double* steps, GroupTables& tables) const override {
        for (std::size_t a = 0; a < rows.size(); ++a) {
            const C* codes = source_.row(rows[a]);
            double* table = tables.exact.data();
            for (std::size_t j = 0; j < variance_.size(); ++j, table += width())
                table[codes[j]] += steps[a];
        }
    }
    std::vector<double> sums(const GroupTables& tables) const override {
        return missing_.values(tables.exact, variance_.size());
    }

    double squared_norm(Row row) const override {
        const C* codes = source_.row(row);
        double total = 0.0;
        for (std::size_t j = 0; j < variance_.size(); ++j)
            total += codes[j] >= n_levels_ ? missing_norm_[j] : variance_[j];
        return total;
    }

    double squared_weight(const GroupTables& tables) const override {
        double total = missing_.squared_weight(tables.exact);
        for (std::size_t j = 0; j < variance_.size(); ++j) {
            if (variance_[j] == 0.0) continue;
            double sum = 0.0;
            const double* table = &tables.exact[j * width()];
            for (std::size_t k = 0; k < n_levels_; ++k) sum += table[k] * table[k];
            total += sum / variance_[j];
        }
        return total;
    }

private:
    std::size_t width() const noexcept { return n_levels_ + missing_.table_extra(); }

    double score_row(const C* codes, const double* table) const noexcept {
        double total = 0.0;
        for (std::size_t j = 0; j < variance_.size(); ++j, table += width())
            total += table[codes[j]];
        return total;
    }

    // A step on one level changes the mean of the curve, and thereby the value at a missing x.
    void add_step(std::size_t j, std::size_t level, double change, double* table) const noexcept {
        table[level] += change;
        if (missing_.any()) table[n_levels_] += missing_.mean(j)[level] * change;
    }

    // phi'phi of two rows.
    double product(const C* x, const C* y) const noexcept {
        double total = 0.0;
        for (std::size_t j = 0; j < variance_.size(); ++j) {
            if (x[j] >= n_levels_ || y[j] >= n_levels_)
                total += missing_product(j, x[j], y[j]);
            else if (x[j] == y[j])
                total += variance_[j];
        }
        return total;
    }

    // Feature j's part of it, if it is missing in one of the rows, or in both.
    double missing_product(std::size_t j, C x, C y) const noexcept {
        if (x == y) return missing_norm_[j];
        return variance_[j] * missing_.mean(j)[x >= n_levels_ ? y : x];
    }

    const CodedRowsOf<C>& source_;
    std::size_t n_levels_;
    int n_threads_;
    std::vector<double> variance_;
    MissingValues missing_;
    std::vector<double> missing_norm_;  // per feature, |phi|^2 of a missing value
};

}  // namespace splinear
