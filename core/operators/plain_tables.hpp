// Tables in double precision: what the operators that use no vector instructions share.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "model/basis/any.hpp"
#include "model/missing.hpp"
#include "model/penalty/any.hpp"
#include "operators/operator.hpp"

namespace splinear {

// The tables hold the coefficients in the basis, coef_j = s_j T w_j, so that a row scores sum_j
// coef_j' B(x_ij) and adding delta times its embedding to w adds delta s_j^2 L B(x_ij) to coef_j.
// model/missing.hpp says what stands behind them.
template <Basis B, Penalty P>
class PlainTables : public Operator {
public:
    // variance: s_j^2 of every feature.
    PlainTables(B basis, P penalty, std::span<const double> variance, const MissingValues& missing)
        : basis_(std::move(basis)),
          penalty_(std::move(penalty)),
          variance_(variance.begin(), variance.end()),
          missing_(missing) {}

    GroupTables zero_tables() const override {
        return {{}, std::vector<double>(variance_.size() * width())};
    }
    GroupTables tables_of(std::span<const double> coef) const override {
        return {{}, missing_.tables_of(coef, variance_.size())};
    }
    void blend(double a, GroupTables& tables, double b, const GroupTables& others) const override {
        blend_tables(a, tables, b, others);
    }
    double squared_weight(const GroupTables& tables) const override {
        return splinear::squared_weight(penalty_, tables.exact, width(), variance_) +
               missing_.squared_weight(tables.exact);
    }
    std::vector<double> coefficients(const GroupTables& tables) const override {
        return missing_.coefficients(tables.exact, variance_.size());
    }
    std::vector<double> sums(const GroupTables& tables) const override {
        return missing_.values(tables.exact, variance_.size());
    }

protected:
    static constexpr int at_missing = -1;

    std::size_t size() const noexcept { return static_cast<std::size_t>(basis_.size()); }
    std::size_t support() const noexcept { return static_cast<std::size_t>(basis_.support()); }
    std::size_t width() const noexcept { return size() + missing_.table_extra(); }

    // Writes the functions that are not zero and returns the index of the first; or at_missing. A
    // group without missing values was not meant to have any: they are as zero then.
    int evaluate(double argument, double* w) const noexcept {
        if (!std::isnan(argument)) return basis_.evaluate(argument, w);
        return missing_.any() ? at_missing : basis_.evaluate(0.0, w);
    }

    // sum_p coef[p] w[p] over the functions that are not zero.
    double product(const double* coef, const double* w) const noexcept {
        double total = 0.0;
        for (std::size_t p = 0; p < support(); ++p) total += coef[p] * w[p];
        return total;
    }

    // The value of a curve.
    double value(const double* table, int start, const double* w) const noexcept {
        return start == at_missing ? table[size()] : product(table + start, w);
    }

    void spread(int start, const double* w, double factor, double* out) const noexcept {
        for (std::size_t p = 0; p < support(); ++p)
            out[static_cast<std::size_t>(start) + p] += factor * w[p];
    }

    // The same where a table has a place for the missing values.
    void spread_or_missing(int start, const double* w, double factor, double* out) const noexcept {
        if (start == at_missing)
            out[size()] += factor;
        else
            spread(start, w, factor, out);
    }

    // out <- s_j^2 L times a row's basis vector, the mean one where it is missing.
    void smooth_row(std::size_t j, int start, const double* w, double* out) const noexcept {
        std::fill_n(out, size(), 0.0);
        if (start == at_missing)
            missing_.add_mean(j, variance_[j], out);
        else
            spread(start, w, variance_[j], out);
        penalty_.smooth(out);
    }

    // Of the row whose smooth_row() is `smooth` with another one, which is at `start`.
    double row_product(std::size_t j, const double* smooth, bool both_missing, int start,
                       const double* w) const noexcept {
        if (start != at_missing) return product(smooth + start, w);
        return missing_.mean_product(j, smooth) + (both_missing ? missing_.variance(j) : 0.0);
    }

    // Adds to a feature's table what the sums of its basis functions, times s_j^2, and the steps of
    // its missing values come to.
    void add_sums(std::size_t j, std::vector<double>& sum, double missing_steps,
                  double* table) const noexcept {
        if (missing_steps != 0.0) missing_.add_mean(j, variance_[j] * missing_steps, sum.data());
        penalty_.smooth(sum.data());
        for (std::size_t k = 0; k < size(); ++k) table[k] += sum[k];
        if (missing_.any()) missing_.settle(j, missing_steps, table);
    }

    // The squared length of one feature's part of an embedding.
    double part_norm(std::size_t j, int start, const std::vector<double>& w) const {
        if (start == at_missing) return missing_.squared_norm(j, penalty_, variance_[j]);
        return variance_[j] * penalty_.quadratic(start, w);
    }

    B basis_;
    P penalty_;
    std::vector<double> variance_;
    MissingValues missing_;
};

}  // namespace splinear
