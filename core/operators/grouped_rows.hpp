// The rows of all groups of features together: the solver's view of the data.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "operators/make_operator.hpp"
#include "operators/operator.hpp"
#include "rows/group.hpp"

namespace splinear {

// The embedding of a row is the concatenation of its embeddings in the groups. The members are
// those of Operator, with one GroupTables and one workspace per group.
class GroupedRows {
public:
    using Tables = std::vector<GroupTables>;
    using Workspace = std::vector<TeamIndex>;

    // The groups must outlive this. Throws std::invalid_argument if they do not fit together.
    GroupedRows(Groups groups, int n_threads) {
        check(groups);
        for (const Group* group : groups) {
            operators_.push_back(make_operator(*group, n_threads));
            n_coefficients_.push_back(group->n_coefficients());
        }
    }

    Row n_rows() const noexcept { return operators_.front()->n_rows(); }
    Row rows_per_block() const noexcept {
        Row least = operators_.front()->rows_per_block();
        for (const auto& one : operators_) least = std::min(least, one->rows_per_block());
        return least;
    }
    void done_with(Row begin, Row end) const noexcept {
        for (const auto& one : operators_) one->done_with(begin, end);
    }

    bool scores_one_by_one() const noexcept {
        return std::ranges::all_of(operators_,
                                   [](const auto& o) { return o->scores_one_by_one(); });
    }

    bool has_expensive_products() const noexcept {
        return std::ranges::any_of(operators_,
                                   [](const auto& o) { return o->has_expensive_products(); });
    }

    void score(std::span<const Row> rows, const Tables& tables, double* out) const {
        operators_.front()->score(rows, tables.front(), out);
        add_others(rows.size(), out, [&](std::size_t g, double* share) {
            operators_[g]->score(rows, tables[g], share);
        });
    }

    Workspace workspace() const { return Workspace(operators_.size()); }

    void gram(std::span<const Row> rows, double* out, Workspace& workspace) const {
        operators_.front()->gram(rows, out, workspace.front());
        add_others(rows.size() * rows.size(), out, [&](std::size_t g, double* share) {
            operators_[g]->gram(rows, share, workspace[g]);
        });
    }

    void add(std::span<const Row> rows, const double* steps, Tables& tables,
             Workspace& workspace) const {
        for (std::size_t g = 0; g < operators_.size(); ++g)
            operators_[g]->add(rows, steps, tables[g], workspace[g]);
    }

    double squared_norm(Row row) const {
        double total = 0.0;
        for (const auto& one : operators_) total += one->squared_norm(row);
        return total;
    }

    double squared_weight(const Tables& tables) const {
        double total = 0.0;
        for (std::size_t g = 0; g < operators_.size(); ++g)
            total += operators_[g]->squared_weight(tables[g]);
        return total;
    }

    Tables zero_tables() const {
        Tables tables;
        for (const auto& one : operators_) tables.push_back(one->zero_tables());
        return tables;
    }

    // coef: the coefficients of all groups, group after group.
    Tables tables_of(std::span<const double> coef) const {
        Tables tables;
        for (std::size_t g = 0; g < operators_.size(); ++g) {
            tables.push_back(operators_[g]->tables_of(coef.first(n_coefficients_[g])));
            coef = coef.subspan(n_coefficients_[g]);
        }
        return tables;
    }

    std::vector<double> coefficients(const Tables& tables) const {
        std::vector<double> coef;
        for (std::size_t g = 0; g < operators_.size(); ++g) {
            const std::vector<double> own = operators_[g]->coefficients(tables[g]);
            coef.insert(coef.end(), own.begin(), own.end());
        }
        return coef;
    }

    // tables = a * tables + b * others.
    void blend(double a, Tables& tables, double b, const Tables& others) const {
        for (std::size_t g = 0; g < operators_.size(); ++g)
            operators_[g]->blend(a, tables[g], b, others[g]);
    }

private:
    // Adds the n numbers that compute(g, share) writes to `share` to out, for all groups but the
    // first.
    template <class Compute>
    void add_others(std::size_t n, double* out, const Compute& compute) const {
        if (operators_.size() == 1) return;
        std::vector<double> share(n);
        for (std::size_t g = 1; g < operators_.size(); ++g) {
            compute(g, share.data());
            for (std::size_t k = 0; k < n; ++k) out[k] += share[k];
        }
    }

    std::vector<std::unique_ptr<Operator>> operators_;
    std::vector<std::size_t> n_coefficients_;
};

}  // namespace splinear
