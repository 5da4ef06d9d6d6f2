// RowOperator for B-splines on coded rows, in single precision and by vector instructions.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "aligned.hpp"
#include "basis/bspline.hpp"
#include "norm_polynomial.hpp"
#include "parallel.hpp"
#include "penalty/any.hpp"
#include "penalty/difference.hpp"
#include "row_source.hpp"
#include "simd/dispatch.hpp"

namespace splinear {

// The same members as RowOperator, which is the reference. A feature's table is padded to a
// multiple of 16 entries; more basis functions than fit simd::max_entries are left to RowOperator.
class SplineOperator {
public:
    // The coefficients that scores are computed from; and the same in double precision where
    // differences of the rounded ones would not give the weights any more, else nothing.
    struct Tables {
        AlignedFloats single;
        std::vector<double> exact;
    };

    template <int Degree>
    static std::optional<SplineOperator> make(const CodedRows& source, const BSpline<Degree>& basis,
                                              const DifferencePenalty& penalty,
                                              std::span<const double> scale,
                                              const simd::Kernels& kernels, int n_threads) {
        const int entries = simd::padded_entries(basis.size());
        if (entries == 0) return std::nullopt;
        SplineOperator made(source.codes(), penalty, scale, kernels, n_threads);
        const int bits = Degree == 0 ? 0 : CodeGrid::fraction_bits(basis.n_bins);
        made.shape_ = {Degree, bits, penalty.order(), basis.size(), entries, scale.size()};
        made.fill_smoother();
        made.polynomial_ = norm_polynomials<Degree>(penalty, basis.n_bins, made.entries());
        return made;
    }

    Row n_rows() const noexcept { return codes_.n_rows(); }
    Row rows_per_block() const noexcept { return codes_.rows_per_block(); }
    void done_with(Row begin, Row end) const noexcept { codes_.done_with(begin, end); }

    Tables zero_tables() const {
        const std::size_t n_tiles = (shape_.n_features + simd::tile - 1) / simd::tile;
        return {AlignedFloats(n_tiles * simd::tile * entries()),
                std::vector<double>(needs_exact_tables() ? shape_.n_features * basis_size() : 0)};
    }

    Tables tables_of(std::span<const double> coef) const {
        Tables tables = zero_tables();
        for (std::size_t j = 0; j < shape_.n_features; ++j)
            std::transform(&coef[j * basis_size()], &coef[j * basis_size()] + basis_size(),
                           tables.single.data() + j * entries(),
                           [](double c) { return static_cast<float>(c); });
        if (needs_exact_tables()) tables.exact.assign(coef.begin(), coef.end());
        return tables;
    }

    // tables <- a tables + b others.
    void blend(double a, Tables& tables, double b, const Tables& others) const {
        const auto mix = [&](auto& to, const auto& from) {
            for (std::size_t k = 0; k < to.size(); ++k)
                to[k] = static_cast<std::decay_t<decltype(to[k])>>(a * to[k] + b * from[k]);
        };
        mix(tables.single, others.single);
        mix(tables.exact, others.exact);
    }

    void score(std::span<const Row> rows, const Tables& tables, double* out) const {
        const std::size_t n = is_long() ? max_rows_at_once : simd::lanes;
        in_parallel((rows.size() + n - 1) / n, rows.size(), [&](std::size_t task) {
            const std::size_t a = task * n;
            score_together(rows.subspan(a, std::min(n, rows.size() - a)), tables.single, out + a);
        });
    }

    // For degree 1 under D_1 in equal units by the kernel of minima, else by scoring.
    void gram(std::span<const Row> rows, double* out) const {
        const std::size_t m = rows.size();
        const auto codes = pointers(rows);
        if (!unit_ramp_)
            return kernels_.products ? gram_by_part(codes, out) : gram_by_score(codes, out);
        in_parallel(m, m * m / 2, [&](std::size_t a) {
            std::array<float, simd::max_team> line;
            const std::size_t left = m - a - 1;
            kernels_.min_products(shape_, codes[a], codes.data() + a + 1, left, line.data());
            for (std::size_t b = 0; b < left; ++b)
                out[a * m + a + 1 + b] = *unit_ramp_ * (static_cast<double>(line[b]) + n_varying_);
        });
    }

    // The features are divided among the threads, so every table has one writer.
    void add(std::span<const Row> rows, const double* steps, Tables& tables) const {
        const auto codes = pointers(rows);
        const std::vector<float> single(steps, steps + rows.size());
        in_parallel(n_parts(), rows.size(), [&](std::size_t p) {
            const Part part = part_at(p);
            const Pointers here = shifted(codes, part.first);
            if (needs_exact_tables()) return add_exactly(part, here, single, tables);
            kernels_.add(part.shape, smoother(), &scale_[part.first], here.data(), single.data(),
                         rows.size(), tables.single.data() + part.first * entries());
        });
    }

