// Variances of neighbors, and of their differences, under a tridiagonal precision.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "support/checks.hpp"
#include "support/pieces.hpp"

namespace splinear {

// Of vectors of `size` normal numbers, one for each of the matrices M_j; `solved` is M_j^{-1} u_j.
struct StepVariances {
    std::vector<double> own;
    std::vector<double> steps;  // of the differences to the number before; the first has none: 0
    std::vector<double> solved;
    bool is_definite = true;  // else the numbers mean nothing

    explicit StepVariances(std::size_t n) : own(n), steps(n), solved(n) {}
};

namespace detail {

// One matrix: pivots from both ends, as a difference of variances would have few digits.
class StepVariance {
public:
    StepVariance(const double* bands, std::size_t size, std::size_t n_bands)
        : bands_(bands), size_(size), n_bands_(n_bands), forward_(size), backward_(size) {}

    // Returns false if M is not positive definite.
    bool write(const double* u, double* own, double* steps, double* solved) {
        factor();
        bool fails = false;  // what is no number does not
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
    double beside(std::size_t k) const noexcept {
        return n_bands_ == 1 ? 0.0 : bands_[k * n_bands_ + 1];
    }

    void factor() noexcept {
        for (std::size_t k = 0, back = size_ - 1; k < size_; ++k, --back) {
            forward_[k] = diagonal(k);
            backward_[back] = diagonal(back);
            if (k == 0) continue;
            forward_[k] -= beside(k - 1) / forward_[k - 1] * beside(k - 1);  // no square: 1e300
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
    std::vector<double> forward_;
    std::vector<double> backward_;
};

}  // namespace detail

// `bands` is n x size x n_bands, of one or two bands: entry [j, k, p] stands at (k, k + p) of M_j.
// Throws std::invalid_argument for arrays of the wrong size. Threads change no bit.
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
