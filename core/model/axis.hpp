// Maps the values of a feature to arguments of its basis.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace splinear {

// Maps [lo, hi] to [first, last], the range of arguments that is used ([0, n_bins] for B-splines,
// [-1, 1] for Fourier), and clamps values outside. A constant feature (lo >= hi) maps to `first`.
// With `knots` (ascending, from lo to hi; not owned) the map is linear between neighboring knots
// and sends them to equally spaced arguments.
class Axis {
public:
    Axis(double lo, double hi, double first, double last) : first_(first), last_(last) {
        if (!(lo < hi)) return;
        // Scaling by a power of two, which is exact, brings the width close to 1, so that values
        // like 1e300 do not overflow and values like 1e-300 do not underflow below.
        const double width = hi - lo;
        const int exponent = std::isinf(width) ? 1023 : std::ilogb(width);
        prescale_ = std::ldexp(1.0, std::clamp(-exponent, -1022, 1023));
        lo_ = lo * prescale_;
        slope_ = (last - first) / (hi * prescale_ - lo_);
    }

    Axis(std::span<const double> knots, double first, double last)
        : Axis(knots.front(), knots.back(), first, last) {
        knots_ = knots;
    }

    // The parts of argument(), for callers that process many values at once. Without knots it is
    // first() + (x * prescale() - scaled_lo()) * slope(), clamped.
    bool has_knots() const noexcept { return !knots_.empty(); }
    std::span<const double> knots() const noexcept { return knots_; }
    double prescale() const noexcept { return prescale_; }
    double scaled_lo() const noexcept { return lo_; }
    double slope() const noexcept { return slope_; }

    double first() const noexcept { return first_; }
    double last() const noexcept { return last_; }

    // The argument of x; first() for NaN.
    double argument(double x) const noexcept {
        const double a = knots_.empty() ? first_ + (x * prescale_ - lo_) * slope_ : warped(x);
        if (!(a > first_)) return first_;  // also for a NaN
        return a < last_ ? a : last_;
    }

private:
    double warped(double x) const noexcept {
        if (x >= knots_.back()) return last_;
        if (!(x > knots_.front())) x = knots_.front();  // also for a NaN
        const std::size_t cell = cell_of(x);
        const double left = knots_[cell];
        const double right = knots_[cell + 1];
        const double fraction = std::isinf(right - left)
                                    ? (0.5 * x - 0.5 * left) / (0.5 * right - 0.5 * left)
                                    : (x - left) / (right - left);
        const auto n_cells = static_cast<double>(knots_.size() - 1);
        return first_ + (static_cast<double>(cell) + fraction) * (last_ - first_) / n_cells;
    }

    // The index of the last knot <= x, for first knot <= x < last knot. Branch-free bisection,
    // since the branches would be unpredictable.
    std::size_t cell_of(double x) const noexcept {
        const double* at = knots_.data();
        for (std::size_t n = knots_.size() - 1; n > 1;) {
            const std::size_t half = n / 2;
            at += half * static_cast<std::size_t>(at[half] <= x);
            n -= half;
        }
        return static_cast<std::size_t>(at - knots_.data());
    }

    double first_;
    double last_;
    double prescale_ = 1.0;
    double lo_ = 0.0;
    double slope_ = 0.0;
    std::span<const double> knots_;
};

// The same as axis.argument(x), but NaN for a missing value.
inline double argument_of(const Axis& axis, double x) noexcept {
    return std::isnan(x) ? x : axis.argument(x);
}

// One axis per feature. Owns the knots.
class Axes {
public:
    // lo, hi, first, last: one entry per feature. knots: empty, or the same number of entries per
    // feature, padded with NaN at the end. The axis of a feature without knots is linear.
    Axes(std::span<const double> lo, std::span<const double> hi, std::span<const double> first,
         std::span<const double> last, std::vector<double> knots = {})
        : knots_(std::move(knots)) {
        const std::size_t n_features = lo.size();
        axes_.reserve(n_features);
        const std::size_t n_knots = n_features == 0 ? 0 : knots_.size() / n_features;
        for (std::size_t j = 0; j < n_features; ++j) {
            const auto own = given(std::span(knots_).subspan(j * n_knots, n_knots));
            if (own.empty() || !(lo[j] < hi[j]))
                axes_.emplace_back(lo[j], hi[j], first[j], last[j]);
            else
                axes_.emplace_back(own, first[j], last[j]);
        }
    }
    Axes(const Axes&) = delete;  // the axes point into knots_
    Axes& operator=(const Axes&) = delete;

    std::size_t size() const noexcept { return axes_.size(); }
    const Axis& operator[](std::size_t j) const noexcept { return axes_[j]; }

private:
    // The knots without the NaN at the end.
    static std::span<const double> given(std::span<const double> knots) {
        while (!knots.empty() && std::isnan(knots.back())) knots = knots.first(knots.size() - 1);
        return knots;
    }

    std::vector<double> knots_;
    std::vector<Axis> axes_;
};

}  // namespace splinear
