// Knots where rows are and everywhere else: the twin of spread_knots() in splinear/curves/knots.py
// for rows of weight 1.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "model/tail_knots.hpp"

namespace splinear {

// Adds n + 1 knots: points at equal steps over [lo, hi], each moved up to the next value that
// occurs.
inline void add_steps(std::span<const double> distinct, double lo, double hi, std::size_t n,
                      std::vector<double>& knots) {
    const double step = 1.0 / static_cast<double>(n);
    for (std::size_t k = 0; k <= n; ++k) {
        const double share = k == n ? 1.0 : static_cast<double>(k) * step;
        const double wanted = lo * (1.0 - share) + hi * share;
        const auto at = std::lower_bound(distinct.begin(), distinct.end(), wanted);
        knots.push_back(at == distinct.end() ? distinct.back() : *at);
    }
}

inline void sort_once_each(std::vector<double>& values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
}

// At most n_bins + 1 knots of one feature over [lo, hi]: a third are quantiles of the rows, a third
// equal steps, and the rest quantiles of the remaining distinct values. Empty if the feature has at
// most n_bins + 1 distinct values or n_bins is small, which the caller handles. ascending: n
// values, with NaN last.
template <class Real>
std::vector<double> spread_knots(const Real* ascending, std::size_t n, double lo, double hi,
                                 std::size_t n_bins) {
    constexpr std::size_t least_bins = 6;
    while (n > 0 && std::isnan(ascending[n - 1])) --n;
    if (n == 0 || n_bins < least_bins) return {};
    const Ascending<Real> seen{{ascending, n}};
    const std::vector<double> distinct = seen.distinct_with_ends(lo, hi);
    if (distinct.size() <= n_bins + 1) return {};
    const std::size_t third = n_bins / 3;
    std::vector<double> knots{lo, hi};
    for (std::size_t k = 1; k < third; ++k)
        knots.push_back(seen.quantile(static_cast<double>(k) / static_cast<double>(third)));
    add_steps(distinct, lo, hi, third, knots);
    sort_once_each(knots);
    const WithoutSome others(distinct, knots);
    const std::size_t left = std::min(n_bins + 1 - knots.size(), others.size());
    for (std::size_t k = 0; k < left; ++k) {
        const double place = (static_cast<double>(k) + 0.5) * static_cast<double>(others.size()) /
                             static_cast<double>(left);
        knots.push_back(others[static_cast<std::size_t>(place)]);
    }
    sort_once_each(knots);
    return knots;
}

}  // namespace splinear
