// Knots where rows are and everywhere else: the twin of spread_knots() in splinear/terms/knots.py
// for rows of weight 1.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "model/knot_tree.hpp"
#include "model/tail_knots.hpp"

namespace splinear {

// Adds n + 1 knots: points at equal steps over [lo, hi], each moved to the nearest value that
// occurs.
inline void add_steps(std::span<const double> distinct, double lo, double hi, std::size_t n,
                      std::vector<double>& knots) {
    const double step = 1.0 / static_cast<double>(n);
    for (std::size_t k = 0; k <= n; ++k) {
        const double share = inward(k == n ? 1.0 : static_cast<double>(k) * step);
        const double wanted = lo * (1.0 - share) + hi * share;
        const auto at = std::lower_bound(distinct.begin() + 1, distinct.end() - 1, wanted);
        const double below = *(at - 1);
        knots.push_back(wanted < 0.5 * below + 0.5 * *at ? below : *at);
    }
}

// The middle of two numbers, in single precision if they are.
inline double between(double a, double b) noexcept {
    const double middle = 0.5 * a + 0.5 * b;
    return is_single(a) && is_single(b) ? static_cast<double>(static_cast<float>(middle)) : middle;
}

inline void sort_once_each(std::vector<double>& values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
}

// At most n_bins + 1 knots of one feature over [lo, hi]: a third are quantiles of the rows, a third
// equal steps, and the rest quantiles of the remaining distinct values. A mirrored feature has
// mirrored knots. Empty if the feature has at
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
    const std::size_t third = n_bins / 3 | 1U;  // odd: in the middle, two values may be as near
    std::vector<double> knots{lo, hi};
    for (std::size_t k = 1; k < third; ++k)
        knots.push_back(seen.quantile(static_cast<double>(k) / static_cast<double>(third)));
    add_steps(distinct, lo, hi, third, knots);
    sort_once_each(knots);
    const WithoutSome others(distinct, knots);
    const std::size_t left = std::min(n_bins + 1 - knots.size(), others.size());
    for (std::size_t k = 0; k < left; ++k) {
        const double share = (static_cast<double>(k) + 0.5) / static_cast<double>(left);
        const double place = inward(share) * static_cast<double>(others.size());
        const bool is_middle = 2 * k + 1 == left && others.size() % 2 == 0;
        const std::size_t half = others.size() / 2;
        knots.push_back(is_middle ? between(others[half - 1], others[half])
                                  : others[static_cast<std::size_t>(place)]);
    }
    sort_once_each(knots);
    return knots;
}

}  // namespace splinear
