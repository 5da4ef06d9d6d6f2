// Symmetric banded matrices of the same size: sums, factorizations and solutions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/checks.hpp"
#include "support/pieces.hpp"

namespace splinear {

// Symmetric matrices of the same size, stored by bands, n x size x n_bands: entry [j, k, p] is at
// (k, k + p) of matrix j. Entries with k + p >= size are ignored. Not owned.
struct Bands {
    std::span<const double> entries;
    std::size_t n_bands;
};

// blocks + penalty, with as many bands as the wider of the two, at most `most`. Entries of the
// blocks whose row or column is not used (n x size) count as 0, and the diagonal gets a 1 there, so
// that the sums can be factored. If `levels` p_j (n x size) is not empty, level_factor p_j p_j' is
// added as well.
inline std::vector<double> penalized_bands(const Bands& blocks, const Bands& penalty,
                                           std::span<const std::uint8_t> used,
                                           std::span<const double> levels, double level_factor,
                                           std::size_t size, std::size_t most, int n_threads) {
    must_be("the size of the blocks, one row per entry,", blocks.entries.size(),
            used.size() * blocks.n_bands);
    must_be("the size of the penalty, one row per entry,", penalty.entries.size(),
            used.size() * penalty.n_bands);
    must(size > 0 && used.size() % size == 0 && penalty.n_bands <= most,
         "bands must be n x size x n_bands");
    if (!levels.empty()) must_be("the number of levels' weights", levels.size(), used.size());
    const std::size_t width = std::min(most, std::max(blocks.n_bands, penalty.n_bands));
    std::vector<double> out(used.size() * width);
    const auto add_row = [&](std::size_t i) {
        double* to = &out[i * width];
        const std::size_t n = std::min(width, size - i % size);
        for (std::size_t p = 0; p < n && p < blocks.n_bands; ++p)
            if (used[i] && used[i + p]) to[p] = blocks.entries[i * blocks.n_bands + p];
        for (std::size_t p = 0; p < penalty.n_bands; ++p)
            to[p] += penalty.entries[i * penalty.n_bands + p];
        if (!used[i]) to[0] += 1.0;
        for (std::size_t p = 0; p < n && !levels.empty(); ++p)
            to[p] += level_factor * (levels[i] * levels[i + p]);
    };
    constexpr std::ptrdiff_t rows_per_task = 1024;
    parallel_pieces(0, std::ssize(used), rows_per_task, n_threads,
                    [&](std::ptrdiff_t first, std::ptrdiff_t last) {
                        for (auto i = static_cast<std::size_t>(first);
                             i < static_cast<std::size_t>(last); ++i)
                            add_row(i);
                    });
    return out;
}

// The row sums of the matrices: n x size.
inline std::vector<double> band_sums(const Bands& bands, std::size_t size, int n_threads) {
    const std::size_t n_bands = bands.n_bands;
    must(size > 0 && n_bands > 0 && bands.entries.size() % (size * n_bands) == 0,
         "the bands must be n x size x n_bands");
    std::vector<double> out(bands.entries.size() / n_bands);
    const auto add_matrix = [&](std::size_t start) {
        const double* row = &bands.entries[start * n_bands];
        for (std::size_t k = 0; k < size; ++k, row += n_bands) {
            out[start + k] += row[0];
            for (std::size_t p = 1; p < n_bands && k + p < size; ++p) {
                out[start + k] += row[p];
                out[start + k + p] += row[p];
            }
        }
    };
    constexpr std::ptrdiff_t per_task = 8;
    parallel_pieces(0, std::ssize(out) / static_cast<std::ptrdiff_t>(size), per_task, n_threads,
                    [&](std::ptrdiff_t first, std::ptrdiff_t last) {
                        for (auto j = static_cast<std::size_t>(first);
                             j < static_cast<std::size_t>(last); ++j)
                            add_matrix(j * size);
                    });
    return out;
}

// Factorizations L D L' of symmetric banded matrices, L with ones on the diagonal. Several matrices
// are solved side by side, because each step within one depends on the step before.
class BandedBlocks {
public:
    // bands: the entries of Bands. Throws std::invalid_argument if their number is wrong.
    BandedBlocks(std::vector<double> bands, std::size_t size, std::size_t n_bands,
                 int n_threads = 1)
        : size_(size), n_bands_(n_bands), factor_(std::move(bands)) {
        must(size > 0 && n_bands > 0 && factor_.size() % (size * n_bands) == 0,
             "the bands must be n x size x n_bands");
        std::vector<std::uint8_t> fails(n_blocks());
        parallel_pieces(0, std::ssize(fails), std::ptrdiff_t{together}, n_threads,
                        [&](std::ptrdiff_t first, std::ptrdiff_t last) {
                            for (auto j = static_cast<std::size_t>(first);
                                 j < static_cast<std::size_t>(last); ++j)
                                fails[j] = !factor(j);
                        });
        is_definite_ = std::ranges::none_of(fails, [](std::uint8_t failed) { return failed != 0; });
    }

