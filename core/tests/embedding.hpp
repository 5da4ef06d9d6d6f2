// Explicit embeddings, which operators never compute, for tests that compare with them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "operators/operator.hpp"
#include "rows/group.hpp"
#include "support/random.hpp"
#include "tests/check.hpp"

namespace splinear::testing {

using Vectors = std::vector<std::vector<double>>;

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

inline double drawn(Random& random) { return static_cast<double>(random.next() >> 11) * 0x1p-53; }

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// For every feature of a row, its basis vector and 1 if it is missing, else 0: size + 1 numbers.
inline std::vector<double> raw_row(const Group& group, Row i) {
    std::vector<double> out(group.n_features() * (group.size() + 1));
    std::visit(
        [&](const auto& source, const auto& basis) {
            std::vector<double> w(static_cast<std::size_t>(basis.support()));
            source.for_each(i, [&](std::size_t j, double x) {
                double* part = &out[j * (group.size() + 1)];
                if (std::isnan(x)) {
                    part[group.size()] = 1.0;
                    return;
                }
                const int start = basis.evaluate(x, w.data());
                std::copy(w.begin(), w.end(), part + start);
            });
        },
        group.rows, group.basis);
    return out;
}

// Per feature (s_j T'B(x_ij), 0), or (s_j T'm_j, sqrt(g_j)) at a missing value.
inline std::vector<double> embedding(const Group& group, Row i) {
    const std::vector<double> raw = raw_row(group, i);
    const std::size_t size = group.size();
    std::vector<double> phi;
    for (std::size_t j = 0; j < group.n_features(); ++j) {
        const double* from = &raw[j * (size + 1)];
        const bool is_missing = from[size] != 0.0;
        std::vector<double> part(from, from + size);
        if (is_missing) std::copy_n(&group.mean[j * size], size, part.begin());
        std::visit([&](const auto& penalty) { penalty.embed(part.data()); }, group.penalty);
        for (const double v : part) phi.push_back(std::sqrt(group.variance[j]) * v);
        phi.push_back(is_missing ? std::sqrt(group.missing_variance[j]) : 0.0);
    }
    return phi;
}

inline Vectors embeddings(const Group& group) {
    Vectors phi;
    for (Row i = 0; i < group.n_rows(); ++i) phi.push_back(embedding(group, i));
    return phi;
}

// Compares all that an operator or GroupedRows computes with the embeddings. Rows has the members
// of Operator except for sum() and sums().
template <class Rows>
void agrees_with(const Rows& rows, const Vectors& phi, double tolerance) {
    const auto n = phi.size();
    CHECK(static_cast<std::size_t>(rows.n_rows()) == n);
    Random random(11);
    std::vector<Row> all(n), team;
    std::iota(all.begin(), all.end(), 0);
    for (std::size_t a = 0; a < 33; ++a) team.push_back(static_cast<Row>((a * 7 + 3) % n));
    const std::size_t m = team.size();
    const auto of = [&](std::size_t a) -> const std::vector<double>& {
        return phi[static_cast<std::size_t>(team[a])];
    };
    std::vector<double> found(m * m), expected(m * m);
    auto workspace = rows.workspace();
    rows.gram(team, found.data(), workspace);
    for (std::size_t a = 0; a < m; ++a)
        for (std::size_t b = 0; b < m; ++b) {
            if (b <= a) found[a * m + b] = 0.0;  // only entries with b > a are defined
            expected[a * m + b] = b <= a ? 0.0 : dot(of(a), of(b));
        }
    CHECK(difference(found, expected) < tolerance);

    found.assign(n, 0.0);
    expected.assign(n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
        found[i] = rows.squared_norm(static_cast<Row>(i));
        expected[i] = dot(phi[i], phi[i]);
    }
    CHECK(difference(found, expected) < tolerance);

    auto tables = rows.zero_tables();
    std::vector<double> w(phi[0].size()), steps(m);
    for (const std::size_t k : {m, std::size_t{1}, std::size_t{17}}) {
        for (double& step : steps) step = drawn(random) - 0.5;
        rows.add(std::span(team).first(k), steps.data(), tables, workspace);
        for (std::size_t a = 0; a < k; ++a)
            for (std::size_t e = 0; e < w.size(); ++e) w[e] += steps[a] * of(a)[e];
    }
    for (std::size_t i = 0; i < n; ++i) expected[i] = dot(w, phi[i]);
    rows.score(all, tables, found.data());
    CHECK(difference(found, expected) < tolerance);
    CHECK(difference({rows.squared_weight(tables)}, {dot(w, w)}) < 10 * tolerance);

    // From coefficients to tables and back; blended tables.
    auto again = rows.tables_of(rows.coefficients(tables));
    rows.score(all, again, found.data());
    CHECK(difference(found, expected) < tolerance);
    CHECK(difference({rows.squared_weight(again)}, {dot(w, w)}) < 10 * tolerance);
    rows.blend(0.5, again, 2.0, tables);
    rows.score(all, again, found.data());
    for (double& v : expected) v *= 2.5;
    CHECK(difference(found, expected) < tolerance);
}

// Plain sums, in the layout of operators/passes.hpp.
inline void sums_agree(const Operator& rows, const Group& group, double tolerance) {
    const auto n = static_cast<std::size_t>(group.n_rows());
    std::vector<Row> all(n);
    std::iota(all.begin(), all.end(), 0);
    std::vector<double> steps(n), expected(group.n_coefficients());
    Random random(12);
    for (std::size_t i = 0; i < n; ++i) {
        steps[i] = drawn(random) - 0.5;
        const std::vector<double> raw = raw_row(group, static_cast<Row>(i));
        for (std::size_t j = 0; j < group.n_features(); ++j)
            for (std::size_t k = 0; k < group.stride(); ++k)
                expected[j * group.stride() + k] += steps[i] * raw[j * (group.size() + 1) + k];
    }
    GroupTables tables = rows.zero_tables();
    rows.sum(all, steps.data(), tables);
    CHECK(rows.sums(tables).size() == expected.size());
    CHECK(difference(rows.sums(tables), expected) < tolerance);
}

// Random values of p features, a share of them missing, with axes that map [0, 1] to [first, last],
// and functions that turn them into rows and groups.
struct DrawnRows {
    DrawnRows(Row n, std::size_t p, double first, double last, double share, std::uint64_t seed = 5)
        : n_rows(n),
          n_features(p),
          axes(std::vector<double>(p, 0.0), std::vector<double>(p, 1.0),
               std::vector<double>(p, first), std::vector<double>(p, last)),
          order(static_cast<std::size_t>(n)),
          columns(p) {
        Random random(seed);
        for (std::size_t i = 0; i < static_cast<std::size_t>(n) * p; ++i) {
            const double x = drawn(random);
            X.push_back(drawn(random) < share ? missing : x < 0.1 ? 0.0 : x > 0.9 ? 1.0 : x);
        }
        std::iota(order.begin(), order.end(), 0);
        std::iota(columns.begin(), columns.end(), 0);
    }

