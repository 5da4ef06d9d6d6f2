// Every set of kernels that this machine has, against the reference in double precision.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "operators/row_operator.hpp"
#include "operators/spline_operator.hpp"
#include "support/random.hpp"
#include "tests/check.hpp"

using namespace splinear;
using splinear::testing::difference;

namespace {

constexpr std::ptrdiff_t n_rows = 70;  // more than a team, and not a multiple of 16

double drawn(Random& random) { return static_cast<double>(random.next() >> 11) * 0x1p-53; }

// Values in [0, 1] with many at the ends and many equal, as histograms have.
std::vector<double> draw_values(std::size_t n, Random& random) {
    std::vector<double> values(n);
    for (double& v : values) {
        const double u = drawn(random);
        v = u < 0.3 ? 0.0 : u < 0.4 ? 1.0 : u < 0.5 ? 0.5 : drawn(random);
    }
    return values;
}

template <int Degree>
void compare(const simd::Kernels& kernels, int order, int n_bins, std::size_t n_features,
             const std::vector<double>& variance, int n_threads) {
    TeamIndex team_index;
    Random random(static_cast<std::uint64_t>(n_bins) * 100 + n_features);
    const std::vector<double> values =
        draw_values(static_cast<std::size_t>(n_rows) * n_features, random);
    const std::vector<double> zeros(n_features, 0.0);
    const std::vector<double> ones(n_features, 1.0);
    const std::vector<double> ends(n_features, static_cast<double>(n_bins));
    const Axes axes(zeros, ones, zeros, ends);
    Codes codes(n_rows, static_cast<std::ptrdiff_t>(n_features),
                CodeGrid::bins(n_bins, Degree, false));
    std::vector<std::int64_t> columns(n_features);
    std::iota(columns.begin(), columns.end(), 0);
    std::vector<std::int64_t> places(n_rows);
    std::iota(places.begin(), places.end(), 0);
    const MatrixView<double> view{values.data(), n_rows, static_cast<std::ptrdiff_t>(n_features),
                                  static_cast<std::ptrdiff_t>(n_features), 1};
    codes.fill(view, columns, places, axes, 1);

    const CodedRows source(codes, axes);
    const BSpline<Degree> basis{n_bins};
    const DifferencePenalty penalty(order, basis.size(), basis.support());
    const auto fast = SplineOperator::make(source, basis, penalty, variance, kernels, n_threads);
    const RowOperator slow(source, basis, penalty, variance);
    CHECK(fast != nullptr);

    std::vector<Row> rows(n_rows);
    std::iota(rows.begin(), rows.end(), 0);
    std::vector<double> steps(n_rows);
    for (double& s : steps) s = drawn(random) - 0.5;

    // One row, some rows, many rows added; and the scores by what that makes.
    auto fast_tables = fast->zero_tables();
    auto slow_tables = slow.zero_tables();
    for (const std::size_t m : {1u, 5u, 17u, 64u, 70u}) {
        fast->add(std::span(rows).first(m), steps.data(), fast_tables, team_index);
        slow.add(std::span(rows).first(m), steps.data(), slow_tables, team_index);
    }
    CHECK(difference(fast->coefficients(fast_tables), slow.coefficients(slow_tables)) < 1e-5);
    std::vector<double> found(n_rows);
    std::vector<double> expected(n_rows);
    fast->score(rows, fast_tables, found.data());
    slow.score(rows, slow_tables, expected.data());
    CHECK(difference(found, expected) < 2e-5);
    CHECK(difference({fast->squared_weight(fast_tables)}, {slow.squared_weight(slow_tables)}) <
          (order < 2 ? 1e-4 : 1e-2));  // differences of rounded coefficients

    for (std::size_t i = 0; i < rows.size(); ++i) {
        found[i] = fast->squared_norm(rows[i]);
        expected[i] = slow.squared_norm(rows[i]);
    }
    CHECK(difference(found, expected) < 1e-5);

    for (const std::size_t m : {2u, 16u, 33u, 64u}) {
        std::vector<double> products(m * m, 0.0);
        std::vector<double> exact(m * m, 0.0);
        fast->gram(std::span(rows).last(m), products.data(), team_index);
        slow.gram(std::span(rows).last(m), exact.data(), team_index);
        for (std::size_t a = 0; a < m; ++a)  // only b > a is promised
            for (std::size_t b = 0; b <= a; ++b) products[a * m + b] = exact[a * m + b] = 0.0;
        CHECK(difference(products, exact) < 2e-5);
    }
}

void compare_all(const simd::Kernels& kernels, int order, int n_bins, std::size_t n_features) {
    std::vector<double> equal(n_features, 0.25);
    std::vector<double> mixed(n_features);
    for (std::size_t j = 0; j < n_features; ++j) mixed[j] = 0.1 * static_cast<double>(j % 7);
    if (n_features > 2) equal[1] = 0.0;  // a constant feature, whose codes are not all 0 here
    for (const int n_threads : {1, 2}) {
        compare<0>(kernels, order, n_bins, n_features, mixed, n_threads);
        compare<1>(kernels, order, n_bins, n_features, mixed, n_threads);
        compare<2>(kernels, order, n_bins, n_features, mixed, n_threads);
        compare<3>(kernels, order, n_bins, n_features, mixed, n_threads);
    }
    equal[n_features > 2 ? 1 : 0] = 0.25;
    compare<1>(kernels, order, n_bins, n_features, equal, 1);
}

void test_kernels_equal_the_reference() {
    for (const simd::Kernels* kernels : simd::available())
        for (const int order : {0, 1, 2, 3})
            for (const int n_bins : {1, 7, 15, 16, 31, 40, 47, 60})
                for (const std::size_t n_features : {std::size_t{1}, std::size_t{33}})
                    compare_all(*kernels, order, n_bins, n_features);
    for (const simd::Kernels* kernels : simd::available()) compare_all(*kernels, 1, 20, 300);
}

void test_long_tables_equal_the_reference() {
    for (const simd::Kernels* kernels : simd::available())
        for (const int order : {0, 1, 2, 3}) {
            for (const int n_bins : {61, 62, 63, 64, 79, 255, 1023})
                compare_all(*kernels, order, n_bins, 33);
            compare_all(*kernels, order, 2044, 1);
        }
    for (const simd::Kernels* kernels : simd::available()) compare_all(*kernels, 1, 100, 300);
}

// Sums of minima over so many features do not fit 32 bits.
void test_products_of_very_long_rows() {
    constexpr std::size_t n = 200'000;
    const simd::Shape shape{1, 10, 1, 41, 48, n};
    const std::vector<Code> high(n, 40960);
    const std::vector<Code> low(n, 100);
    const std::array<const Code*, 2> rows{high.data(), low.data()};
    for (const simd::Kernels* kernels : simd::available()) {
        std::array<float, 2> found{};
        kernels->min_products(shape, high.data(), rows.data(), 2, found.data());
        CHECK(std::abs(found[0] / (40.0 * n) - 1.0) < 1e-6);
        CHECK(std::abs(found[1] / (100.0 / 1024 * n) - 1.0) < 1e-6);
    }
}

void test_longer_tables_are_left_to_the_reference() {
    const std::vector<double> one(1, 1.0);
    const std::vector<double> zero(1, 0.0);
    const std::vector<double> end(1, 2047.0);
    const Axes axes(zero, one, zero, end);
    const Codes codes(1, 1, CodeGrid::bins(2047, 1, false));
    const CodedRows source(codes, axes);
    const BSpline<1> basis{2047};
    const DifferencePenalty penalty(1, basis.size(), basis.support());
    CHECK(!SplineOperator::make(source, basis, penalty, one, simd::portable_kernels(), 1));
}

}  // namespace

int main() {
    test_kernels_equal_the_reference();
    test_long_tables_equal_the_reference();
    test_products_of_very_long_rows();
    test_longer_tables_are_left_to_the_reference();
    return splinear::testing::result();
}
