#include "simd/ramps.hpp"

#include <cmath>

#include "simd/clones.hpp"

namespace splinear::simd {
namespace {

SPLINEAR_INLINE double between_0_and_1(double x) {
    const double low = x > 0.0 ? x : 0.0;
    return low < 1.0 ? low : 1.0;
}

SPLINEAR_INLINE double is_between(double x) { return x > 0.0 && x < 1.0 ? 1.0 : 0.0; }

// Each knows the slope and the second derivative at m of a row with y, and the gap.
struct HingeRamp {
    double rate;
    double middle;
    double off;

    SPLINEAR_INLINE explicit HingeRamp(const Ramp& ramp)
        : rate(1.0 / ramp.width),
          middle(0.5 * (ramp.low + ramp.high)),
          off(0.5 * (ramp.high - ramp.low)) {}

    SPLINEAR_INLINE double raw(double m, double y) const {
        return (1.0 - m) * rate + (middle + off * y);
    }
    SPLINEAR_INLINE double slope(double m, double y) const { return between_0_and_1(raw(m, y)); }
    SPLINEAR_INLINE double bend(double m, double y) const { return rate * is_between(raw(m, y)); }
    SPLINEAR_INLINE double value(double m) const { return m < 1.0 ? 1.0 - m : 0.0; }
    SPLINEAR_INLINE double gap(double alpha, double m, double c) const {
        return m < 1.0 ? (c - alpha) * (1.0 - m) : alpha * (m - 1.0);
    }
};

struct SquaredHingeRamp {
    SPLINEAR_INLINE explicit SquaredHingeRamp(const Ramp&) {}

    SPLINEAR_INLINE double slope(double m, double) const { return 2.0 * value_root(m); }
    SPLINEAR_INLINE double bend(double m, double) const { return m < 1.0 ? 2.0 : 0.0; }
    SPLINEAR_INLINE double value(double m) const { return value_root(m) * value_root(m); }
    SPLINEAR_INLINE double value_root(double m) const { return m < 1.0 ? 1.0 - m : 0.0; }
    SPLINEAR_INLINE double gap(double alpha, double m, double c) const {
        const double off = 1.0 - m - alpha / (2.0 * c);
        const double inside = c * off * off;
        const double outside = alpha * (m - 1.0) + alpha * alpha / (4.0 * c);
        return m < 1.0 ? inside : outside;
    }
};

struct EpsilonRamp {
    double epsilon;
    double rate;
    double low;
    double high;

    SPLINEAR_INLINE explicit EpsilonRamp(const Ramp& ramp)
        : epsilon(ramp.epsilon), rate(1.0 / ramp.width), low(ramp.low), high(ramp.high) {}

    SPLINEAR_INLINE double below(double m) const { return (-m - epsilon) * rate + low; }
    SPLINEAR_INLINE double above(double m) const { return (m - epsilon) * rate + high; }
    SPLINEAR_INLINE double slope(double m, double) const {
        return between_0_and_1(below(m)) - between_0_and_1(above(m));
    }
    SPLINEAR_INLINE double bend(double m, double) const {
        return rate * (is_between(below(m)) + is_between(above(m)));
    }
    SPLINEAR_INLINE double value(double m) const {
        const double beyond = std::fabs(m) - epsilon;
        return beyond > 0.0 ? beyond : 0.0;
    }
    SPLINEAR_INLINE double gap(double alpha, double m, double c) const {
        const double beyond = std::fabs(m) - epsilon;
        const double size = std::fabs(alpha);
        const double against = beyond * (c - size);
        const double along = c * beyond + size * (std::fabs(m) + epsilon);
        const double outside = alpha * m <= 0.0 ? against : along;
        return beyond > 0.0 ? outside : epsilon * size + alpha * m;
    }
};

template <class Loss>
SPLINEAR_INLINE void slopes(const Loss& loss, const Margins& at, const double* y, RampTerms& out) {
    for (std::size_t i = 0; i < loss_rows; ++i) {
        out.slope[i] = loss.slope(at.margin[i], y[i]);
        out.bend[i] = loss.bend(at.margin[i], y[i]);
    }
}

// Rows that cost nothing have no part.
template <class Loss>
SPLINEAR_INLINE void gaps(const Loss& loss, const Margins& at, const double* alpha,
                          RampTerms& out) {
    for (std::size_t i = 0; i < loss_rows; ++i) {
        const double c = at.cost[i];
        const double gap = loss.gap(alpha[i], at.margin[i], c > 0.0 ? c : 1.0);
        out.value[i] = c * loss.value(at.margin[i]);
        out.gap[i] = c > 0.0 ? gap : 0.0;
    }
}

constexpr std::size_t lanes = 8;

template <class Loss>
SPLINEAR_INLINE double along(const Loss& loss, const Margins& at, const double* y, const double* d,
                             double t) {
    double sums[lanes] = {};
    for (std::size_t i = 0; i < loss_rows; i += lanes)
        for (std::size_t l = 0; l < lanes; ++l) {
            const std::size_t k = i + l;
            const double slope = loss.slope(at.margin[k] + t * d[k], y[k]);
            sums[l] += at.cost[k] * d[k] * slope;
        }
    double out = 0.0;
    for (const double sum : sums) out += sum;
    return out;
}

}  // namespace

SPLINEAR_CLONES void ramp_slopes(const Ramp& ramp, const Margins& at, const double* y,
                                 RampTerms& out) {
    switch (ramp.loss) {
        case RampLoss::hinge: return slopes(HingeRamp(ramp), at, y, out);
        case RampLoss::squared_hinge: return slopes(SquaredHingeRamp(ramp), at, y, out);
        case RampLoss::epsilon_insensitive: return slopes(EpsilonRamp(ramp), at, y, out);
    }
}

SPLINEAR_CLONES void ramp_gaps(const Ramp& ramp, const Margins& at, const double* alpha,
                               RampTerms& out) {
    switch (ramp.loss) {
        case RampLoss::hinge: return gaps(HingeRamp(ramp), at, alpha, out);
        case RampLoss::squared_hinge: return gaps(SquaredHingeRamp(ramp), at, alpha, out);
        case RampLoss::epsilon_insensitive: return gaps(EpsilonRamp(ramp), at, alpha, out);
    }
}

SPLINEAR_CLONES double slope_along(const Ramp& ramp, const Margins& at, const double* y,
                                   const double* d, double t) {
    switch (ramp.loss) {
        case RampLoss::hinge: return along(HingeRamp(ramp), at, y, d, t);
        case RampLoss::squared_hinge: return along(SquaredHingeRamp(ramp), at, y, d, t);
        case RampLoss::epsilon_insensitive: return along(EpsilonRamp(ramp), at, y, d, t);
    }
    return 0.0;
}

}  // namespace splinear::simd
