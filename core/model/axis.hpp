// From the values of a feature to the argument of its basis.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace splinear {

// Maps [lo, hi] onto [first, last], the part of the basis's own axis that is used ([0, n_bins] for
// B-splines, [-1, 1] for Fourier), and clamps what lies outside. A constant feature maps to
// `first`. With `knots` (ascending, lo to hi) the map is linear between them and sends them to
// equally spaced places: the axis warped by its quantiles.
class Axis {
public:
    Axis(double lo, double hi, double first, double last) : first_(first), last_(last) {
        if (!(lo < hi)) return;
        // A power of two brings the width near one, so that neither 1e300 overflows nor 1e-300
        // vanishes on the way; scaling by it is exact.
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

    // What argument() computes from, for callers that do many values at once: where there are
    // no knots it is first() + (x prescale() - scaled_lo()) slope(), clamped.
    bool has_knots() const noexcept { return !knots_.empty(); }
    std::span<const double> knots() const noexcept { return knots_; }
    double prescale() const noexcept { return prescale_; }
    double scaled_lo() const noexcept { return lo_; }
    double slope() const noexcept { return slope_; }

    double first() const noexcept { return first_; }
    double last() const noexcept { return last_; }

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

    // The last knot that is not above x, for x from the first knot to below the last. Halving
    // without a branch: which way a value goes cannot be predicted.
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

// The basis's argument of a value; NaN where it is missing.
inline double argument_of(const Axis& axis, double x) noexcept {
    return std::isnan(x) ? x : axis.argument(x);
}

// One axis per feature.
class Axes {
public:
    // lo, hi, first, last: one entry per feature. knots: empty, or n_knots entries per feature, of
    // which NaN at the end stand for none. A feature that has none at all is a straight line.
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
    static std::span<const double> given(std::span<const double> knots) {
        while (!knots.empty() && std::isnan(knots.back())) knots = knots.first(knots.size() - 1);
        return knots;
    }

    std::vector<double> knots_;
    std::vector<Axis> axes_;
};

}  // namespace splinear