    // sum_a steps[a] B(x_{rows[a], j}) added to the tables, neither scaled nor smoothed.
    void sum(std::span<const Row> rows, const double* steps, Tables& tables) const {
        const auto codes = pointers(rows);
        const std::vector<float> single(steps, steps + rows.size());
        kernels_.sum(shape_, codes.data(), single.data(), rows.size(), tables.single.data());
    }

    double squared_norm(Row row) const {
        return kernels_.norm(shape_, polynomial_.data(), scale_.data(), codes_.row(row));
    }

    double squared_weight(const Tables& tables) const {
        return splinear::squared_weight(penalty_, coefficients(tables), scale_);
    }

    std::vector<double> coefficients(const Tables& tables) const {
        if (needs_exact_tables()) return tables.exact;
        std::vector<double> coef(shape_.n_features * basis_size());
        for (std::size_t j = 0; j < shape_.n_features; ++j)
            std::copy_n(tables.single.data() + j * entries(), basis_size(),
                        &coef[j * basis_size()]);
        return coef;
    }

private:
    using Pointers = std::vector<const Code*>;

    // A run of whole tiles of features, for one thread.
    struct Part {
        std::size_t first;
        simd::Shape shape;
    };
    static constexpr std::size_t features_per_part = 8 * simd::tile;
    static constexpr std::size_t max_rows_at_once = 16 * simd::lanes;
    static constexpr std::size_t long_tables_at_once = simd::tile;
    static constexpr double largest_ratio = 1 << 17;

    SplineOperator(const Codes& codes, const DifferencePenalty& penalty,
                   std::span<const double> scale, const simd::Kernels& kernels, int n_threads)
        : codes_(codes),
          penalty_(penalty),
          kernels_(kernels),
          n_threads_(n_threads),
          scale_(scale.size()) {
        for (std::size_t j = 0; j < scale.size(); ++j) scale_[j] = static_cast<float>(scale[j]);
    }

    std::size_t entries() const noexcept { return static_cast<std::size_t>(shape_.entries); }
    std::size_t basis_size() const noexcept { return static_cast<std::size_t>(shape_.n_basis); }

    bool is_long() const noexcept { return shape_.entries > simd::short_entries; }

    // Rounding moves a coefficient by about 1e-7 of itself, and a difference of order d is smaller
    // than the coefficients by about n^d.
    bool needs_exact_tables() const noexcept {
        return std::pow(shape_.n_basis, shape_.order) > largest_ratio;
    }

    // Up to max_rows_at_once rows. Long tables do not fit the nearest caches together: all rows are
    // scored by some of them before the next are read.
    void score_together(std::span<const Row> rows, const AlignedFloats& tables, double* out) const {
        std::array<const Code*, max_rows_at_once> codes;
        std::array<float, max_rows_at_once> scores;
        const std::size_t n = (rows.size() + simd::lanes - 1) / simd::lanes * simd::lanes;
        for (std::size_t a = 0; a < n; ++a) {
            codes[a] = codes_.row(rows[a < rows.size() ? a : 0]);  // the first for what is missing
            scores[a] = 0.0f;
        }
        const std::size_t step = is_long() ? long_tables_at_once : shape_.n_features;
        for (std::size_t j = 0; j < shape_.n_features; j += step) {
            const Part part = part_from(j, step);
            for (std::size_t a = 0; a < n; a += simd::lanes)
                kernels_.score(part.shape, tables.data() + j * entries(), &codes[a], &scores[a]);
            for (std::size_t a = 0; a < n; ++a) codes[a] += part.shape.n_features;
        }
        std::copy_n(scores.begin(), rows.size(), out);
    }

    // A tile of features at a time: the sums per basis function, smoothed in double precision.
    void add_exactly(const Part& all, const Pointers& codes, const std::vector<float>& steps,
                     Tables& tables) const {
        AlignedFloats sums(simd::tile * entries());
        std::vector<double> smooth(basis_size());
        for (std::size_t j = 0; j < all.shape.n_features; j += simd::tile) {
            Part part = part_from(all.first + j, simd::tile);
            part.shape.order = 0;
            std::fill(sums.begin(), sums.end(), 0.0f);
            kernels_.add(part.shape, nullptr, &scale_[part.first], shifted(codes, j).data(),
                         steps.data(), steps.size(), sums.data());
            for (std::size_t i = 0; i < part.shape.n_features; ++i) {
                std::copy_n(&sums[i * entries()], basis_size(), smooth.begin());
                penalty_.smooth(smooth.data());
                add_to_feature(part.first + i, smooth, tables);
            }
        }
    }

    void add_to_feature(std::size_t j, const std::vector<double>& change, Tables& tables) const {
        double* exact = &tables.exact[j * basis_size()];
        float* single = &tables.single[j * entries()];
        for (std::size_t k = 0; k < change.size(); ++k) {
            exact[k] += change[k];
            single[k] = static_cast<float>(exact[k]);
        }
    }

