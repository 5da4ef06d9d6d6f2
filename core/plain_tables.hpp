// Tables in double precision: what the operators that use no vector instructions share.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "basis/any.hpp"
#include "penalty/any.hpp"

namespace splinear {

// The embedding of row i is the concatenation over features j of s_j T' B(x_ij). The tables hold
// the coefficients in the basis, coef_j = s_j T w_j, n_features x size, so that a row scores sum_j
// coef_j' B(x_ij) and adding delta times its embedding to w adds delta s_j^2 L B(x_ij) to coef_j.
template <Basis B, Penalty P>
class PlainTables {
public:
    using Tables = std::vector<double>;

    // scale: s_j^2 of every feature.
    PlainTables(B basis, P penalty, std::span<const double> scale)
        : basis_(std::move(basis)),
          penalty_(std::move(penalty)),
          scale_(scale.begin(), scale.end()) {}

    Tables zero_tables() const { return Tables(scale_.size() * size()); }
    Tables tables_of(std::span<const double> coef) const { return {coef.begin(), coef.end()}; }
    // tables <- a tables + b others.
    void blend(double a, Tables& tables, double b, const Tables& others) const {
        for (std::size_t k = 0; k < tables.size(); ++k) tables[k] = a * tables[k] + b * others[k];
    }

    // |w|^2 of the weights that the tables stand for.
    double squared_weight(const Tables& tables) const {
        return splinear::squared_weight(penalty_, tables, scale_);
    }

    // The coefficients in double precision, n_features x size.
    std::vector<double> coefficients(const Tables& tables) const { return tables; }

protected:
    std::size_t size() const noexcept { return static_cast<std::size_t>(basis_.size()); }
    std::size_t support() const noexcept { return static_cast<std::size_t>(basis_.support()); }

    // sum_p coef[p] w[p] over the functions that are not zero.
    double product(const double* coef, const double* w) const noexcept {
        double total = 0.0;
        for (std::size_t p = 0; p < support(); ++p) total += coef[p] * w[p];
        return total;
    }

    void spread(int start, const double* w, double factor, double* out) const noexcept {
        for (std::size_t p = 0; p < support(); ++p)
            out[static_cast<std::size_t>(start) + p] += factor * w[p];
    }

    B basis_;
    P penalty_;
    std::vector<double> scale_;
};

}  // namespace splinear
