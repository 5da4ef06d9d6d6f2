// What the solver may do with the rows of one group of features: score them, compare them, add them
// to the tables.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "operators/team_index.hpp"
#include "rows/row.hpp"
#include "support/aligned.hpp"

namespace splinear {

// The weights w of one group, as tables of the curves. What is in them is each operator's own
// business: numbers that scores are computed from in single precision, in double precision, or
// both.
struct GroupTables {
    AlignedFloats single;
    std::vector<double> exact;
};

// The embedding of row i is the concatenation over features j of s_j T' B(x_ij); where x_ij
// is missing it is that of the mean basis vector, and one more coordinate (see model/missing.hpp).
// All calls are about many rows, or rare, so that it costs nothing that they are virtual.
class Operator {
public:
    Operator() = default;
    Operator(const Operator&) = delete;
    Operator& operator=(const Operator&) = delete;
    virtual ~Operator() = default;

    // What gram() and add() of one caller share; see team_index.hpp.
    TeamIndex workspace() const { return {}; }

    // Makes what gram(), add() and squared_norm() need, once; passes over the rows do without.
    virtual void prepare() {}

    virtual Row n_rows() const noexcept = 0;

    // See blocks.hpp.
    virtual Row rows_per_block() const noexcept = 0;
    virtual void done_with(Row begin, Row end) const noexcept = 0;

    // Rows that are scored in about the time of one of them.
    virtual Row rows_together() const noexcept { return 64; }

    // Whether many rows take as long as each of them alone.
    virtual bool scores_one_by_one() const noexcept { return false; }

    // Whether gram() takes several times as long as score() and add() of the same rows.
    virtual bool has_dear_products() const noexcept { return false; }

    // out[a] = w'phi of row rows[a].
    virtual void score(std::span<const Row> rows, const GroupTables& tables, double* out) const = 0;

    // out[a * m + b] = phi'phi of rows[a] and rows[b] for a < b, m = rows.size(), at most
    // simd::max_team.
    virtual void gram(std::span<const Row> rows, double* out, TeamIndex& team) const = 0;

    // w += sum_a steps[a] phi of rows[a].
    virtual void add(std::span<const Row> rows, const double* steps, GroupTables& tables,
                     TeamIndex& team) const = 0;

    virtual double squared_norm(Row row) const = 0;                      // |phi|^2
    virtual double squared_weight(const GroupTables& tables) const = 0;  // |w|^2

    // Coefficients are `stride` numbers per feature: those of the basis functions and, in a group
    // with missing values, the deviation.
    virtual GroupTables zero_tables() const = 0;
    virtual GroupTables tables_of(std::span<const double> coef) const = 0;
    virtual std::vector<double> coefficients(const GroupTables& tables) const = 0;

    // tables <- a tables + b others.
    virtual void blend(double a, GroupTables& tables, double b,
                       const GroupTables& others) const = 0;

    // Plain sums, without variance, penalty and mean: sum() adds steps[a] B(x_{rows[a], j}) for
    // every row, to tables that were zero and serve for nothing else; sums() reads them, `stride`
    // numbers per feature, the last of them the steps of the missing values.
    virtual void sum(std::span<const Row> rows, const double* steps, GroupTables& tables) const = 0;
    virtual std::vector<double> sums(const GroupTables& tables) const = 0;

    // Whether these are in single precision: not many rows may be added up at once then.
    virtual bool has_single_sums() const noexcept { return false; }

    // The same, to the bit, of some features alone: of part p, so many as features_per_sum(). None:
    // they are not to be had alone.
    virtual std::size_t features_per_sum() const noexcept { return 0; }
    virtual void write_sums(std::size_t, std::span<const Row>, const double*, double*) const {}
};

inline void blend_tables(double a, GroupTables& tables, double b, const GroupTables& others) {
    const auto mix = [&](auto& to, const auto& from) {
        for (std::size_t k = 0; k < to.size(); ++k)
            to[k] = static_cast<std::decay_t<decltype(to[k])>>(a * to[k] + b * from[k]);
    };
    mix(tables.single, others.single);
    mix(tables.exact, others.exact);
}

}  // namespace splinear
