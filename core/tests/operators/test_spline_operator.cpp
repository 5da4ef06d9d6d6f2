// Compares all kernels that this machine supports with the reference in double precision.
#include <array>
#include <cmath>
#include <vector>

#include "operators/row_operator.hpp"
#include "operators/spline_operator.hpp"
#include "simd/dispatch.hpp"
#include "support/random.hpp"
#include "tests/check.hpp"
#include "tests/reference.hpp"

using namespace splinear;

namespace {

// Values in [0, 1], many of them at the ends or equal, as in histograms.
double draw_value(Random& random) {
    const double u = testing::drawn(random);
    return u < 0.3 ? 0.0 : u < 0.4 ? 1.0 : u < 0.5 ? 0.5 : testing::drawn(random);
}

template <int Degree>
void compare(const simd::Kernels& kernels, int order, int n_bins, std::size_t n_features,
             const std::vector<double>& variance, int n_threads) {
    testing::DrawnRows drawn(testing::n_reference_rows, n_features, 0.0, n_bins, 0.0);
    Random random(static_cast<std::uint64_t>(n_bins) * 100 + n_features);
    for (std::size_t i = 0; i < drawn.X.size(); ++i)
        drawn.X[i] = variance[i % n_features] == 0.0 ? 0.0 : draw_value(random);  // 0: constant
    const Codes codes = drawn.coded(CodeGrid::bins(n_bins, Degree, false));

    const CodedRows source(codes, drawn.axes);
    const BSpline<Degree> basis{n_bins};
    const DifferencePenalty penalty(order, basis.size(), basis.support());
    const auto fast = SplineOperator::make(source, basis, penalty, variance, kernels, n_threads);
    const RowOperator slow(source, basis, penalty, variance);
    CHECK(fast != nullptr);
    fast->prepare();
    const double squared_weight = order < 2 ? 1e-4 : 1e-2;  // differences of rounded coefficients
    testing::equals_reference(
        *fast, slow,
        {.tables = 1e-5, .scores = 2e-5, .squared_weight = squared_weight, .products = 2e-5});
}

void compare_all(const simd::Kernels& kernels, int order, int n_bins, std::size_t n_features) {
    const std::vector<double> equal(n_features, 0.25);
    std::vector<double> mixed(n_features);
    for (std::size_t j = 0; j < n_features; ++j) mixed[j] = 0.1 * static_cast<double>(j % 7);
    for (const int n_threads : {1, 2}) {
        compare<0>(kernels, order, n_bins, n_features, mixed, n_threads);
        compare<1>(kernels, order, n_bins, n_features, mixed, n_threads);
        compare<2>(kernels, order, n_bins, n_features, mixed, n_threads);
        compare<3>(kernels, order, n_bins, n_features, mixed, n_threads);
    }
    // With equal variances, except for constant features, products have kernels of their own.
    std::vector<double> some = equal;
    for (std::size_t j = 0; j + 1 < n_features; j += 5) some[j] = 0.0;
    for (const std::vector<double>& variance : {equal, some}) {
        compare<0>(kernels, order, n_bins, n_features, variance, 1);
        compare<1>(kernels, order, n_bins, n_features, variance, 1);
    }
}

void test_kernels_equal_the_reference() {
    for (const simd::Kernels* kernels : simd::available())
        for (const int order : {0, 1, 2, 3})
            for (const int n_bins : {1, 7, 15, 16, 31, 40, 47, 60})
                for (const std::size_t n_features : {1u, 17u, 33u})
                    compare_all(*kernels, order, n_bins, n_features);
    for (const simd::Kernels* kernels : simd::available())
        for (const std::size_t n_features : {15u, 16u, 32u, 63u, 300u})
            for (const int order : {0, 1, 2}) compare_all(*kernels, order, 20, n_features);
}

// Scores many rows together, on several threads.
template <int Degree>
void compare_blocks(const simd::Kernels& kernels, int n_bins, std::size_t n_features) {
    constexpr std::size_t n = 333;
    testing::DrawnRows drawn(n, n_features, 0.0, n_bins, 0.0);
    Random random(7);
    for (double& x : drawn.X) x = draw_value(random);
    const Codes codes = drawn.coded(CodeGrid::bins(n_bins, Degree, false));
    const CodedRows source(codes, drawn.axes);
    const BSpline<Degree> basis{n_bins};
    const DifferencePenalty penalty(1, basis.size(), basis.support());
    const std::vector<double> variance(n_features, 0.25);
    std::vector<double> coef(n_features * static_cast<std::size_t>(basis.size()));
    for (double& c : coef) c = testing::drawn(random) - 0.5;
    std::vector<Row> rows;
    for (std::size_t i = 0; i < n; ++i) rows.push_back(static_cast<Row>(i));
    const RowOperator slow(source, basis, penalty, variance);
    std::vector<double> expected(n);
    slow.score(rows, slow.tables_of(coef), expected.data());
    std::vector<double> one_by_one(n);
    for (const int n_threads : {1, 3}) {
        const auto fast =
            SplineOperator::make(source, basis, penalty, variance, kernels, n_threads);
        const GroupTables tables = fast->tables_of(coef);
        std::vector<double> found(n);
        fast->score(rows, tables, found.data());
        for (std::size_t i = 0; i < n; ++i) {
            fast->score(std::span(rows).subspan(i, 1), tables, &one_by_one[i]);
            CHECK(found[i] == one_by_one[i]);
            CHECK(std::abs(found[i] - expected[i]) < 2e-5);
        }
    }
}

void test_rows_that_come_together_change_no_bit() {
    for (const simd::Kernels* kernels : simd::available())
        for (const int n_bins : {1, 14, 29, 40, 60, 100})
            for (const std::size_t n_features : {1u, 45u, 200u}) {
                compare_blocks<0>(*kernels, n_bins, n_features);
                compare_blocks<1>(*kernels, n_bins, n_features);
                compare_blocks<2>(*kernels, n_bins, n_features);
                compare_blocks<3>(*kernels, n_bins, n_features);
            }
}

void test_long_tables_equal_the_reference() {
    for (const simd::Kernels* kernels : simd::available())
        for (const int order : {0, 1, 2, 3}) {
            for (const int n_bins : {61, 62, 63, 64, 79, 255, 509, 512, 1023})
                compare_all(*kernels, order, n_bins, 33);
            compare_all(*kernels, order, 2044, 1);
        }
    for (const simd::Kernels* kernels : simd::available()) compare_all(*kernels, 1, 100, 300);
}

// Sums of minima over so many features do not fit in 32 bits.
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
        if (kernels->hat_products == nullptr) continue;
        kernels->hat_products(shape, low.data(), rows.data(), 2, found.data());
        const double a = 100.0 / 1024;
        CHECK(found[0] == 0.0f);
        CHECK(std::abs(found[1] / ((a * a + (1 - a) * (1 - a)) * n) - 1.0) < 1e-5);
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
    test_rows_that_come_together_change_no_bit();
    test_kernels_equal_the_reference();
    test_long_tables_equal_the_reference();
    test_products_of_very_long_rows();
    test_longer_tables_are_left_to_the_reference();
    return testing::result();
}
