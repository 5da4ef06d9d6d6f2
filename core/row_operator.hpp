// What the solver may do with the rows: score them, compare them, add them to the tables.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "basis/any.hpp"
#include "penalty/any.hpp"
#include "row_source.hpp"

namespace splinear {

// The reference: any basis, any penalty, any processor, in double precision.
//
// The embedding of row i is the concatenation over features j of s_j T' B(x_ij). The tables hold
// the coefficients in the basis, coef_j = s_j T w_j, n_features x size, so that a row scores sum_j
// coef_j' B(x_ij) and adding delta times its embedding to w adds delta s_j^2 L B(x_ij) to coef_j.
template <RowSource S, Basis B, Penalty P>
class RowOperator {
public:
    using Tables = std::vector<double>;

    // scale: s_j^2 of every feature.
    RowOperator(const S& source, B basis, P penalty, std::span<const double> scale)
        : source_(source),
          basis_(std::move(basis)),
          penalty_(std::move(penalty)),
          scale_(scale.begin(), scale.end()) {}

    Row n_rows() const noexcept { return source_.n_rows(); }
    Tables zero_tables() const { return Tables(scale_.size() * size()); }
    Tables tables_of(std::span<const double> coef) const { return {coef.begin(), coef.end()}; }
    // tables <- a tables + b others.
    void blend(double a, Tables& tables, double b, const Tables& others) const {
        for (std::size_t k = 0; k < tables.size(); ++k) tables[k] = a * tables[k] + b * others[k];
    }

    // out[a] = sum_j coef_j' B(x_{rows[a], j}).
    void score(std::span<const Row> rows, const Tables& tables, double* out) const {
        std::vector<double> w(support());
        for (std::size_t a = 0; a < rows.size(); ++a) {
            const double* coef = tables.data();
            double total = 0.0;
            for (std::size_t j = 0; j < scale_.size(); ++j, coef += size()) {
                const double* c = coef + evaluate(rows[a], j, w.data());
                for (std::size_t p = 0; p < support(); ++p) total += c[p] * w[p];
            }
            out[a] = total;
        }
    }

    // out[a * m + b] = sum_j s_j^2 B(x_{rows[a], j})' L B(x_{rows[b], j}) for a < b, m =
    // rows.size().
    void gram(std::span<const Row> rows, double* out) const {
        const std::size_t m = rows.size();
        std::fill_n(out, m * m, 0.0);
        std::vector<double> w(m * support());
        std::vector<int> start(m);
        std::vector<double> smooth(size());
        for (std::size_t j = 0; j < scale_.size(); ++j) {
            for (std::size_t a = 0; a < m; ++a) start[a] = evaluate(rows[a], j, &w[a * support()]);
            for (std::size_t b = 1; b < m; ++b) {
                std::fill(smooth.begin(), smooth.end(), 0.0);
                spread(start[b], &w[b * support()], scale_[j], smooth.data());
                penalty_.smooth(smooth.data());
                for (std::size_t a = 0; a < b; ++a) {
                    const double* s = smooth.data() + start[a];
                    for (std::size_t p = 0; p < support(); ++p)
                        out[a * m + b] += s[p] * w[a * support() + p];
                }
            }
        }
    }

    // coef_j += s_j^2 L sum_a steps[a] B(x_{rows[a], j}): one smoothing per feature, not per row.
    void add(std::span<const Row> rows, const double* steps, Tables& tables) const {
        std::vector<double> w(support());
        std::vector<double> sum(size());
        for (std::size_t j = 0; j < scale_.size(); ++j) {
            std::fill(sum.begin(), sum.end(), 0.0);
            for (std::size_t a = 0; a < rows.size(); ++a) {
                const int start = evaluate(rows[a], j, w.data());
                spread(start, w.data(), steps[a] * scale_[j], sum.data());
            }
            penalty_.smooth(sum.data());
            double* coef = tables.data() + j * size();
            for (std::size_t k = 0; k < size(); ++k) coef[k] += sum[k];
        }
    }

    // The squared length of a row's embedding.
    double squared_norm(Row row) const {
        std::vector<double> w(support());
        double total = 0.0;
        for (std::size_t j = 0; j < scale_.size(); ++j) {
            const int start = evaluate(row, j, w.data());
            total += scale_[j] * penalty_.quadratic(start, w);
        }
        return total;
    }

    // |w|^2 of the weights that the tables stand for.
    double squared_weight(const Tables& tables) const {
        return splinear::squared_weight(penalty_, tables, scale_);
    }

    // The coefficients in double precision, n_features x size.
    std::vector<double> coefficients(const Tables& tables) const { return tables; }

private:
    std::size_t size() const noexcept { return static_cast<std::size_t>(basis_.size()); }
    std::size_t support() const noexcept { return static_cast<std::size_t>(basis_.support()); }

    int evaluate(Row row, std::size_t j, double* w) const noexcept {
        return basis_.evaluate(source_.argument(row, j), w);
    }

    void spread(int start, const double* w, double factor, double* out) const noexcept {
        for (std::size_t p = 0; p < support(); ++p)
            out[static_cast<std::size_t>(start) + p] += factor * w[p];
    }

    const S& source_;
    B basis_;
    P penalty_;
    std::vector<double> scale_;
};

}  // namespace splinear
