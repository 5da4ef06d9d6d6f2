// A group of features with the same basis, the same penalty and tables of the same size.
#pragma once

#include <cstddef>
#include <type_traits>
#include <variant>
#include <vector>

#include "model/basis/any.hpp"
#include "model/missing.hpp"
#include "model/penalty/any.hpp"
#include "support/checks.hpp"

namespace splinear {

// An additive model of some of the features, without its coefficients. Parameters and tables of a
// feature have `stride` numbers: `size` coefficients, and one more if there are missing values.
struct GroupModel {
    AnyBasis basis;
    AnyPenalty penalty;
    std::vector<double> variance;          // s_j^2; 0: the curve is fixed at 0
    std::vector<double> mean;              // m_j, n_features x size; empty: no missing values
    std::vector<double> missing_variance;  // g_j; empty: no missing values

    std::size_t n_features() const noexcept { return variance.size(); }
    std::size_t size() const noexcept { return static_cast<std::size_t>(basis_size(basis)); }
    std::size_t support() const noexcept {
        return std::visit([](const auto& b) { return static_cast<std::size_t>(b.support()); },
                          basis);
    }
    bool has_missing() const noexcept { return !missing_variance.empty(); }
    std::size_t stride() const noexcept { return size() + (has_missing() ? 1 : 0); }
    std::size_t n_coefficients() const noexcept { return n_features() * stride(); }
    MissingValues missing() const noexcept { return {mean, missing_variance}; }
};

// Bases of which all functions are nonzero everywhere.
template <class B>
constexpr bool is_series =
    std::is_same_v<B, Fourier> || std::is_same_v<B, Hermite> || std::is_same_v<B, Sampled>;

// Difference penalties require B-splines, diagonal ones a series; a matrix works with any basis.
template <class B, class P>
constexpr bool belong_together =
    std::is_same_v<P, MatrixPenalty> || std::is_same_v<P, DiagonalPenalty> == is_series<B>;

// Throws std::invalid_argument if the parts of a model do not fit together.
inline void check(const GroupModel& model) {
    must(model.n_features() > 0, "a group must have features");
    must(model.mean.empty() == model.missing_variance.empty(),
         "missing values need both a mean and a variance");
    if (model.has_missing()) {
        must_be("the size of mean, n_features x size,", model.mean.size(),
                model.n_features() * model.size());
        must_be("the number of missing_variance, one per feature,", model.missing_variance.size(),
                model.n_features());
    }
    std::visit(
        [&]<class B, class P>(const B& basis, const P& penalty) {
            must(belong_together<B, P>, "this basis does not take this penalty");
            must_be("the size of the penalty, that of the basis,",
                    static_cast<std::size_t>(penalty.size()), model.size());
            if constexpr (requires { penalty.support(); })
                must(penalty.support() >= basis.support(),
                     "more functions of the basis are non-zero at once than the penalty is for");
        },
        model.basis, model.penalty);
}

}  // namespace splinear
