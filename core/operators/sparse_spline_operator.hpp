// The operator for B-splines on sparse rows, with tables no longer than each feature needs.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "model/basis/bspline.hpp"
#include "model/penalty/difference.hpp"
#include "operators/operator.hpp"
#include "operators/team_index.hpp"
#include "rows/sparse_rows.hpp"
#include "simd/sparse.hpp"
#include "support/pieces.hpp"

namespace splinear {

// A feature's coefficients behind the last basis function that its values reach are not stored:
// under D_d their differences are 0, and since D_d^{-1} is lower triangular, they do not affect the
// others. See TablePlaces for where tables are; the two numbers before each are the feature's
// variance and the table's size. Tables have the precision of the arguments. Missing values are not
// supported.
template <int Degree, class Argument>
class SparseSplineOperator final : public Operator {
public:
    using Rows = SparseRowsOf<Argument>;

    // Null if single precision or the lengths of the tables are not sufficient. variance: s_j^2,
    // one per feature.
    static std::unique_ptr<Operator> make(const Rows& rows, BSpline<Degree> basis,
                                          const DifferencePenalty& penalty,
                                          std::span<const double> variance) {
        // Differences of order d are smaller than the coefficients by a factor of about n^d. Sums
        // without a penalty must be in double precision.
        const bool is_single = std::is_same_v<Argument, float>;
        const double ratio = std::pow(static_cast<double>(basis.size()), penalty.order());
        if (is_single && (penalty.order() == 0 || ratio > largest_ratio)) return nullptr;
        const TablePlaces& places = rows.places();
        if (!rows.within_tables() || places.n_features() != variance.size()) return nullptr;
        for (std::size_t j = 0; j < places.n_features(); ++j)
            if (places.size(j) > static_cast<std::size_t>(basis.size())) return nullptr;
        return std::make_unique<SparseSplineOperator>(rows, basis, penalty, variance);
    }

    SparseSplineOperator(const Rows& rows, BSpline<Degree> basis, const DifferencePenalty& penalty,
                         std::span<const double> variance)
        : source_(rows),
          basis_(basis),
          penalty_(penalty),
          variance_(variance.begin(), variance.end()),
          stride_(whole_pieces(size(), simd::sparse_lanes)),
          smoother_(size() * stride_ + Degree) {
        numbers(zero_).resize(source_.places().length());
        write_headers(zero_);
        std::vector<double> row(size());
        for (std::size_t k = 0; k < size(); ++k) {
            std::fill(row.begin(), row.end(), 0.0);
            row[k] = 1.0;
            penalty_.smooth(row.data());
            std::transform(row.begin(), row.end(), &smoother_[k * stride_],
                           [](double v) { return static_cast<Argument>(v); });
        }
    }

    Row n_rows() const noexcept override { return source_.n_rows(); }
    Row rows_per_block() const noexcept override { return source_.rows_per_block(); }
    void done_with(Row begin, Row end) const noexcept override { source_.done_with(begin, end); }

    bool scores_one_by_one() const noexcept override { return true; }

    void score(std::span<const Row> rows, const GroupTables& tables, double* out) const override {
        for (std::size_t a = 0; a < rows.size(); ++a) {
            const auto entries = source_.row(rows[a]);
            out[a] = static_cast<double>(simd::score_sparse(shape(), numbers(tables).data(),
                                                            entries.data(), entries.size()));
        }
    }

    void gram(std::span<const Row> rows, double* out, TeamIndex& team) const override {
        const std::size_t m = rows.size();
        const std::size_t stride = whole_pieces(m, simd::ramp_lanes);
        std::vector<Argument> products(m * stride);  // of rows b and a < b, at b * stride + a
        if (has_ramps())
            multiply_ramps(rows, stride, products.data(), team);
        else
            multiply_cells(rows, stride, products.data(), team);
        for (std::size_t a = 0; a < m; ++a)
            for (std::size_t b = a + 1; b < m; ++b)
                out[a * m + b] = static_cast<double>(products[b * stride + a]);
    }

    void add(std::span<const Row> rows, const double* steps, GroupTables& tables,
             TeamIndex&) const override {
        for (std::size_t a = 0; a < rows.size(); ++a) {
            const auto entries = source_.row(rows[a]);
            const auto step = static_cast<Argument>(steps[a]);
            Argument* to = numbers(tables).data();
            if (has_ramps())
                simd::add_ramps(step, entries.data(), entries.size(), to);
            else
                simd::add_sparse(shape(), smoother_.data(), stride_, step, entries.data(),
                                 entries.size(), to);
        }
    }

