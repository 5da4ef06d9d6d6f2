// A group of features with the rows it is fitted to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>
#include <variant>

#include "model/group.hpp"
#include "rows/any_rows.hpp"
#include "rows/blocks.hpp"
#include "support/checks.hpp"

namespace splinear {

// Does not own the rows, which must outlive it.
struct Group : GroupModel {
    const AnyRows& rows;

    Row n_rows() const noexcept {
        return std::visit([](const auto& source) { return source.n_rows(); }, rows);
    }
};

using Groups = std::span<const Group* const>;

// Only degree 0, i.e. levels of categories, supports codes of more than 16 bits.
template <class S, class B>
constexpr bool has_too_wide_codes = std::is_same_v<S, WideRows> && !std::is_same_v<B, BSpline<0>>;

// Whether the codes are those of the group's basis: the same bins, if it has bins, and missing
// values only if the group supports them. Other codes would be read from beyond the tables.
inline bool codes_fit(const CodeGrid& grid, const Group& group) {
    if (grid.has_missing() && !group.has_missing()) return false;
    return std::visit(
        [&](const auto& basis) {
            if constexpr (requires { basis.n_bins; }) {
                const std::size_t behind_all = group.size() << grid.fraction_bits;
                const bool same_code = !grid.has_missing() || grid.missing_code == behind_all;
                const bool is_flat = std::is_same_v<std::decay_t<decltype(basis)>, BSpline<0>>;
                return grid.span == basis.n_bins && is_flat == (grid.rounding == 0.0) && same_code;
            } else {
                return true;
            }
        },
        group.basis);
}

// Throws std::invalid_argument if model and rows do not fit together.
inline void check(const Group& group) {
    check(static_cast<const GroupModel&>(group));
    std::visit(
        [&]<class S, class B>(const S&, const B&) {
            must(!has_too_wide_codes<S, B>, "this basis does not take codes of 32 bits");
        },
        group.rows, group.basis);
    std::visit(
        [&](const auto& source) {
            if constexpr (DenseSource<std::decay_t<decltype(source)>>)
                must_be("the number of variances, one per feature of the rows,", group.n_features(),
                        source.n_features());
            else
                must(source.n_features() <= group.n_features(),
                     "the rows have features that the group does not have");
            if constexpr (requires { source.grid(); })
                must(codes_fit(source.grid(), group), "the codes are those of another basis");
        },
        group.rows);
}

// Checks every group, and that all have the same number of rows.
inline void check(Groups groups) {
    must(!groups.empty(), "a model must have a group of features");
    for (const Group* group : groups) {
        must(group != nullptr, "None is no group");
        check(*group);
        must_be("the number of rows, the same in all groups,", index(group->n_rows()),
                index(groups.front()->n_rows()));
    }
}

// The rows of all groups, with the members that read_in_order() needs.
struct RowsOfAll {
    Groups groups;

    Row n_rows() const noexcept { return groups.front()->n_rows(); }
    Row rows_per_block() const noexcept {
        Row least = std::max<Row>(n_rows(), 1);
        for (const Group* group : groups)
            least = std::min(
                least, std::visit([](const auto& rows) { return splinear::rows_per_block(rows); },
                                  group->rows));
        return least;
    }
    void done_with(Row begin, Row end) const noexcept {
        for (const Group* group : groups)
            std::visit([&](const auto& rows) { splinear::done_with(rows, begin, end); },
                       group->rows);
    }
};

// The number of coefficients of all groups.
inline std::size_t n_coefficients(Groups groups) noexcept {
    std::size_t total = 0;
    for (const Group* group : groups) total += group->n_coefficients();
    return total;
}

}  // namespace splinear
