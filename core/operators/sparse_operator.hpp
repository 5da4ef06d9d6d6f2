// The reference operator for sparse rows: any basis and penalty, at a cost per nonzero value.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "operators/plain_tables.hpp"
#include "operators/team_index.hpp"
#include "rows/sparse_rows.hpp"

namespace splinear {

// Curves are zero at zero (the penalty fixes coefficients of functions that are not), so features
// that a row does not list contribute nothing.
template <class S, Basis B, Penalty P>
class SparseOperator final : public PlainTables<B, P> {
    using Base = PlainTables<B, P>;
    using Base::basis_, Base::penalty_, Base::variance_, Base::missing_, Base::at_missing;
    using Base::size, Base::support, Base::width, Base::evaluate;

public:
    SparseOperator(const S& source, B basis, P penalty, std::span<const double> variance,
                   const MissingValues& missing = {})
        : Base(std::move(basis), std::move(penalty), variance, missing), source_(source) {}

    Row n_rows() const noexcept override { return source_.n_rows(); }
    Row rows_per_block() const noexcept override { return source_.rows_per_block(); }
    void done_with(Row begin, Row end) const noexcept override { source_.done_with(begin, end); }

    bool scores_one_by_one() const noexcept override { return true; }

    void score(std::span<const Row> rows, const GroupTables& tables, double* out) const override {
        std::vector<double> w(support());
        for (std::size_t a = 0; a < rows.size(); ++a) {
            double total = 0.0;
            source_.for_each(rows[a], [&](std::size_t j, double argument) {
                const int start = evaluate(argument, w.data());
                total += this->value(&tables.exact[j * width()], start, w.data());
            });
            out[a] = total;
        }
    }

    // Feature by feature: most occur in only one row of a team and have no products.
    void gram(std::span<const Row> rows, double* out, TeamIndex& team) const override {
        const std::size_t m = rows.size();
        std::fill_n(out, m * m, 0.0);
        std::vector<double> smooth(size());
        std::vector<double> weights;
        std::vector<int> starts;
        team.for_each_feature(source_, rows, [&](std::size_t j, std::span<const Occurrence> here) {
            if (here.size() == 1) return;
            weights.resize(here.size() * support());
            starts.resize(here.size());
            for (std::size_t b = 0; b < here.size(); ++b) {
                double* w = &weights[b * support()];
                starts[b] = evaluate(here[b].argument, w);
                if (b == 0) continue;
                this->smooth_row(j, starts[b], w, smooth.data());
                for (std::size_t a = 0; a < b; ++a)
                    out[here[a].row * m + here[b].row] +=
                        this->row_product(j, smooth.data(), starts[b] == at_missing, starts[a],
                                          &weights[a * support()]);
            }
        });
    }

    void add(std::span<const Row> rows, const double* steps, GroupTables& tables,
             TeamIndex& team) const override {
        std::vector<double> w(support());
        std::vector<double> sum(size());
        team.for_each_feature(source_, rows, [&](std::size_t j, std::span<const Occurrence> here) {
            std::fill(sum.begin(), sum.end(), 0.0);
            double missing_steps = 0.0;
            for (const Occurrence& x : here) {
                const int start = evaluate(x.argument, w.data());
                if (start == at_missing)
                    missing_steps += steps[x.row];
                else
                    this->spread(start, w.data(), steps[x.row] * variance_[j], sum.data());
            }
            this->add_sums(j, sum, missing_steps, &tables.exact[j * width()]);
        });
    }

    void sum(std::span<const Row> rows, const double* steps, GroupTables& tables) const override {
        std::vector<double> w(support());
        for (std::size_t a = 0; a < rows.size(); ++a)
            source_.for_each(rows[a], [&](std::size_t j, double argument) {
                const int start = evaluate(argument, w.data());
                this->spread_or_missing(start, w.data(), steps[a], &tables.exact[j * width()]);
            });
    }

    double squared_norm(Row row) const override {
        std::vector<double> w(support());
        double total = 0.0;
        source_.for_each(row, [&](std::size_t j, double argument) {
            total += this->part_norm(j, evaluate(argument, w.data()), w);
        });
        return total;
    }

private:
    using Occurrence = TeamIndex::Occurrence;

    const S& source_;
};

}  // namespace splinear
