// Posterior variances of the parts of curves: steps, bends and lines (see CurveParts).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "support/banded_blocks.hpp"
#include "support/checks.hpp"
#include "support/dot.hpp"
#include "support/pieces.hpp"

namespace splinear {

// The curves of one group, each of which is g plus b times a line. Not owned.
struct PartBlocks {
    Bands all;                               // B_j, of g: rows and penalty, n x stride
    Bands rows;                              // H_j, of the rows alone
    std::span<const std::uint8_t> used;      // n x stride
    std::span<const double> line;            // l_j, n x stride
    std::span<const double> line_precision;  // of b_j; infinite for a curve without a line
    std::span<const double> bends;           // see CurveParts, n x size x 2
    // u_j, n x stride: the coupling to the intercept, in units in which B_j becomes B_j - u_j u_j'.
    std::span<const double> u;
    std::size_t stride;
};

struct PartVariances {
    std::vector<double> steps;  // Var(d_jk) of g, n x stride; the last one of a curve with missing
                                // values is that of their deviation
    std::vector<double> bends;  // Var(e_jk), n x size
    std::vector<double> seen;   // l_j'H_j p_j, which the rows add to the precision of b_j
    std::vector<double> slope;  // p_j'u_j over the precision of b_j: how b_j follows the intercept
    std::vector<double> left;   // 1 - u_j'V_j u_j, with V_j the covariance of the coefficients
    bool is_definite = true;    // if not, the numbers are meaningless
};

namespace detail {

// Computes the variances of one curve. With p = l - B^{-1} H l and sigma the precision of b, the
// covariance of the curve's coefficients is B^{-1} + p p' / sigma. (The inverse of the matrix in
// which b has been eliminated would cancel.)
class PartVariance {
public:
    PartVariance(const PartBlocks& blocks, std::size_t size)
        : in_(blocks),
          size_(size),
          factor_(blocks.stride * blocks.all.n_bands),
          inverse_(factor_.size()),
          of_line_(blocks.stride),
          p_(blocks.stride),
          x_(blocks.stride),
          moved_(blocks.stride) {}

    // Returns false if B_j is not positive definite.
    bool write(std::size_t j, PartVariances& out) {
        return in_.all.n_bands == 3 ? write(std::integral_constant<std::size_t, 3>{}, j, out)
                                    : write(in_.all.n_bands, j, out);
    }

private:
    template <class Count>
    bool write(Count n_bands, std::size_t j, PartVariances& out) {
        const std::size_t n = in_.stride;
        const std::uint8_t* used = &in_.used[j * n];
        const double* line = &in_.line[j * n];
        const double* u = &in_.u[j * n];
        if (!factor(n_bands, &in_.all.entries[j * n * n_bands])) return false;
        invert(n_bands, used);
        multiply(&in_.rows.entries[j * n * in_.rows.n_bands], line, used);
        p_ = of_line_;
        solve(n_bands, p_.data());
        x_.assign(u, u + n);
        solve(n_bands, x_.data());
        for (std::size_t k = 0; k < n; ++k) {
            p_[k] = used[k] ? line[k] - p_[k] : 0.0;
            x_[k] = used[k] ? x_[k] : 0.0;
        }
        out.seen[j] = std::max(dot(of_line_.data(), p_.data(), n), 0.0);
        const double sigma = in_.line_precision[j] + out.seen[j];
        const double slope = out.slope[j] = dot(p_.data(), u, n) / sigma;
        for (std::size_t k = 0; k < n; ++k) x_[k] += slope * p_[k];
        const double left = out.left[j] = std::max(1.0 - dot(u, x_.data(), n), least_left);
        double* steps = &out.steps[j * n];
        double* bends = &out.bends[j * size_];
        write_own(n_bands, j, steps, bends);
        for (std::size_t k = 0; k < n; ++k) moved_[k] = p_[k] - line[k];
        add_moved(j, 1.0 / sigma, steps, bends);
        for (std::size_t k = 0; k < n; ++k) moved_[k] = x_[k] - slope * line[k];
        add_moved(j, 1.0 / left, steps, bends);
        return true;
    }