    void sum(std::span<const Row> rows, const double* steps, GroupTables& tables) const override {
        Argument* to = numbers(tables).data();
        for (std::size_t a = 0; a < rows.size(); ++a) {
            const auto step = static_cast<Argument>(steps[a]);
            if (step == 0) continue;  // in certificates, true for most rows
            for (const auto& entry : source_.row(rows[a])) {
                const Cell at = cell(static_cast<double>(entry.argument));
                for (std::size_t p = 0; p < support; ++p)
                    to[entry.place + at.first + p] += step * at.w[p];
            }
        }
    }

    double squared_norm(Row row) const override {
        std::array<double, support> w;
        double total = 0.0;
        for (const auto& entry : source_.row(row)) {
            const auto variance = static_cast<double>(numbers(zero_)[entry.place - 2]);
            const auto argument = static_cast<double>(entry.argument);
            if (has_ramps()) {
                total += variance * ramp_norm(argument);
            } else {
                const int first = evaluate(argument, w.data());
                total += variance * penalty_.quadratic(first, w);
            }
        }
        return total;
    }

    double squared_weight(const GroupTables& tables) const override {
        std::vector<double> w(size());
        double total = 0.0;
        for (std::size_t j = 0; j < variance_.size(); ++j) {
            if (variance_[j] == 0.0) continue;
            read_differences(tables, j, w);
            double sum = 0.0;
            for (const double v : w) sum += v * v;
            total += sum / variance_[j];
        }
        return total;
    }

    GroupTables zero_tables() const override { return zero_; }
    bool has_single_sums() const noexcept override { return !zero_.single.empty(); }
    GroupTables tables_of(std::span<const double> coef) const override {
        GroupTables tables = zero_tables();
        const TablePlaces& places = source_.places();
        for (std::size_t j = 0; j < variance_.size(); ++j)
            std::transform(&coef[j * size()], &coef[j * size()] + places.size(j),
                           &numbers(tables)[places.start(j)],
                           [](double c) { return static_cast<Argument>(c); });
        return tables;
    }
    std::vector<double> coefficients(const GroupTables& tables) const override {
        std::vector<double> coef(variance_.size() * size());
        for (std::size_t j = 0; j < variance_.size(); ++j) {
            const auto own = std::span(coef).subspan(j * size(), size());
            read_differences(tables, j, own);
            penalty_.integrate(own.data());
        }
        return coef;
    }
    std::vector<double> sums(const GroupTables& tables) const override {
        std::vector<double> sums(variance_.size() * size());
        const TablePlaces& places = source_.places();
        for (std::size_t j = 0; j < variance_.size(); ++j)
            std::copy_n(&numbers(tables)[places.start(j)], places.size(j), &sums[j * size()]);
        return sums;
    }
    void blend(double a, GroupTables& tables, double b, const GroupTables& others) const override {
        blend_tables(a, tables, b, others);
        write_headers(tables);
    }

private:
    using Occurrence = TeamIndex::Occurrence;

    static constexpr double largest_ratio = 1 << 17;
    static constexpr std::size_t support = Degree + 1;
    static constexpr std::size_t most_shared = 1024;  // features at a time, to fit in the cache

    // The nonzero basis functions at an argument.
    struct Cell {
        std::size_t first;
        std::array<Argument, support> w;
    };

    // products[b * stride + a] for a < b, if has_ramps(): the entries of each row, restricted to
    // features that occur in several rows, are multiplied with all previous rows at once.
    void multiply_ramps(std::span<const Row> rows, std::size_t stride, Argument* products,
                        TeamIndex& team) const {
        std::vector<Argument> variance;
        std::vector<Argument> before;  // arguments of the rows so far, per feature
        std::vector<simd::SharedEntry<Argument>> own;
        std::vector<Argument> more(stride);
        team.for_each_shared(source_, rows, most_shared, [&](auto places) {
            variance.clear();
            for (const std::uint32_t place : places) variance.push_back(numbers(zero_)[place - 2]);
            before.assign(places.size() * stride, Argument{0});
            for (std::size_t b = 0; b < rows.size(); ++b) {
                const auto entries = source_.row(rows[b]);
                own.resize(entries.size() + 1);
                std::size_t n = 0;  // branch-free: which entries are shared is unpredictable
                for (const auto& entry : entries) {
                    const std::uint32_t number = team.number_of(entry.place);
                    own[n] = {number - 1, entry.argument};
                    n += number != 0 && entry.argument > 0 ? 1 : 0;
                }
                simd::multiply_ramps(own.data(), n, variance.data(), before.data(), stride, b,
                                     more.data());
                for (std::size_t a = 0; a < b; ++a) products[b * stride + a] += more[a];
                for (const auto& entry : std::span(own).first(n))
                    before[entry.number * stride + b] = entry.argument;
            }
        });
    }

