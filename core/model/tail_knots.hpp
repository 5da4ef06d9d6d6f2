// Knots of features with a long tail, as splinear/curves/knots.py says: has_long_tail(),
// quantile_knots() and filled(), of rows that weigh 1 each.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <vector>

namespace splinear {

// Values of a feature in ascending order.
struct Ascending {
    std::vector<double> values;

    // The smallest value that a share of the rows does not exceed.
    double quantile(double share) const noexcept {
        const double before = std::ceil(share * static_cast<double>(values.size())) - 1.0;
        const auto last = static_cast<double>(values.size() - 1);
        return values[static_cast<std::size_t>(std::clamp(before, 0.0, last))];
    }
};

// How a tail is told: it is long if most rows, those between two quantiles, lie in less than
// this share of the range.
struct TailRule {
    double from;
    double to;
    double narrow;
};

inline bool has_long_tail(const Ascending& seen, double lo, double hi, const TailRule& rule) {
    const auto inside = [&](double x) { return lo < x && x < hi; };
    if (std::ranges::none_of(seen.values, inside)) return false;
    return 0.5 * seen.quantile(rule.to) - 0.5 * seen.quantile(rule.from) <
           rule.narrow * (0.5 * hi - 0.5 * lo);
}

// Half of the inner knots are quantiles of the rows, the others of the other values.
inline std::vector<double> quantile_knots(const Ascending& seen, double lo, double hi,
                                          std::size_t n_bins) {
    std::vector<double> distinct = seen.values;
    distinct.insert(distinct.begin(), lo);
    distinct.push_back(hi);
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    if (distinct.size() <= n_bins + 1) return distinct;
    const std::size_t n_inner = n_bins - 1;
    const std::size_t half = n_inner / 2;
    std::vector<double> knots{lo};
    for (std::size_t k = 1; k <= half; ++k) {
        const double share = static_cast<double>(k) / static_cast<double>(half + 1);
        const double at = seen.quantile(share);
        if (at != knots.back() && at != hi) knots.push_back(at);
    }
    std::vector<double> others;
    std::set_difference(distinct.begin() + 1, distinct.end() - 1, knots.begin(), knots.end(),
                        std::back_inserter(others));
    const std::size_t n_others = n_bins - knots.size();
    const auto n = static_cast<double>(others.size() + 1);
    for (std::size_t k = 1; k <= n_others; ++k) {
        const double place = static_cast<double>(k) * n / static_cast<double>(n_others + 1);
        knots.push_back(others[static_cast<std::size_t>(std::floor(place - 0.5))]);
    }
    knots.push_back(hi);
    std::sort(knots.begin(), knots.end());
    return knots;
}

// Divides pieces until there are n_bins; new knots are rounded to single precision if they are
// to be.
inline std::vector<double> filled(const std::vector<double>& knots, std::size_t n_bins,
                                  bool single) {
    const std::size_t n_cells = knots.size() - 1;
    std::vector<double> out;
    for (std::size_t cell = 0; cell < n_cells; ++cell) {
        const std::size_t parts = n_bins / n_cells + (cell < n_bins % n_cells ? 1 : 0);
        for (std::size_t k = 0; k < parts; ++k) {
            const double share = static_cast<double>(k) / static_cast<double>(parts);
            const double at = knots[cell] * (1.0 - share) + knots[cell + 1] * share;
            out.push_back(single ? static_cast<double>(static_cast<float>(at)) : at);
        }
    }
    out.push_back(knots.back());
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

// The knots of one feature over [lo, hi], or none if it has no long tail. ascending: n values, NaN
// behind them.
template <class Real>
std::vector<double> tail_knots(const Real* ascending, std::size_t n, double lo, double hi,
                               std::size_t n_bins, const TailRule& rule, bool single) {
    while (n > 0 && std::isnan(ascending[n - 1])) --n;
    const Ascending seen{{ascending, ascending + n}};
    if (n == 0 || !has_long_tail(seen, lo, hi, rule)) return {};
    return filled(quantile_knots(seen, lo, hi, n_bins), n_bins, single);
}

}  // namespace splinear