    // Factors L D L', with D^{-1} on the diagonal and L at (k + p, k) in place of (k, k + p).
    template <class Count>
    bool factor(Count n_bands, const double* bands) {
        std::copy_n(bands, factor_.size(), factor_.begin());
        bool fails = false;  // NaN does not count as a failure
        double* a = factor_.data();
        for (std::size_t k = 0; k < in_.stride; ++k, a += n_bands) {
            fails = fails || a[0] <= 0.0;
            const double inverse = 1.0 / a[0];
            const std::size_t most = std::min<std::size_t>(n_bands - 1, in_.stride - 1 - k);
            for (std::size_t p = 1; p <= most; ++p)
                for (std::size_t q = p; q <= most; ++q)
                    a[p * n_bands + q - p] -= a[p] * inverse * a[q];
            for (std::size_t p = 1; p <= most; ++p) a[p] *= inverse;
            a[0] = inverse;
        }
        return !fails;
    }

    template <class Count>
    void solve(Count n_bands, double* x) const noexcept {
        const double* a = factor_.data();
        const std::size_t n = in_.stride;
        for (std::size_t k = 0; k < n; ++k)
            for (std::size_t p = 1; p < n_bands && k + p < n; ++p)
                x[k + p] -= a[k * n_bands + p] * x[k];
        for (std::size_t k = n; k-- > 0;) {
            x[k] *= a[k * n_bands];
            for (std::size_t p = 1; p < n_bands && k + p < n; ++p)
                x[k] -= a[k * n_bands + p] * x[k + p];
        }
    }

    // The entries of B^{-1} inside its band, by Takahashi's equations; 0 where not used.
    template <class Count>
    void invert(Count n_bands, const std::uint8_t* used) noexcept {
        const std::size_t n = in_.stride;
        const auto entry = [&](std::size_t i, std::size_t k) -> double& {
            return i >= k ? inverse_[k * n_bands + i - k] : inverse_[i * n_bands + k - i];
        };
        for (std::size_t k = n; k-- > 0;) {
            const double* a = &factor_[k * n_bands];
            const std::size_t most = std::min<std::size_t>(n_bands - 1, n - 1 - k);
            for (std::size_t q = most + 1; q-- > 0;) {
                double sum = q == 0 ? a[0] : 0.0;
                for (std::size_t p = 1; p <= most; ++p) sum -= a[p] * entry(k + q, k + p);
                inverse_[k * n_bands + q] = sum;
            }
        }
        for (std::size_t k = 0; k < n; ++k)
            if (!used[k]) std::fill_n(&inverse_[k * n_bands], std::size_t{n_bands}, 0.0);
    }

    // of_line = H l, where used.
    void multiply(const double* rows, const double* line, const std::uint8_t* used) noexcept {
        const std::size_t n = in_.stride;
        const std::size_t n_bands = in_.rows.n_bands;
        const auto at = [&](std::size_t k) { return used[k] ? line[k] : 0.0; };
        for (std::size_t k = 0; k < n; ++k) of_line_[k] = rows[k * n_bands] * at(k);
        for (std::size_t p = 1; p < n_bands; ++p)
            for (std::size_t k = 0; k + p < n; ++k) {
                of_line_[k] += rows[k * n_bands + p] * at(k + p);
                of_line_[k + p] += rows[k * n_bands + p] * at(k);
            }
        for (std::size_t k = 0; k < n; ++k)
            if (!used[k]) of_line_[k] = 0.0;
    }

