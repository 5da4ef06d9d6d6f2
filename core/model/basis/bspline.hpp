// Uniform B-splines of degree 0 to 3.
#pragma once

namespace splinear {

// B-splines on n_bins bins of width 1 over [0, n_bins]: n_bins + Degree functions, of which
// Degree + 1 are nonzero at any t. At t = bin + a these have the indices bin, ..., bin + Degree and
// the values B_0(a), ..., B_Degree(a), which sum to 1.
template <int Degree>
struct BSpline {
    static_assert(0 <= Degree && Degree <= 3);

    int n_bins;

    int size() const noexcept { return n_bins + Degree; }
    static constexpr int support() noexcept { return Degree + 1; }

    // Writes B_0(a), ..., B_Degree(a) for a fraction a in [0, 1].
    static void weights(double a, double* w) noexcept {
        if constexpr (Degree == 0) {
            (void)a;
            w[0] = 1.0;
        } else if constexpr (Degree == 1) {
            w[0] = 1.0 - a;
            w[1] = a;
        } else if constexpr (Degree == 2) {
            const double left = 1.0 - a;
            w[0] = 0.5 * left * left;
            w[2] = 0.5 * a * a;
            w[1] = 1.0 - w[0] - w[2];
        } else {
            const double left = 1.0 - a;
            w[0] = left * left * left / 6.0;
            w[1] = 2.0 / 3.0 - a * a * (1.0 - 0.5 * a);
            w[3] = a * a * a / 6.0;
            w[2] = 1.0 - w[0] - w[1] - w[3];
        }
    }

    // Writes the nonzero values at t in [0, n_bins] and returns the index of the first, which is
    // valid for any t, even NaN.
    int evaluate(double t, double* w) const noexcept {
        const int last = n_bins - 1;
        const int bin = !(t > 0.0) ? 0 : t < last ? static_cast<int>(t) : last;
        weights(t - bin, w);
        return bin;
    }
};

}  // namespace splinear
