// The operator for sparse rows: what it does grows with their non-zeros.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "operators/plain_tables.hpp"
#include "rows/sparse_rows.hpp"

namespace splinear {

// The curves are zero at zero (the penalty holds the coefficients of functions that are not), so
// that features which a row does not list add nothing. One thread at a time may call gram() or
// add().
template <Basis B, Penalty P>
class SparseOperator final : public PlainTables<B, P> {
    using Base = PlainTables<B, P>;
    using Base::basis_, Base::penalty_, Base::scale_, Base::gaps_, Base::at_gap;
    using Base::size, Base::support, Base::width, Base::evaluate;

public:
    SparseOperator(const SparseRows& source, B basis, P penalty, std::span<const double> scale,
                   const Gaps& gaps = {})
        : Base(std::move(basis), std::move(penalty), scale, gaps),
          source_(source),
          place_(scale.size(), 0) {}

    Row n_rows() const noexcept override { return source_.n_rows(); }
    Row rows_per_block() const noexcept override { return source_.rows_per_block(); }
    void done_with(Row begin, Row end) const noexcept override { source_.done_with(begin, end); }

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

    // Feature by feature: most are in one row of a team only, and have no products.
    void gram(std::span<const Row> rows, double* out) const override {
        const std::size_t m = rows.size();
        std::fill_n(out, m * m, 0.0);
        std::vector<double> smooth(size());
        for_each_feature(rows, [&](std::size_t j, std::span<const Occurrence> here) {
            if (here.size() == 1) return;
            weights_.resize(here.size() * support());
            starts_.resize(here.size());
            for (std::size_t b = 0; b < here.size(); ++b) {
                double* w = &weights_[b * support()];
                starts_[b] = evaluate(here[b].argument, w);
                if (b == 0) continue;
                this->smooth_row(j, starts_[b], w, smooth.data());
                for (std::size_t a = 0; a < b; ++a)
                    out[here[a].row * m + here[b].row] +=
                        this->row_product(j, smooth.data(), starts_[b] == at_gap, starts_[a],
                                          &weights_[a * support()]);
            }
        });
    }

    void add(std::span<const Row> rows, const double* steps, GroupTables& tables) const override {
        std::vector<double> w(support());
        std::vector<double> sum(size());
        for_each_feature(rows, [&](std::size_t j, std::span<const Occurrence> here) {
            std::fill(sum.begin(), sum.end(), 0.0);
            double gap_steps = 0.0;
            for (const Occurrence& x : here) {
                const int start = evaluate(x.argument, w.data());
                if (start == at_gap)
                    gap_steps += steps[x.row];
                else
                    this->spread(start, w.data(), steps[x.row] * scale_[j], sum.data());
            }
            this->add_sums(j, sum, gap_steps, &tables.exact[j * width()]);
        });
    }

    void sum(std::span<const Row> rows, const double* steps, GroupTables& tables) const override {
        std::vector<double> w(support());
        for (std::size_t a = 0; a < rows.size(); ++a)
            source_.for_each(rows[a], [&](std::size_t j, double argument) {
                const int start = evaluate(argument, w.data());
                this->spread_or_gap(start, w.data(), steps[a], &tables.exact[j * width()]);
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
    struct Occurrence {
        std::uint32_t row;  // rows[row] has the feature
        float argument;
    };

    // body(feature, its occurrences in the rows), for all features that occur.
    template <class Body>
    void for_each_feature(std::span<const Row> rows, const Body& body) const {
        if (!std::ranges::equal(rows, grouped_)) group(rows);
        std::uint32_t begin = 0;
        for (std::size_t f = 0; f < features_.size(); ++f) {
            body(std::size_t{features_[f]},
                 std::span(occurrences_).subspan(begin, ends_[f] - begin));
            begin = ends_[f];
        }
    }

    // Sorts what is in the rows by feature. The products of a team and its steps need the same.
    void group(std::span<const Row> rows) const {
        grouped_.assign(rows.begin(), rows.end());
        features_.clear();
        std::size_t n = 0;
        for (const Row row : rows)
            for (const auto& entry : source_.row(row)) {
                if (place_[entry.feature]++ == 0) features_.push_back(entry.feature);
                ++n;
            }
        occurrences_.resize(n);
        std::uint32_t next = 0;  // from counts to the place behind each feature's occurrences
        for (const std::uint32_t j : features_) next += std::exchange(place_[j], next);
        for (std::size_t a = 0; a < rows.size(); ++a)
            for (const auto& entry : source_.row(rows[a]))
                occurrences_[place_[entry.feature]++] = {static_cast<std::uint32_t>(a),
                                                         entry.argument};
        ends_.clear();
        for (const std::uint32_t j : features_) ends_.push_back(std::exchange(place_[j], 0));
    }

    const SparseRows& source_;
    // Kept between calls so that nothing as long as the list of features is set up each time.
    mutable std::vector<std::uint32_t> place_;  // per feature; all zero between calls
    mutable std::vector<Row> grouped_;          // the rows that the next three are about
    mutable std::vector<std::uint32_t> features_;
    mutable std::vector<std::uint32_t> ends_;
    mutable std::vector<Occurrence> occurrences_;
    mutable std::vector<double> weights_;
    mutable std::vector<int> starts_;
};

}  // namespace splinear
