// Compares an operator that uses vector kernels with the reference in double precision, on the same
// codes.
#pragma once

#include <numeric>
#include <span>
#include <vector>

#include "operators/operator.hpp"
#include "support/random.hpp"
#include "tests/check.hpp"
#include "tests/embedding.hpp"

namespace splinear::testing {

// More rows than a team, and not a multiple of the 16 rows that kernels score together.
constexpr Row n_reference_rows = 70;

// Tolerances of the largest differences, relative to the largest number of a list.
struct Tolerances {
    double tables;
    double scores;
    double squared_weight;
    double products;
};

// Adds one row, some rows and many; compares the resulting tables and scores, plain sums, and
// products of rows.
inline void equals_reference(const Operator& fast, const Operator& slow, const Tolerances& within) {
    const auto n = static_cast<std::size_t>(n_reference_rows);
    CHECK(fast.n_rows() == n_reference_rows && slow.n_rows() == n_reference_rows);
    std::vector<Row> rows(n);
    std::iota(rows.begin(), rows.end(), 0);
    Random random(7);
    std::vector<double> steps(n), found(n), expected(n);
    for (double& step : steps) step = drawn(random) - 0.5;
    TeamIndex team;

    GroupTables fast_tables = fast.zero_tables();
    GroupTables slow_tables = slow.zero_tables();
    for (const std::size_t m : {1u, 5u, 17u, 64u, 70u}) {
        fast.add(std::span(rows).first(m), steps.data(), fast_tables, team);
        slow.add(std::span(rows).first(m), steps.data(), slow_tables, team);
    }
    CHECK(difference(fast.coefficients(fast_tables), slow.coefficients(slow_tables)) <
          within.tables);
    CHECK(difference({fast.squared_weight(fast_tables)}, {slow.squared_weight(slow_tables)}) <
          within.squared_weight);
    fast.score(rows, fast_tables, found.data());
    slow.score(rows, slow_tables, expected.data());
    CHECK(difference(found, expected) < within.scores);

    for (const std::size_t m : {1u, 5u, 70u}) {
        GroupTables fast_sums = fast.zero_tables();
        GroupTables slow_sums = slow.zero_tables();
        fast.sum(std::span(rows).last(m), steps.data(), fast_sums);
        slow.sum(std::span(rows).last(m), steps.data(), slow_sums);
        CHECK(difference(fast.sums(fast_sums), slow.sums(slow_sums)) < within.tables);
    }

    for (std::size_t i = 0; i < n; ++i) {
        found[i] = fast.squared_norm(rows[i]);
        expected[i] = slow.squared_norm(rows[i]);
    }
    CHECK(difference(found, expected) < 1e-5);
    for (const std::size_t m : {2u, 5u, 16u, 17u, 33u, 64u}) {
        found.assign(m * m, 0.0);
        expected.assign(m * m, 0.0);
        fast.gram(std::span(rows).last(m), found.data(), team);
        slow.gram(std::span(rows).last(m), expected.data(), team);
        for (std::size_t a = 0; a < m; ++a)  // only entries with b > a are defined
            for (std::size_t b = 0; b <= a; ++b) found[a * m + b] = expected[a * m + b] = 0.0;
        CHECK(difference(found, expected) < within.products);
    }
}

}  // namespace splinear::testing
