// What the features of a group have in common: one basis, one penalty, one size of tables.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <type_traits>
#include <variant>
#include <vector>

#include "model/basis/any.hpp"
#include "model/missing.hpp"
#include "model/penalty/any.hpp"

namespace splinear {

// An additive model, without its coefficients, of some of the features.
struct GroupModel {
    AnyBasis basis;
    AnyPenalty penalty;
    std::vector<double> scale;          // s_j^2, 0 for a feature that takes no part
    std::vector<double> mean;           // n_features x size; empty: no missing values in this group
    std::vector<double> missing_scale;  // g_j; empty without missing values

    std::size_t n_features() const noexcept { return scale.size(); }
    std::size_t size() const noexcept { return static_cast<std::size_t>(basis_size(basis)); }
    std::size_t support() const noexcept {
        return std::visit([](const auto& b) { return static_cast<std::size_t>(b.support()); },
                          basis);
    }
    bool has_missing() const noexcept { return !missing_scale.empty(); }
    std::size_t stride() const noexcept { return size() + (has_missing() ? 1 : 0); }
    std::size_t n_coefficients() const noexcept { return n_features() * stride(); }
    MissingValues missing() const noexcept { return {mean, missing_scale}; }
};

template <class B>
constexpr bool is_series =
    std::is_same_v<B, Fourier> || std::is_same_v<B, Hermite> || std::is_same_v<B, Sampled>;

// B-splines go with differences, the others with weights; a matrix goes with all of them.
template <class B, class P>
constexpr bool belong_together =
    std::is_same_v<P, MatrixPenalty> || std::is_same_v<P, DiagonalPenalty> == is_series<B>;

// Throws std::invalid_argument for parts that do not belong together.
inline void check(const GroupModel& model) {
    const auto must = [](bool holds, const char* what) {
        if (!holds) throw std::invalid_argument(what);
    };
    must(model.n_features() > 0, "a group must have features");
    must(model.mean.empty() == model.missing_scale.empty(),
         "missing values need both a mean and a scale");
    must(model.mean.empty() || model.mean.size() == model.n_features() * model.size(),
         "the mean must be n_features x size");
    must(model.missing_scale.empty() || model.missing_scale.size() == model.n_features(),
         "there must be one missing_scale per feature");
    std::visit(
        [&]<class B, class P>(const B& basis, const P& penalty) {
            must(belong_together<B, P>, "this basis does not take this penalty");
            must(penalty.size() == basis.size(), "the penalty and the basis differ in size");
        },
        model.basis, model.penalty);
}

}  // namespace splinear
