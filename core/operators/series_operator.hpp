// The operator for Fourier and Hermite curves on coded rows: vector kernels in single precision.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "model/basis/fourier.hpp"
#include "model/basis/hermite.hpp"
#include "model/penalty/any.hpp"
#include "model/penalty/diagonal.hpp"
#include "operators/operator.hpp"
#include "rows/any_rows.hpp"
#include "simd/kernels.hpp"
#include "support/aligned.hpp"
#include "support/pieces.hpp"

namespace splinear {

// RowOperator is the reference; it also serves bases of more than simd::max_series functions and
// groups with missing values.
class SeriesOperator final : public Operator {
public:
    // Null if the basis has more than simd::max_series functions.
    static std::unique_ptr<SeriesOperator> make(const CodedRows& source, const Fourier& basis,
                                                const DiagonalPenalty& penalty,
                                                std::span<const double> variance,
                                                const simd::Kernels& kernels, int n_threads) {
        if (basis.size() > simd::max_series) return nullptr;
        return std::unique_ptr<SeriesOperator>(new SeriesOperator(
            source, basis.degree, penalty, variance, kernels.fourier, n_threads));
    }

    static std::unique_ptr<SeriesOperator> make(const CodedRows& source, const Hermite& basis,
                                                const DiagonalPenalty& penalty,
                                                std::span<const double> variance,
                                                const simd::Kernels& kernels, int n_threads) {
        if (basis.size() > simd::max_series) return nullptr;
        return std::unique_ptr<SeriesOperator>(new SeriesOperator(
            source, basis.degree, penalty, variance, kernels.hermite, n_threads));
    }

    Row n_rows() const noexcept override { return n_rows_; }
    Row rows_per_block() const noexcept override { return codes_.rows_per_block(); }
    void done_with(Row begin, Row end) const noexcept override { codes_.done_with(begin, end); }
    GroupTables zero_tables() const override {
        return {AlignedFloats(variance_.size() * size()), {}};
    }
    GroupTables tables_of(std::span<const double> coef) const override {
        return {AlignedFloats(coef.begin(), coef.end()), {}};
    }
    void blend(double a, GroupTables& tables, double b, const GroupTables& others) const override {
        blend_tables(a, tables, b, others);
    }

    void score(std::span<const Row> rows, const GroupTables& tables, double* out) const override {
        const bool worth_it = rows.size() * variance_.size() > 16384;
        parallel_pieces(0, std::ssize(rows), simd::lanes, worth_it ? n_threads_ : 1,
                        [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
                            const std::size_t m = index(end - begin);
                            std::array<float, simd::lanes> scores{};
                            const auto codes = padded(rows.subspan(index(begin), m));
                            kernels_.score(shape(), tables.single.data(), codes.data(),
                                           scores.data());
                            std::copy_n(scores.begin(), m, out + begin);
                        });
    }

    void gram(std::span<const Row> rows, double* out, TeamIndex&) const override {
        const std::size_t m = rows.size();
        const auto codes = padded(rows);
        std::vector<float> products(simd::max_team * simd::max_team);
        kernels_.gram(shape(), variance_.data(), codes.data(), codes.size() / simd::lanes,
                      products.data());
        for (std::size_t a = 0; a < m; ++a)
            std::copy_n(&products[a * simd::max_team], m, out + a * m);
    }

    void add(std::span<const Row> rows, const double* steps, GroupTables& tables,
             TeamIndex&) const override {
        add_scaled(rows, steps, variance_.data(), smoother_.data(), tables);
    }

    double squared_norm(Row row) const override {
        std::array<float, simd::lanes> norms{};
        const auto codes = padded(std::span(&row, 1));
        kernels_.norm(shape(), variance_.data(), codes.data(), norms.data());
        return norms[0];
    }

    double squared_weight(const GroupTables& tables) const override {
        return splinear::squared_weight(penalty_, coefficients(tables), size(), variance_);
    }

    std::vector<double> coefficients(const GroupTables& tables) const override {
        return {tables.single.begin(), tables.single.end()};
    }

    void sum(std::span<const Row> rows, const double* steps, GroupTables& tables) const override {
        add_scaled(rows, steps, ones_.data(), ones_.data(), tables);
    }

    bool has_single_sums() const noexcept override { return true; }
    std::vector<double> sums(const GroupTables& tables) const override {
        return coefficients(tables);
    }

private:
    SeriesOperator(const CodedRows& source, int degree, const DiagonalPenalty& penalty,
                   std::span<const double> variance, const simd::SeriesKernels& kernels,
                   int n_threads)
        : codes_(source.codes()),
          n_rows_(source.n_rows()),
          penalty_(penalty),
          degree_(degree),
          kernels_(kernels),
          n_threads_(n_threads) {
        for (std::size_t j = 0; j < variance.size(); ++j) {
            variance_.push_back(static_cast<float>(variance[j]));
            first_.push_back(static_cast<float>(source.first(j)));
            width_.push_back(static_cast<float>(source.width(j)));
        }
        std::vector<double> diagonal(static_cast<std::size_t>(penalty.size()), 1.0);
        penalty.smooth(diagonal.data());
        for (const double v : diagonal) smoother_.push_back(static_cast<float>(v));
        ones_.assign(std::max(variance_.size(), smoother_.size()), 1.0f);
    }

    std::size_t size() const noexcept { return smoother_.size(); }

    simd::SeriesShape shape() const noexcept {
        return {degree_,       static_cast<int>(size()), variance_.size(), first_.data(),
                width_.data(), smoother_.data()};
    }

    // Adds steps[a] variance[j] smoother[k] B_k(x_{rows[a], j}) to the tables.
    void add_scaled(std::span<const Row> rows, const double* steps, const float* variance,
                    const float* smoother, GroupTables& tables) const {
        const auto codes = padded(rows);
        std::vector<float> single(codes.size(), 0.0f);
        std::transform(steps, steps + rows.size(), single.begin(),
                       [](double step) { return static_cast<float>(step); });
        simd::SeriesShape how = shape();
        how.smoother = smoother;
        for (std::size_t a = 0; a < codes.size(); a += simd::lanes)
            kernels_.add(how, variance, &codes[a], &single[a], tables.single.data());
    }

    // Pointers to the rows, padded to a multiple of simd::lanes with the first one.
    std::vector<const Code*> padded(std::span<const Row> rows) const {
        const std::size_t n = whole_pieces(rows.size(), std::size_t{simd::lanes});
        std::vector<const Code*> codes(n, codes_.row(rows.front()));
        for (std::size_t a = 0; a < rows.size(); ++a) codes[a] = codes_.row(rows[a]);
        return codes;
    }

    const Codes& codes_;
    Row n_rows_;
    DiagonalPenalty penalty_;
    int degree_;
    const simd::SeriesKernels& kernels_;
    int n_threads_;
    std::vector<float> variance_;  // s_j^2
    std::vector<float> first_;     // argument of code 0, per feature
    std::vector<float> width_;     // change of the argument per code
    std::vector<float> smoother_;  // the diagonal of L
    std::vector<float> ones_;      // replaces variance_ and smoother_ in plain sums
};

}  // namespace splinear
