// Missing values, for all operators.
//
// Where feature j is missing, its part of the embedding is (s_j T'm_j, sqrt(g_j)): m_j is the mean
// of the basis vector B(x_ij) over the training rows, and the second entry is a coordinate of its
// own. With coefficients coef_j = s_j T w_j and the deviation delta_j = sqrt(g_j) w_missing, the
// curve's value at a missing x is m_j'coef_j + delta_j. If few values are missing, the penalty
// keeps it close to the mean of the curve.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "model/penalty/any.hpp"

namespace splinear {

// The missing values of a group; default-constructed for a group without any. Does not own its
// arrays. A feature's table in double precision holds its coefficients and, in a group with missing
// values, two more numbers: the value at a missing x, and the deviation delta_j.
class MissingValues {
public:
    MissingValues() = default;

    // mean: m_j, n_features x size. variance: g_j, n_features; 0 fixes the deviation at 0.
    MissingValues(std::span<const double> mean, std::span<const double> variance)
        : mean_(mean), variance_(variance) {}

    bool any() const noexcept { return !variance_.empty(); }
    std::size_t table_extra() const noexcept { return any() ? 2 : 0; }  // numbers per table
    std::size_t coef_extra() const noexcept { return any() ? 1 : 0; }   // numbers per feature

    std::span<const double> mean(std::size_t j) const noexcept {
        const std::size_t size = mean_.size() / variance_.size();
        return mean_.subspan(j * size, size);
    }
    double variance(std::size_t j) const noexcept { return variance_[j]; }

    // m_j'a.
    double mean_product(std::size_t j, const double* a) const noexcept {
        const auto m = mean(j);
        return std::inner_product(m.begin(), m.end(), a, 0.0);
    }

    // a += factor m_j.
    void add_mean(std::size_t j, double factor, double* a) const noexcept {
        const auto m = mean(j);
        for (std::size_t k = 0; k < m.size(); ++k) a[k] += factor * m[k];
    }

    // s_j^2 m_j'L m_j + g_j, the squared norm of a missing value's part of the embedding.
    template <Penalty P>
    double squared_norm(std::size_t j, const P& penalty, double variance) const {
        const auto m = mean(j);
        std::vector<double> smooth(m.begin(), m.end());
        penalty.smooth(smooth.data());
        return variance * mean_product(j, smooth.data()) + variance_[j];
    }

    // Updates the last two numbers of a table after its coefficients have changed. `steps` is the
    // sum of the steps of rows in which the feature is missing.
    void settle(std::size_t j, double steps, double* table) const noexcept {
        const std::size_t size = mean_.size() / variance_.size();
        table[size + 1] += variance_[j] * steps;
        table[size] = mean_product(j, table) + table[size + 1];
    }

    // Tables from coefficients (`stride` numbers per feature, the last the deviation), and back.
    std::vector<double> tables_of(std::span<const double> coef, std::size_t n_features) const {
        if (!any()) return {coef.begin(), coef.end()};
        const std::size_t stride = coef.size() / n_features;
        std::vector<double> tables(n_features * (stride + 1));
        for (std::size_t j = 0; j < n_features; ++j) {
            double* table = &tables[j * (stride + 1)];
            const double* from = &coef[j * stride];
            std::copy_n(from, stride - 1, table);
            table[stride] = variance_[j] == 0.0 ? 0.0 : from[stride - 1];
            settle(j, 0.0, table);
        }
        return tables;
    }

    std::vector<double> coefficients(const std::vector<double>& tables,
                                     std::size_t n_features) const {
        return with_entry(tables, n_features, 1);
    }

    // The same as coefficients(), but with the value at a missing x in place of the deviation.
    std::vector<double> values(const std::vector<double>& tables, std::size_t n_features) const {
        return with_entry(tables, n_features, 0);
    }

    // sum_j delta_j^2 / g_j, the contribution of the deviations to |w|^2.
    double squared_weight(const std::vector<double>& tables) const {
        double total = 0.0;
        const std::size_t width = any() ? tables.size() / variance_.size() : 0;
        for (std::size_t j = 0; j < variance_.size(); ++j) {
            const double delta = tables[(j + 1) * width - 1];
            if (variance_[j] > 0.0) total += delta * delta / variance_[j];
        }
        return total;
    }

private:
    // The coefficients of every table, and the number `place` of the two behind them.
    std::vector<double> with_entry(const std::vector<double>& tables, std::size_t n_features,
                                   std::size_t place) const {
        if (!any()) return tables;
        const std::size_t size = tables.size() / n_features - 2;
        std::vector<double> out;
        out.reserve(n_features * (size + 1));
        for (std::size_t j = 0; j < n_features; ++j) {
            const double* table = &tables[j * (size + 2)];
            out.insert(out.end(), table, table + size);
            out.push_back(table[size + place]);
        }
        return out;
    }

    std::span<const double> mean_;
    std::span<const double> variance_;
};

}  // namespace splinear