    MatrixView<double> view() const {
        const auto p = static_cast<std::ptrdiff_t>(n_features);
        return {X.data(), n_rows, p, p, 1};
    }
    AnyRows values() const { return ValueRows<double>(view(), columns, axes, order); }
    Codes coded(const CodeGrid& grid) const {
        Codes codes(n_rows, static_cast<std::ptrdiff_t>(n_features), grid);
        codes.fill(view(), columns, order, axes, 1);
        return codes;
    }

    // A group with one variance of zero, arbitrary means, and one deviation fixed at zero.
    Group group(const AnyRows& rows, const AnyBasis& basis, const AnyPenalty& penalty,
                bool with_missing) const {
        Group made{{basis, penalty, {}, {}, {}}, rows};
        Random random(9);
        for (std::size_t j = 0; j < n_features; ++j) {
            made.variance.push_back(j == 1 ? 0.0 : 0.3 + drawn(random));
            if (!with_missing) continue;
            made.missing_variance.push_back(j == 2 ? 0.0 : 0.2 + drawn(random));
            for (std::size_t k = 0; k < made.size(); ++k)
                made.mean.push_back(drawn(random) / static_cast<double>(made.size()));
        }
        return made;
    }

    Row n_rows;
    std::size_t n_features;
    Axes axes;
    std::vector<std::int64_t> order;
    std::vector<std::int64_t> columns;
    std::vector<double> X;
};

}  // namespace splinear::testing
