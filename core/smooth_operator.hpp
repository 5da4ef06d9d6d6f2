// RowOperator for Fourier and Hermite curves on coded rows, in single precision.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "aligned.hpp"
#include "basis/fourier.hpp"
#include "basis/hermite.hpp"
#include "parallel.hpp"
#include "penalty/any.hpp"
#include "penalty/diagonal.hpp"
#include "row_source.hpp"
#include "simd/kernels.hpp"

namespace splinear {

// The same members as RowOperator, which is the reference, and to which bases of more than
// simd::max_smooth functions are left.
class SmoothOperator {
public:
    using Tables = std::vector<float>;

    static std::optional<SmoothOperator> make(const CodedRows& source, const Fourier& basis,
                                              const DiagonalPenalty& penalty,
                                              std::span<const double> scale,
                                              const simd::Kernels& kernels, int n_threads) {
        if (basis.size() > simd::max_smooth) return std::nullopt;
        return SmoothOperator(source, basis.degree, penalty, scale, kernels.fourier, n_threads);
    }

    static std::optional<SmoothOperator> make(const CodedRows& source, const Hermite& basis,
                                              const DiagonalPenalty& penalty,
                                              std::span<const double> scale,
                                              const simd::Kernels& kernels, int n_threads) {
        if (basis.size() > simd::max_smooth) return std::nullopt;
        return SmoothOperator(source, basis.degree, penalty, scale, kernels.hermite, n_threads);
    }

    Row n_rows() const noexcept { return codes_.n_rows(); }
    Row rows_per_block() const noexcept { return codes_.rows_per_block(); }
    void done_with(Row begin, Row end) const noexcept { codes_.done_with(begin, end); }
    Tables zero_tables() const { return Tables(scale_.size() * size()); }
    Tables tables_of(std::span<const double> coef) const { return {coef.begin(), coef.end()}; }
    // tables <- a tables + b others.
    void blend(double a, Tables& tables, double b, const Tables& others) const {
        for (std::size_t k = 0; k < tables.size(); ++k)
            tables[k] = static_cast<float>(a * tables[k] + b * others[k]);
    }

    void score(std::span<const Row> rows, const Tables& tables, double* out) const {
        const std::size_t n_blocks = (rows.size() + simd::lanes - 1) / simd::lanes;
        const bool worth_it = rows.size() * scale_.size() > 16384;
        parallel_for(static_cast<std::ptrdiff_t>(n_blocks), worth_it ? n_threads_ : 1,
                     [&](std::ptrdiff_t block) {
                         const auto a = static_cast<std::size_t>(block) * simd::lanes;
                         const std::size_t m = std::min<std::size_t>(simd::lanes, rows.size() - a);
                         std::array<float, simd::lanes> scores{};
                         const auto codes = padded(rows.subspan(a, m));
                         kernels_.score(shape(), tables.data(), codes.data(), scores.data());
                         std::copy_n(scores.begin(), m, out + a);
                     });
    }

    void gram(std::span<const Row> rows, double* out) const {
        const std::size_t m = rows.size();
        const auto codes = padded(rows);
        std::vector<float> products(simd::max_team * simd::max_team);
        kernels_.gram(shape(), scale_.data(), codes.data(), codes.size() / simd::lanes,
                      products.data());
        for (std::size_t a = 0; a < m; ++a)
            std::copy_n(&products[a * simd::max_team], m, out + a * m);
    }

    void add(std::span<const Row> rows, const double* steps, Tables& tables) const {
        const auto codes = padded(rows);
        std::vector<float> single(codes.size(), 0.0f);
        std::transform(steps, steps + rows.size(), single.begin(),
                       [](double step) { return static_cast<float>(step); });
        for (std::size_t a = 0; a < codes.size(); a += simd::lanes)
            kernels_.add(shape(), scale_.data(), &codes[a], &single[a], tables.data());
    }

    double squared_norm(Row row) const {
        std::array<float, simd::lanes> norms{};
        const auto codes = padded(std::span(&row, 1));
        kernels_.norm(shape(), scale_.data(), codes.data(), norms.data());
        return norms[0];
    }

    double squared_weight(const Tables& tables) const {
        return splinear::squared_weight(penalty_, coefficients(tables), scale_);
    }

    std::vector<double> coefficients(const Tables& tables) const {
        return {tables.begin(), tables.end()};
    }

private:
    SmoothOperator(const CodedRows& source, int degree, const DiagonalPenalty& penalty,
                   std::span<const double> scale, const simd::SmoothKernels& kernels, int n_threads)
        : codes_(source.codes()),
          penalty_(penalty),
          degree_(degree),
          kernels_(kernels),
          n_threads_(n_threads) {
        for (std::size_t j = 0; j < scale.size(); ++j) {
            scale_.push_back(static_cast<float>(scale[j]));
            first_.push_back(static_cast<float>(source.first(j)));
            width_.push_back(static_cast<float>(source.width(j)));
        }
        std::vector<double> diagonal(static_cast<std::size_t>(penalty.size()), 1.0);
        penalty.smooth(diagonal.data());
        for (const double v : diagonal) smoother_.push_back(static_cast<float>(v));
    }

    std::size_t size() const noexcept { return smoother_.size(); }

    simd::SmoothShape shape() const noexcept {
        return {degree_,       static_cast<int>(size()), scale_.size(), first_.data(),
                width_.data(), smoother_.data()};
    }

    // Pointers to the rows; the first stands in for those missing to a multiple of 16.
    std::vector<const Code*> padded(std::span<const Row> rows) const {
        const std::size_t n = (rows.size() + simd::lanes - 1) / simd::lanes * simd::lanes;
        std::vector<const Code*> codes(n, codes_.row(rows.front()));
        for (std::size_t a = 0; a < rows.size(); ++a) codes[a] = codes_.row(rows[a]);
        return codes;
    }

    const Codes& codes_;
    DiagonalPenalty penalty_;
    int degree_;
    const simd::SmoothKernels& kernels_;
    int n_threads_;
    std::vector<float> scale_;
    std::vector<float> first_;
    std::vector<float> width_;
    std::vector<float> smoother_;
};

}  // namespace splinear
