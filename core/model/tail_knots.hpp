// Knots of features with a long tail: the twins of has_long_tail(), quantile_knots() and filled()
// in splinear/terms/knots.py for rows of weight 1.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace splinear {

// A share of a whole, moved toward one half by more than rounding errors. Between two values that
// fit equally well, the one nearer to the middle is then chosen, so that the knots of a mirrored
// column are mirrored.
inline double inward(double share) noexcept {
    constexpr double step = 1e-9;
    return share < 0.5 ? share + step : share - step;
}

// The index, among n ascending values, of the smallest one such that at least `share` of them are
// not above it; of two such values, the one nearer to the median.
inline std::size_t quantile_place(double share, std::size_t n) noexcept {
    const double before = std::ceil(inward(share) * static_cast<double>(n)) - 1.0;
    return static_cast<std::size_t>(std::clamp(before, 0.0, static_cast<double>(n - 1)));
}

// A sample of a feature's values, in ascending order. Does not own them.
template <class Real>
struct Ascending {
    std::span<const Real> values;

    // The value at quantile_place().
    double quantile(double share) const noexcept {
        return static_cast<double>(values[quantile_place(share, values.size())]);
    }

    // The distinct values, with lo and hi added if they are not among them.
    std::vector<double> distinct_with_ends(double lo, double hi) const {
        std::vector<double> out;
        out.reserve(values.size() + 2);
        out.resize(values.size());
        std::size_t n = 0;
        // Branch-free, because it is unpredictable which values are new.
        for (std::size_t i = 0; i < values.size(); ++i) {
            out[n] = static_cast<double>(values[i]);
            n += i == 0 || values[i] != values[i - 1] ? 1 : 0;
        }
        out.resize(n);
        for (const double end : {lo, hi}) {
            const auto at = std::lower_bound(out.begin(), out.end(), end);
            if (at == out.end() || *at != end) out.insert(at, end);
        }
        return out;
    }
};

// A view of ascending values without some of them, which must also be ascending. Nothing is copied,
// because only few elements are accessed.
class WithoutSome {
public:
    WithoutSome(std::span<const double> values, std::span<const double> some) : values_(values) {
        auto from = values.begin();
        for (const double x : some) {
            from = std::lower_bound(from, values.end(), x);
            if (from != values.end() && *from == x)
                gone_.push_back(static_cast<std::size_t>(from++ - values.begin()));
        }
    }

    std::size_t size() const noexcept { return values_.size() - gone_.size(); }

    double operator[](std::size_t i) const noexcept {
        for (const std::size_t place : gone_) {
            if (place > i) break;
            ++i;
        }
        return values_[i];
    }

private:
    std::span<const double> values_;
    std::vector<std::size_t> gone_;  // indices of the values left out
};

// A feature has a long tail if its quantiles `from` and `to` are closer together than the share
// `narrow` of its range.
struct TailRule {
    double from;
    double to;
    double narrow;
};

template <class Real>
bool has_long_tail(const Ascending<Real>& seen, double lo, double hi, const TailRule& rule) {
    const auto inside = [&](Real x) {
        return lo < static_cast<double>(x) && static_cast<double>(x) < hi;
    };
    if (std::ranges::none_of(seen.values, inside)) return false;
    return 0.5 * seen.quantile(rule.to) - 0.5 * seen.quantile(rule.from) <
           rule.narrow * (0.5 * hi - 0.5 * lo);
}

// At most n_bins + 1 knots over [lo, hi]: half of the inner ones are quantiles of the rows, the
// others quantiles of the remaining distinct values.
template <class Real>
std::vector<double> quantile_knots(const Ascending<Real>& seen, double lo, double hi,
                                   std::size_t n_bins) {
    std::vector<double> distinct = seen.distinct_with_ends(lo, hi);
    if (distinct.size() <= n_bins + 1) return distinct;
    const std::size_t n_inner = n_bins - 1;
    const std::size_t half = n_inner / 2;
    std::vector<double> knots{lo};
    for (std::size_t k = 1; k <= half; ++k) {
        const double share = static_cast<double>(k) / static_cast<double>(half + 1);
        const double at = seen.quantile(share);
        if (at != knots.back() && at != hi) knots.push_back(at);
    }
    const WithoutSome others({distinct.data() + 1, distinct.size() - 2}, knots);
    const std::size_t n_others = n_bins - knots.size();
    const auto n = static_cast<double>(others.size() + 1);
    for (std::size_t k = 1; k <= n_others; ++k) {
        const double place = inward(static_cast<double>(k) / static_cast<double>(n_others + 1)) * n;
        knots.push_back(others[static_cast<std::size_t>(std::floor(place - 0.5))]);
    }
    knots.push_back(hi);
    std::sort(knots.begin(), knots.end());
    return knots;
}

// Adds knots, evenly within existing pieces, until there are n_bins pieces. If `single`, new knots
// are rounded to single precision; rounding may leave fewer pieces.
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

// The knots of one feature over [lo, hi]; empty if it has no long tail. ascending: n values, with
// NaN last.
template <class Real>
std::vector<double> tail_knots(const Real* ascending, std::size_t n, double lo, double hi,
                               std::size_t n_bins, const TailRule& rule, bool single) {
    while (n > 0 && std::isnan(ascending[n - 1])) --n;
    const Ascending<Real> seen{{ascending, n}};
    if (n == 0 || !has_long_tail(seen, lo, hi, rule)) return {};
    return filled(quantile_knots(seen, lo, hi, n_bins), n_bins, single);
}

}  // namespace splinear
