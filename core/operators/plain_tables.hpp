// Base class of operators that use double precision and no vector kernels.
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

// A table holds a feature's coefficients in the basis, coef_j = s_j T w_j, so that a row's score is
// sum_j coef_j'B(x_ij), and adding delta phi to w adds delta s_j^2 L B(x_ij) to coef_j. In groups
// with missing values two more numbers follow them, see model/missing.hpp.
template <Basis B, Penalty P>
class PlainTables : public Operator {
public:
    // variance: s_j^2, one per feature.
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
    static constexpr int at_missing = -1;  // takes the place of the index of a basis function

    std::size_t size() const noexcept { return static_cast<std::size_t>(basis_.size()); }
    std::size_t support() const noexcept { return static_cast<std::size_t>(basis_.support()); }
    std::size_t width() const noexcept { return size() + missing_.table_extra(); }

    // Writes the values of the nonzero basis functions to w and returns the index of the first, or
    // returns at_missing for NaN. In a group without missing values NaN counts as 0.
    int evaluate(double argument, double* w) const noexcept {
        if (!std::isnan(argument)) return basis_.evaluate(argument, w);
        return missing_.any() ? at_missing : basis_.evaluate(0.0, w);
    }

    // sum_p coef[p] w[p] over the nonzero basis functions.
    double product(const double* coef, const double* w) const noexcept {
        double total = 0.0;
        for (std::size_t p = 0; p < support(); ++p) total += coef[p] * w[p];
        return total;
    }

    // The value of a curve, given what evaluate() returned.
    double value(const double* table, int start, const double* w) const noexcept {
        return start == at_missing ? table[size()] : product(table + start, w);
    }

    // Adds factor * B(x) to out, given what evaluate() returned for x.
    void spread(int start, const double* w, double factor, double* out) const noexcept {
        for (std::size_t p = 0; p < support(); ++p)
            out[static_cast<std::size_t>(start) + p] += factor * w[p];
    }

    // The same for an x that may be missing: that adds to the entry behind the coefficients.
    void spread_or_missing(int start, const double* w, double factor, double* out) const noexcept {
        if (start == at_missing)
            out[size()] += factor;
        else
            spread(start, w, factor, out);
    }

    // out = s_j^2 L B(x), with the mean basis vector where x is missing.
    void smooth_row(std::size_t j, int start, const double* w, double* out) const noexcept {
        std::fill_n(out, size(), 0.0);
        if (start == at_missing)
            missing_.add_mean(j, variance_[j], out);
        else
            spread(start, w, variance_[j], out);
        penalty_.smooth(out);
    }

    // Feature j's part of phi'phi for two rows: `smooth` is smooth_row() of one, and `start` and
    // `w` are what evaluate() returned for the other.
    double row_product(std::size_t j, const double* smooth, bool both_missing, int start,
                       const double* w) const noexcept {
        if (start != at_missing) return product(smooth + start, w);
        return missing_.mean_product(j, smooth) + (both_missing ? missing_.variance(j) : 0.0);
    }

    // Adds sum_a steps[a] phi_a to feature j's table, given sum = s_j^2 sum_a steps[a] B(x_a) over
    // rows in which it is not missing, and the sum of the steps of the others. Overwrites `sum`.
    void add_sums(std::size_t j, std::vector<double>& sum, double missing_steps,
                  double* table) const noexcept {
        if (missing_steps != 0.0) missing_.add_mean(j, variance_[j] * missing_steps, sum.data());
        penalty_.smooth(sum.data());
        for (std::size_t k = 0; k < size(); ++k) table[k] += sum[k];
        if (missing_.any()) missing_.settle(j, missing_steps, table);
    }

    // |phi|^2 of feature j's part of an embedding.
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