    // Variances of steps and bends under B^{-1}.
    template <class Count>
    void write_own(Count n_bands, std::size_t j, double* steps, double* bends) const noexcept {
        const auto V = [&](std::size_t k, std::size_t p) { return inverse_[k * n_bands + p]; };
        for (std::size_t k = 0; k < in_.stride; ++k) {
            const bool is_step = k > 0 && k < size_;
            steps[k] = is_step ? V(k, 0) + (V(k - 1, 0) - 2.0 * V(k - 1, 1)) : V(k, 0);
        }
        for (std::size_t k = 1; k + 1 < size_; ++k) {
            const double* row = &in_.bends[2 * (j * size_ + k)];
            const double before = -row[0];
            const double after = row[1];
            const double here = -before - after;
            bends[k] = before * before * V(k - 1, 0) + here * here * V(k, 0) +
                       after * after * V(k + 1, 0) + 2.0 * before * here * V(k - 1, 1) +
                       2.0 * here * after * V(k, 1) + 2.0 * before * after * V(k - 1, 2);
        }
    }

    // Adds what a curve that moves as `moved` does, with this variance, adds to those variances.
    void add_moved(std::size_t j, double variance, double* steps, double* bends) noexcept {
        const std::uint8_t* used = &in_.used[j * in_.stride];
        double before = 0.0;
        for (std::size_t k = 0; k < in_.stride; ++k) {
            const double own = moved_[k];
            const double step = used[k] ? own - (k < size_ ? before : 0.0) : 0.0;
            before = own;
            moved_[k] = step;
            steps[k] += step * step * variance;
        }
        for (std::size_t k = 0; k < size_; ++k) {
            const double* row = &in_.bends[2 * (j * size_ + k)];
            const double bend = row[0] * moved_[k] + (k + 1 < size_ ? row[1] * moved_[k + 1] : 0.0);
            bends[k] += bend * bend * variance;
        }
    }

    static constexpr double least_left = 1e-10;

    const PartBlocks& in_;
    std::size_t size_;
    std::vector<double> factor_;
    std::vector<double> inverse_;
    std::vector<double> of_line_;
    std::vector<double> p_;
    std::vector<double> x_;
    std::vector<double> moved_;
};

}  // namespace detail

// Throws std::invalid_argument for arrays of the wrong size. The result does not depend on
// n_threads.
inline PartVariances part_variances(const PartBlocks& blocks, int n_threads) {
    const std::size_t n = blocks.line_precision.size();
    const std::size_t stride = blocks.stride;
    must_be("the size of used", blocks.used.size(), n * stride);
    must_be("the size of line", blocks.line.size(), n * stride);
    must_be("the size of u", blocks.u.size(), n * stride);
    must_be("the size of the bands", blocks.all.entries.size(), n * stride * blocks.all.n_bands);
    must_be("the size of the rows", blocks.rows.entries.size(), n * stride * blocks.rows.n_bands);
    must(blocks.all.n_bands >= 3 && blocks.rows.n_bands > 0, "there must be three bands");
    const std::size_t size = n > 0 ? blocks.bends.size() / (2 * n) : 0;
    must_be("the size of bends", blocks.bends.size(), 2 * n * size);
    must(size == stride || size + 1 == stride, "bends must be of all coefficients");
    PartVariances out{std::vector<double>(n * stride), std::vector<double>(n * size),
                      std::vector<double>(n), std::vector<double>(n), std::vector<double>(n)};
    std::vector<std::uint8_t> is_definite(n);
    constexpr std::ptrdiff_t per_task = 4;
    parallel_pieces(0, static_cast<std::ptrdiff_t>(n), per_task, n_threads,
                    [&](std::ptrdiff_t first, std::ptrdiff_t last) {
                        detail::PartVariance one(blocks, size);
                        for (auto j = static_cast<std::size_t>(first);
                             j < static_cast<std::size_t>(last); ++j)
                            is_definite[j] = one.write(j, out);
                    });
    out.is_definite = std::ranges::all_of(is_definite, [](std::uint8_t is) { return is != 0; });
    return out;
}

}  // namespace splinear