    // The same for any degree and order, feature by feature: most occur in only one row of a team
    // and have no products.
    void multiply_cells(std::span<const Row> rows, std::size_t stride, Argument* products,
                        TeamIndex& team) const {
        std::vector<Cell> cells;
        std::vector<Argument> smooth(stride_ + Degree);
        team.for_each_feature(source_, rows, [&](std::size_t j, std::span<const Occurrence> here) {
            if (here.size() == 1) return;
            cells.resize(here.size());
            const auto variance = static_cast<Argument>(variance_[j]);
            const std::size_t n = source_.places().size(j) + Degree;
            cells[0] = cell(here[0].argument);
            for (std::size_t b = 1; b < here.size(); ++b) {
                cells[b] = cell(here[b].argument);
                smooth_cell(cells[b], variance, std::span(smooth).first(n));
                Argument* own = &products[here[b].row * stride];
                for (std::size_t a = 0; a < b; ++a)
                    own[here[a].row] += product(cells[a], smooth.data());
            }
        });
    }

    // NaN counts as 0, since the group has no missing values.
    int evaluate(double argument, double* w) const noexcept {
        return basis_.evaluate(argument > 0.0 ? argument : 0.0, w);
    }

    // B(t)'L_1 B(t) for degree 1; see simd/sparse.hpp.
    static double ramp_norm(double argument) noexcept {
        const double t = argument > 0.0 ? argument : 0.0;
        const auto bin = static_cast<double>(static_cast<int>(t));
        return bin + (t - bin) * (t - bin);
    }

    Cell cell(double argument) const noexcept {
        std::array<double, support> w;
        Cell at;
        at.first = static_cast<std::size_t>(evaluate(argument, w.data()));
        for (std::size_t p = 0; p < support; ++p) at.w[p] = static_cast<Argument>(w[p]);
        return at;
    }

    // out = the first out.size() entries of s^2 L B(x).
    void smooth_cell(const Cell& x, Argument variance, std::span<Argument> out) const noexcept {
        const Argument* rows = &smoother_[x.first * stride_];
        for (std::size_t k = 0; k < out.size(); ++k) {
            Argument total = 0;
            for (std::size_t p = 0; p < support; ++p) total += x.w[p] * rows[p * stride_ + k];
            out[k] = variance * total;
        }
    }

    static Argument product(const Cell& x, const Argument* coef) noexcept {
        Argument total = 0;
        for (std::size_t p = 0; p < support; ++p) total += x.w[p] * coef[x.first + p];
        return total;
    }

    // The part of GroupTables that is used.
    template <class Tables>
    static auto& numbers(Tables& tables) noexcept {
        if constexpr (std::is_same_v<Argument, float>)
            return tables.single;
        else
            return tables.exact;
    }

    std::size_t size() const noexcept { return static_cast<std::size_t>(basis_.size()); }
    // Degree 1 under D_1 with f(0) = 0, for which simd/sparse.hpp has closed forms.
    bool has_ramps() const noexcept {
        return Degree == 1 && penalty_.order() == 1 && penalty_.held() == 1;
    }
    simd::SparseShape shape() const noexcept { return {Degree, basis_.n_bins}; }

    void write_headers(GroupTables& tables) const {
        const TablePlaces& places = source_.places();
        for (std::size_t j = 0; j < variance_.size(); ++j) {
            numbers(tables)[places.start(j) - 2] = static_cast<Argument>(variance_[j]);
            numbers(tables)[places.start(j) - 1] = static_cast<Argument>(places.size(j));
        }
    }

    // w = D_d coef_j, for all coefficients of the basis.
    void read_differences(const GroupTables& tables, std::size_t j, std::span<double> w) const {
        const std::size_t n = source_.places().size(j);
        std::copy_n(&numbers(tables)[source_.places().start(j)], n, w.begin());
        penalty_.difference(w.data());
        std::ranges::fill(w.subspan(n), 0.0);
    }

    const Rows& source_;
    BSpline<Degree> basis_;
    DifferencePenalty penalty_;
    std::vector<double> variance_;
    std::size_t stride_;              // row length of smoother_
    std::vector<Argument> smoother_;  // L_d, one padded row per basis function
    GroupTables zero_;                // tables of zeros, with headers
};

}  // namespace splinear
