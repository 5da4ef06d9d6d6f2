// The paper's invertible difference penalty |D_d a|^2, computed by running sums.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

namespace splinear {

// D_1 is n x n lower bidiagonal (1 on the diagonal, -1 below), D_d = D_1^d, and T = D_d^{-1}.
// Neither is ever stored: D_1^{-1} is a running sum from the left, D_1^{-T} one from the right.
//
// The first `held` coefficients are fixed at 0; D_d acts on the others, and all maps write 0 in
// their places.
class DifferencePenalty {
public:
    // The largest order d. The condition number of D_d grows like n^d: for d = 10 and 100 functions
    // it is 1e16, and double precision has no correct digits left.
    static constexpr int max_order = 10;

    // support: the maximum length of the vectors given to quadratic().
    DifferencePenalty(int order, int size, int support, int held = 0)
        : order_(order),
          size_(size),
          support_(support),
          held_(held),
          bands_(gram_bands(order, size, support, held)) {}

    int size() const noexcept { return size_; }
    int order() const noexcept { return order_; }
    int held() const noexcept { return held_; }
    int support() const noexcept { return support_; }

    // a = D_d^{-T} a: the paper's step A, d times.
    void embed(double* a) const noexcept {
        hold(a);
        for (int d = 0; d < order_; ++d)
            for (int i = size_ - 2; i >= held_; --i) a[i] += a[i + 1];
    }

    // a = D_d^{-1} a: the paper's step B, d times.
    void integrate(double* a) const noexcept {
        hold(a);
        for (int d = 0; d < order_; ++d)
            for (int i = held_ + 1; i < size_; ++i) a[i] += a[i - 1];
    }

    // a = L_d a with L_d = D_d^{-1} D_d^{-T}, in 2 d n additions.
    void smooth(double* a) const noexcept {
        embed(a);
        integrate(a);
    }

    // a = D_d a.
    void difference(double* a) const noexcept {
        hold(a);
        for (int d = 0; d < order_; ++d)
            for (int i = size_ - 1; i > held_; --i) a[i] -= a[i - 1];
    }

    // a = D_d' a.
    void difference_transpose(double* a) const noexcept {
        hold(a);
        for (int d = 0; d < order_; ++d)
            for (int i = held_; i < size_ - 1; ++i) a[i] -= a[i + 1];
    }

    // v'L_d v for the vector v that holds w, at most `support` numbers, from index `first` on and
    // is 0 elsewhere.
    double quadratic(int first, std::span<const double> w) const noexcept {
        double total = 0.0;
        for (std::size_t p = 0; p < w.size(); ++p) {
            const double* diagonals =
                &bands_[(static_cast<std::size_t>(first) + p) * static_cast<std::size_t>(support_)];
            double row = 0.5 * diagonals[0] * w[p];
            for (std::size_t q = p + 1; q < w.size(); ++q) row += diagonals[q - p] * w[q];
            total += w[p] * row;
        }
        return 2.0 * total;
    }

private:
    void hold(double* a) const noexcept { std::fill_n(a, held_, 0.0); }

    // bands[p * support + k] = L_d[p, p + k]. D_d^{-1} is Toeplitz with the first column
    // c_m = binomial(m + d - 1, m), so L_d[p, p + k] = sum_{m <= p - held} c_m c_{m + k} is a
    // running sum over p, and 0 for p < held.
    static std::vector<double> gram_bands(int order, int size, int support, int held) {
        std::vector<double> column(static_cast<std::size_t>(size + support), 0.0);
        column[0] = 1.0;
        for (int d = 0; d < order; ++d)
            for (std::size_t i = 1; i < column.size(); ++i) column[i] += column[i - 1];
        std::vector<double> bands(static_cast<std::size_t>(size) *
                                  static_cast<std::size_t>(support));
        for (int k = 0; k < support; ++k) {
            double sum = 0.0;
            for (int p = held; p < size; ++p) {
                sum += column[static_cast<std::size_t>(p - held)] *
                       column[static_cast<std::size_t>(p - held + k)];
                bands[static_cast<std::size_t>(p) * static_cast<std::size_t>(support) +
                      static_cast<std::size_t>(k)] = sum;
            }
        }
        return bands;
    }

    int order_;
    int size_;
    int support_;
    int held_;
    std::vector<double> bands_;  // of L_d, see gram_bands()
};

}  // namespace splinear