    // L_d, one padded row per basis function.
    void fill_smoother() {
        smoother_.resize((basis_size() + 1) * entries());
        std::vector<double> column(basis_size());
        for (std::size_t k = 0; k < basis_size(); ++k) {
            std::fill(column.begin(), column.end(), 0.0);
            column[k] = 1.0;
            penalty_.smooth(column.data());
            std::transform(column.begin(), column.end(), &smoother_[k * entries()],
                           [](double v) { return static_cast<float>(v); });
        }
        note_ramp();
    }

    // The kernel of minima serves degree 1 under D_1 if all features that vary weigh the same.
    void note_ramp() {
        const float largest = *std::max_element(scale_.begin(), scale_.end());
        n_varying_ = static_cast<double>(std::count(scale_.begin(), scale_.end(), largest));
        const auto constant = std::count(scale_.begin(), scale_.end(), 0.0f);
        const bool equal =
            n_varying_ + static_cast<double>(constant) == static_cast<double>(scale_.size());
        if (shape_.degree == 1 && penalty_.order() == 1 && equal && largest > 0.0f &&
            scale_.size() < simd::max_ramp)
            unit_ramp_ = static_cast<double>(largest);
    }

    // Every part of the features gives its share of all products; they are added up in order.
    void gram_by_part(const Pointers& codes, double* out) const {
        const std::size_t m = codes.size();
        std::vector<float> shares(n_parts() * m * m);
        in_parallel(n_parts(), m * m / 2, [&](std::size_t p) {
            const Part part = part_at(p);
            kernels_.products(part.shape, smoother(), &scale_[part.first],
                              shifted(codes, part.first).data(), m, &shares[p * m * m]);
        });
        std::fill_n(out, m * m, 0.0);
        for (std::size_t i = 0; i < shares.size(); ++i)
            out[i % (m * m)] += static_cast<double>(shares[i]);
    }

    // A row's product with others is their score by tables that hold that row's embedding alone.
    // One tile of features at a time, so that those tables stay in the nearest cache.
    void gram_by_score(const Pointers& codes, double* out) const {
        const std::size_t m = codes.size();
        in_parallel(m, m * m / 2, [&](std::size_t a) {
            if (a + 1 == m) return;
            AlignedFloats tables(simd::tile * entries());
            std::array<float, simd::max_team + simd::lanes> products{};
            for (std::size_t j = 0; j < shape_.n_features; j += simd::tile) {
                const simd::Shape part = part_from(j, simd::tile).shape;
                Pointers here = shifted(std::span(codes).subspan(a), j);
                here.resize(here.size() + simd::lanes, here.back());
                std::fill(tables.begin(), tables.end(), 0.0f);
                const float step = 1.0f;
                kernels_.add(part, smoother(), &scale_[j], here.data(), &step, 1, tables.data());
                for (std::size_t b = 1; b < m - a; b += simd::lanes)
                    kernels_.score(part, tables.data(), &here[b], &products[b]);
            }
            std::copy_n(&products[1], m - a - 1, out + a * m + a + 1);
        });
    }

    std::size_t n_parts() const noexcept {
        return (shape_.n_features + features_per_part - 1) / features_per_part;
    }

    Part part_at(std::size_t p) const noexcept {
        return part_from(p * features_per_part, features_per_part);
    }

    // n features, or as many as there are, from `first` on.
    Part part_from(std::size_t first, std::size_t n) const noexcept {
        Part part{first, shape_};
        part.shape.n_features = std::min(n, shape_.n_features - first);
        return part;
    }

    static Pointers shifted(std::span<const Code* const> codes, std::size_t j) {
        Pointers here(codes.begin(), codes.end());
        for (const Code*& row : here) row += j;
        return here;
    }

    // Threads only where there is work for longer than it takes to wake them.
    template <class Task>
    void in_parallel(std::size_t n_tasks, std::size_t n_rows, const Task& task) const {
        constexpr std::size_t worth_it = std::size_t{1} << 17;  // codes
        const int n = n_rows * shape_.n_features < worth_it ? 1 : n_threads_;
        parallel_for(static_cast<std::ptrdiff_t>(n_tasks), n,
                     [&](std::ptrdiff_t i) { task(static_cast<std::size_t>(i)); });
    }

    const float* smoother() const noexcept {
        return penalty_.order() == 0 ? nullptr : smoother_.data();
    }

    Pointers pointers(std::span<const Row> rows) const {
        Pointers codes;
        codes.reserve(rows.size());
        for (const Row row : rows) codes.push_back(codes_.row(row));
        return codes;
    }

    const Codes& codes_;
    DifferencePenalty penalty_;
    const simd::Kernels& kernels_;
    int n_threads_;
    simd::Shape shape_{};
    AlignedFloats smoother_;
    AlignedFloats polynomial_;
    std::vector<float> scale_;
    std::optional<double> unit_ramp_;  // the common s^2
    double n_varying_ = 0.0;
};

}  // namespace splinear