    std::size_t n_blocks() const noexcept { return factor_.size() / (size_ * n_bands_); }
    std::size_t size() const noexcept { return size_; }

    // Whether all pivots are positive. If not, solve() must not be called.
    bool is_definite() const noexcept { return is_definite_; }

    // Multiplies x, `size` numbers for each of the matrices [first, last), by their inverses, in
    // place.
    void solve(std::size_t first, std::size_t last, double* x) const noexcept {
        if (n_bands_ == 2)
            solve_all(std::integral_constant<std::size_t, 2>{}, first, last, x);
        else
            solve_all(n_bands_, first, last, x);
    }

private:
    static constexpr std::size_t together = 8;  // matrices solved side by side

    // Factors matrix j in place: D^{-1} replaces its diagonal, and L at (k + p, k) the entry at
    // (k, k + p). Returns whether all pivots are positive.
    bool factor(std::size_t j) noexcept {
        bool is_definite = true;
        double* a = &factor_[j * size_ * n_bands_];
        for (std::size_t k = 0; k < size_; ++k, a += n_bands_) {
            if (a[0] <= 0.0) is_definite = false;
            const double inverse = 1.0 / a[0];
            const std::size_t most = std::min(n_bands_ - 1, size_ - 1 - k);
            for (std::size_t p = 1; p <= most; ++p)
                for (std::size_t q = p; q <= most; ++q)
                    a[p * n_bands_ + q - p] -= a[p] * inverse * a[q];
            for (std::size_t p = 1; p <= most; ++p) a[p] *= inverse;
            a[0] = inverse;
        }
        return is_definite;
    }

    template <class Bands>
    void solve_all(Bands n_bands, std::size_t first, std::size_t last, double* x) const noexcept {
        for (; first + together <= last; first += together, x += together * size_)
            solve_some(std::integral_constant<std::size_t, together>{}, n_bands, first, x);
        solve_some(last - first, n_bands, first, x);
    }

    template <class Count, class Bands>
    void solve_some(Count n, Bands n_bands, std::size_t first, double* x) const noexcept {
        const double* factor = factor_.data() + first * size_ * n_bands;
        const auto at = [&](std::size_t l, std::size_t k, std::size_t p) {
            return factor[(l * size_ + k) * n_bands + p];
        };
        for (std::size_t k = 1; k < size_; ++k)
            for (std::size_t l = 0; l < n; ++l)
                for (std::size_t p = 1; p < n_bands && p <= k; ++p)
                    x[l * size_ + k] -= at(l, k - p, p) * x[l * size_ + k - p];
        for (std::size_t k = size_; k-- > 0;)
            for (std::size_t l = 0; l < n; ++l) {
                double sum = at(l, k, 0) * x[l * size_ + k];
                for (std::size_t p = 1; p < n_bands && p < size_ - k; ++p)
                    sum -= at(l, k, p) * x[l * size_ + k + p];
                x[l * size_ + k] = sum;
            }
    }

    std::size_t size_;
    std::size_t n_bands_;
    std::vector<double> factor_;
    bool is_definite_ = true;
};

}  // namespace splinear
