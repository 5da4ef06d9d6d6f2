// Variances of the entries of normal vectors, and of differences of neighbors, given tridiagonal
// precision matrices.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "support/checks.hpp"
#include "support/pieces.hpp"

namespace splinear {

// For vectors x_j with covariance M_j^{-1}; all arrays are n x size.
struct StepVariances {
    std::vector<double> own;     // Var(x_jk)
    std::vector<double> steps;   // Var(x_jk - x_j,k-1); 0 for k = 0
    std::vector<double> solved;  // M_j^{-1} u_j
    bool is_definite = true;     // if not, the numbers are meaningless

    explicit StepVariances(std::size_t n) : own(n), steps(n), solved(n) {}
};

namespace detail {

// Computes the variances for one matrix, from the pivots of eliminations from both ends. The
// variance of a step as a difference of variances and covariances would cancel.
class StepVariance {
public:
    StepVariance(const double* bands, std::size_t size, std::size_t n_bands)
        : bands_(bands), size_(size), n_bands_(n_bands), forward_(size), backward_(size) {}

    // Returns false if M is not positive definite.
    bool write(const double* u, double* own, double* steps, double* solved) {
        factor();
        bool fails = false;  // NaN does not count as a failure
        for (std::size_t k = 0; k < size_; ++k) {
            fails = fails || forward_[k] <= 0.0 || backward_[k] <= 0.0;
            own[k] = 1.0 / (forward_[k] + backward_[k] - diagonal(k));
            if (k == 0) continue;
            const double before = forward_[k - 1];
            const double ratio = beside(k - 1) / before;
            const double left = backward_[k] - ratio * beside(k - 1);
            fails = fails || left <= 0.0;
            steps[k] = (1.0 + backward_[k] / before + 2.0 * ratio) / left;
        }
        solve(u, solved);
        return !fails;
    }

private:
    double diagonal(std::size_t k) const noexcept { return bands_[k * n_bands_]; }
    // The entry at (k, k + 1).
    double beside(std::size_t k) const noexcept {
        return n_bands_ == 1 ? 0.0 : bands_[k * n_bands_ + 1];
    }

    void factor() noexcept {
        for (std::size_t k = 0, back = size_ - 1; k < size_; ++k, --back) {
            forward_[k] = diagonal(k);
            backward_[back] = diagonal(back);
            if (k == 0) continue;
            // In this order of operations, squares of large entries do not overflow.
            forward_[k] -= beside(k - 1) / forward_[k - 1] * beside(k - 1);
            backward_[back] -= beside(back) / backward_[back + 1] * beside(back);
        }
    }

    void solve(const double* u, double* x) const noexcept {
        for (std::size_t k = 0; k < size_; ++k)
            x[k] = k == 0 ? u[k] : u[k] - beside(k - 1) / forward_[k - 1] * x[k - 1];
        for (std::size_t k = size_; k-- > 0;)
            x[k] = (k + 1 < size_ ? x[k] - beside(k) * x[k + 1] : x[k]) / forward_[k];
    }

    const double* bands_;
    std::size_t size_;
    std::size_t n_bands_;
    std::vector<double> forward_;   // pivots of the elimination from the first row on
    std::vector<double> backward_;  // pivots of the elimination from the last row on
};

}  // namespace detail

// bands: n x size x n_bands with one or two bands; entry [j, k, p] is M_j at (k, k + p). u: n x
// size. Throws std::invalid_argument for arrays of the wrong size. The result does not depend on
// n_threads.
inline StepVariances step_variances(std::span<const double> bands, std::size_t size,
                                    std::size_t n_bands, std::span<const double> u, int n_threads) {
    must(n_bands == 1 || n_bands == 2, "the matrices must be tridiagonal");
    must_be("the size of the bands", bands.size(), u.size() * n_bands);
    must(size > 0 && u.size() % size == 0, "u must be of all numbers");
    StepVariances out(u.size());
    const auto n = static_cast<std::ptrdiff_t>(u.size() / size);
    std::vector<std::uint8_t> is_definite(u.size() / size);
    constexpr std::ptrdiff_t per_task = 4;
    parallel_pieces(0, n, per_task, n_threads, [&](std::ptrdiff_t first, std::ptrdiff_t last) {
        for (auto j = static_cast<std::size_t>(first); j < static_cast<std::size_t>(last); ++j) {
            detail::StepVariance one(bands.data() + j * size * n_bands, size, n_bands);
            is_definite[j] = one.write(&u[j * size], &out.own[j * size], &out.steps[j * size],
                                       &out.solved[j * size]);
        }
    });
    out.is_definite = std::ranges::all_of(is_definite, [](std::uint8_t is) { return is != 0; });
    return out;
}

}  // namespace splinear
