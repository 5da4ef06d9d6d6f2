// The interface between solvers and data: rows of one group of features can be scored, multiplied
// with each other, and added to a model. Solvers never see how rows are stored.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "operators/team_index.hpp"
#include "rows/row.hpp"
#include "support/aligned.hpp"

namespace splinear {

// The weights w of one group, stored as one table per curve. Each operator defines its own format:
// single precision, double precision, or both. Only the operator that made them may use them.
struct GroupTables {
    AlignedFloats single;
    std::vector<double> exact;
};

// The embedding phi of row i is the concatenation over features j of s_j T' B(x_ij). Where x_ij is
// missing, the mean basis vector takes the place of B(x_ij), and there is one more coordinate (see
// model/missing.hpp).
//
// Calls process many rows or are rare, so that virtual dispatch costs nothing. Operators refer to
// rows that somebody else owns. Const members may be called from several threads at once, with
// different tables to write to and different workspaces.
class Operator {
public:
    Operator() = default;
    Operator(const Operator&) = delete;
    Operator& operator=(const Operator&) = delete;
    virtual ~Operator() = default;

    // Scratch memory that gram() and add() of one caller share; see team_index.hpp.
    TeamIndex workspace() const { return {}; }

    // Must be called once before gram(), add() and squared_norm(); the other members do not need
    // what it computes.
    virtual void prepare() {}

    virtual Row n_rows() const noexcept = 0;

    // See blocks.hpp.
    virtual Row rows_per_block() const noexcept = 0;
    virtual void done_with(Row begin, Row end) const noexcept = 0;

    // score() is fastest for multiples of this number of rows.
    virtual Row rows_together() const noexcept { return 64; }

    // Whether scoring rows together is no faster than scoring each alone.
    virtual bool scores_one_by_one() const noexcept { return false; }

    // Whether gram() takes several times as long as score() and add() of the same rows.
    virtual bool has_expensive_products() const noexcept { return false; }

    // out[a] = w'phi_a, where phi_a is the embedding of rows[a].
    virtual void score(std::span<const Row> rows, const GroupTables& tables, double* out) const = 0;

    // out[a * m + b] = phi_a'phi_b for a < b, where m = rows.size() <= simd::max_team. Other
    // entries of out (m x m) may be overwritten.
    virtual void gram(std::span<const Row> rows, double* out, TeamIndex& team) const = 0;

    // w += sum_a steps[a] phi_a.
    virtual void add(std::span<const Row> rows, const double* steps, GroupTables& tables,
                     TeamIndex& team) const = 0;

    virtual double squared_norm(Row row) const = 0;                      // |phi|^2
    virtual double squared_weight(const GroupTables& tables) const = 0;  // |w|^2

    // Tables of w = 0, tables from coefficients, and back. Coefficients are `stride` numbers per
    // feature: those of the basis functions and, in a group with missing values, the deviation.
    virtual GroupTables zero_tables() const = 0;
    virtual GroupTables tables_of(std::span<const double> coef) const = 0;
    virtual std::vector<double> coefficients(const GroupTables& tables) const = 0;

    // tables = a * tables + b * others.
    virtual void blend(double a, GroupTables& tables, double b,
                       const GroupTables& others) const = 0;

    // Plain sums, without variance, penalty and mean. sum() adds sum_a steps[a] B(x_{rows[a], j})
    // to tables that began as zero_tables() and are used for nothing else. sums() returns what is
    // in them, `stride` numbers per feature; with missing values, the last is the sum of the steps
    // of rows in which the feature is missing.
    virtual void sum(std::span<const Row> rows, const double* steps, GroupTables& tables) const = 0;
    virtual std::vector<double> sums(const GroupTables& tables) const = 0;

    // Whether these sums are in single precision, so that only a few thousand rows should be added
    // to the same tables.
    virtual bool has_single_sums() const noexcept { return false; }

    // write_sums(p, rows, steps, out) writes the same sums, bit for bit, for part p of the features
    // only, features_per_sum() of them per part. 0 if not implemented.
    virtual std::size_t features_per_sum() const noexcept { return 0; }
    virtual void write_sums(std::size_t, std::span<const Row>, const double*, double*) const {}
};

// Operator::blend() for tables that are linear in w.
inline void blend_tables(double a, GroupTables& tables, double b, const GroupTables& others) {
    const auto mix = [&](auto& to, const auto& from) {
        for (std::size_t k = 0; k < to.size(); ++k)
            to[k] = static_cast<std::decay_t<decltype(to[k])>>(a * to[k] + b * from[k]);
    };
    mix(tables.single, others.single);
    mix(tables.exact, others.exact);
}

}  // namespace splinear
