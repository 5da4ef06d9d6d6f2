// A group of features: all of one basis, one penalty, one size of tables.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <variant>
#include <vector>

#include "model/basis/any.hpp"
#include "model/gaps.hpp"
#include "model/penalty/any.hpp"
#include "rows/row_source.hpp"

namespace splinear {

// An additive model, without its coefficients, of some of the features; and their rows.
struct Group {
    const AnyRows& rows;
    AnyBasis basis;
    AnyPenalty penalty;
    std::vector<double> scale;      // s_j^2, 0 for a feature that takes no part
    std::vector<double> mean;       // n_features x size; empty: no gaps in this group
    std::vector<double> gap_scale;  // g_j; empty without gaps

    std::size_t n_features() const noexcept { return scale.size(); }
    std::size_t size() const noexcept { return static_cast<std::size_t>(basis_size(basis)); }
    bool has_gaps() const noexcept { return !gap_scale.empty(); }
    std::size_t stride() const noexcept { return size() + (has_gaps() ? 1 : 0); }
    std::size_t n_coefficients() const noexcept { return n_features() * stride(); }
    Gaps gaps() const noexcept { return {mean, gap_scale}; }
    Row n_rows() const noexcept {
        return std::visit([](const auto& source) { return source.n_rows(); }, rows);
    }
};

using Groups = std::span<const Group* const>;

// B-splines go with differences, the others carry their penalty as weights.
template <class B, class P>
constexpr bool belong_together = std::is_same_v<P, DiagonalPenalty> ==
                                 (std::is_same_v<B, Fourier> || std::is_same_v<B, Hermite>);

// Only levels have codes of more than 16 bits.
template <class S, class B>
constexpr bool has_too_wide_codes = std::is_same_v<S, WideRows> && !std::is_same_v<B, BSpline<0>>;

// Whether codes are those of the basis: of its bins, if of any, and of gaps only if it has some.
inline bool codes_fit(const CodeGrid& grid, const Group& group) {
    if (grid.has_gaps() && !group.has_gaps()) return false;
    return std::visit(
        [&](const auto& basis) {
            if constexpr (requires { basis.n_bins; })
                return grid.span == 0.0 ||
                       (grid.span == basis.n_bins &&
                        (!grid.has_gaps() || grid.gap == group.size() << grid.fraction_bits));
            else
                return true;
        },
        group.basis);
}

// Throws std::invalid_argument for parts that do not belong together.
inline void check(const Group& group) {
    const auto must = [](bool holds, const char* what) {
        if (!holds) throw std::invalid_argument(what);
    };
    must(group.n_features() > 0, "a group must have features");
    must(group.mean.empty() == group.gap_scale.empty(), "gaps need both a mean and a scale");
    must(group.mean.empty() || group.mean.size() == group.n_features() * group.size(),
         "the mean must be n_features x size");
    must(group.gap_scale.empty() || group.gap_scale.size() == group.n_features(),
         "there must be one gap_scale per feature");
    std::visit(
        [&]<class B, class P>(const B& basis, const P& penalty) {
            must(belong_together<B, P>, "this basis does not take this penalty");
            must(penalty.size() == basis.size(), "the penalty and the basis differ in size");
        },
        group.basis, group.penalty);
    std::visit(
        [&]<class S, class B>(const S&, const B&) {
            must(!has_too_wide_codes<S, B>, "this basis does not take codes of 32 bits");
        },
        group.rows, group.basis);
    std::visit(
        [&](const auto& source) {
            if constexpr (DenseSource<std::decay_t<decltype(source)>>)
                must(source.n_features() == group.n_features(),
                     "there must be one scale per feature");
            else
                must(source.n_features() <= group.n_features(), "there is no such feature");
            if constexpr (requires { source.grid(); })
                must(codes_fit(source.grid(), group), "the codes are those of another basis");
        },
        group.rows);
}

// Checks every group, and that all have as many rows.
inline void check(Groups groups) {
    if (groups.empty()) throw std::invalid_argument("a model must have a group of features");
    for (const Group* group : groups) {
        if (group == nullptr) throw std::invalid_argument("None is no group");
        check(*group);
        if (group->n_rows() != groups.front()->n_rows())
            throw std::invalid_argument("the groups differ in their number of rows");
    }
}

inline std::size_t n_coefficients(Groups groups) noexcept {
    std::size_t total = 0;
    for (const Group* group : groups) total += group->n_coefficients();
    return total;
}

}  // namespace splinear
