// RowOperator for sparse rows: what it does grows with their non-zeros.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "plain_tables.hpp"
#include "sparse_rows.hpp"

namespace splinear {

// The same members as RowOperator. The curves are zero at zero (the penalty holds the coefficients
// of functions that are not), so that features which a row does not list add nothing. One thread
// at a time may call gram() or add().
template <Basis B, Penalty P>
class SparseOperator : public PlainTables<B, P> {
    using Base = PlainTables<B, P>;
    using Base::basis_, Base::penalty_, Base::scale_;
    using Base::size, Base::support, Base::product, Base::spread;

public:
    using typename Base::Tables;

    SparseOperator(const SparseRows& source, B basis, P penalty, std::span<const double> scale)
        : Base(std::move(basis), std::move(penalty), scale),
          source_(source),
          place_(scale.size(), 0) {}

    Row n_rows() const noexcept { return source_.n_rows(); }
    Row rows_per_block() const noexcept { return source_.rows_per_block(); }
    void done_with(Row begin, Row end) const noexcept { source_.done_with(begin, end); }

    void score(std::span<const Row> rows, const Tables& tables, double* out) const {
        std::vector<double> w(support());
        for (std::size_t a = 0; a < rows.size(); ++a) {
            double total = 0.0;
            source_.for_each(rows[a], [&](std::size_t j, double argument) {
                const int start = basis_.evaluate(argument, w.data());
                total += product(&tables[j * size()] + start, w.data());
            });
            out[a] = total;
        }
    }

    // Feature by feature: most are in one row of a team only, and have no products.
    void gram(std::span<const Row> rows, double* out) const {
        const std::size_t m = rows.size();
        std::fill_n(out, m * m, 0.0);
        std::vector<double> smooth(size());
        for_each_feature(rows, [&](std::size_t j, std::span<const Occurrence> here) {
            if (here.size() == 1) return;
            weights_.resize(here.size() * support());
            starts_.resize(here.size());
            for (std::size_t b = 0; b < here.size(); ++b) {
                double* w = &weights_[b * support()];
                starts_[b] = basis_.evaluate(here[b].argument, w);
                if (b == 0) continue;
                std::fill(smooth.begin(), smooth.end(), 0.0);
                spread(starts_[b], w, scale_[j], smooth.data());
                penalty_.smooth(smooth.data());
                for (std::size_t a = 0; a < b; ++a)
                    out[here[a].row * m + here[b].row] +=
                        product(smooth.data() + starts_[a], &weights_[a * support()]);
            }
        });
    }

    void add(std::span<const Row> rows, const double* steps, Tables& tables) const {
        std::vector<double> w(support());
        std::vector<double> sum(size());
        for_each_feature(rows, [&](std::size_t j, std::span<const Occurrence> here) {
            std::fill(sum.begin(), sum.end(), 0.0);
            for (const Occurrence& x : here) {
                const int start = basis_.evaluate(x.argument, w.data());
                spread(start, w.data(), steps[x.row] * scale_[j], sum.data());
            }
            penalty_.smooth(sum.data());
            double* coef = &tables[j * size()];
            for (std::size_t k = 0; k < size(); ++k) coef[k] += sum[k];
        });
    }

    // sum_a steps[a] B(x_{rows[a], j}) added to the tables, neither scaled nor smoothed.
    void sum(std::span<const Row> rows, const double* steps, Tables& tables) const {
        std::vector<double> w(support());
        for (std::size_t a = 0; a < rows.size(); ++a)
            source_.for_each(rows[a], [&](std::size_t j, double argument) {
                const int start = basis_.evaluate(argument, w.data());
                spread(start, w.data(), steps[a], &tables[j * size()]);
            });
    }

    double squared_norm(Row row) const {
        std::vector<double> w(support());
        double total = 0.0;
        source_.for_each(row, [&](std::size_t j, double argument) {
            const int start = basis_.evaluate(argument, w.data());
            total += scale_[j] * penalty_.quadratic(start, w);
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
