// The probabilists' Hermite polynomials, without the constant function.
#pragma once

namespace splinear {

// H_1(x) = x, H_2(x) = x^2 - 1, ..., H_degree, by the recurrence H_{n+1} = x H_n - n H_{n-1}.
struct Hermite {
    int degree;

    int size() const noexcept { return degree; }
    int support() const noexcept { return size(); }

    int evaluate(double x, double* w) const noexcept {
        double before = 1.0;
        double here = x;
        w[0] = here;
        for (int n = 1; n < degree; ++n) {
            const double next = x * here - n * before;
            before = here;
            here = next;
            w[n] = here;
        }
        return 0;
    }
};

}  // namespace splinear
