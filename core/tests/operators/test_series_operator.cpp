// The kernels of Fourier and Hermite curves against the reference in double precision.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "operators/row_operator.hpp"
#include "operators/series_operator.hpp"
#include "simd/dispatch.hpp"
#include "support/random.hpp"
#include "tests/check.hpp"

using namespace splinear;
using splinear::testing::difference;

namespace {

constexpr std::ptrdiff_t n_rows = 70;  // more than a team, and not a multiple of 16
constexpr std::size_t n_features = 21;

double drawn(Random& random) { return static_cast<double>(random.next() >> 11) * 0x1p-53; }

template <class B>
void compare(const simd::Kernels& kernels, const B& basis, double end, int n_threads) {
    TeamIndex team_index;
    Random random(3);
    std::vector<double> values(static_cast<std::size_t>(n_rows) * n_features);
    for (double& v : values) v = std::clamp(1.2 * drawn(random) - 0.1, 0.0, 1.0);
    const std::vector<double> zeros(n_features, 0.0);
    const std::vector<double> ones(n_features, 1.0);
    const std::vector<double> left(n_features, -end);
    const std::vector<double> right(n_features, end);
    const Axes axes(zeros, ones, left, right);
    Codes codes(n_rows, n_features, CodeGrid::whole_axis(false));
    std::vector<std::int64_t> columns(n_features);
    std::iota(columns.begin(), columns.end(), 0);
    std::vector<std::int64_t> places(n_rows);
    std::iota(places.begin(), places.end(), 0);
    codes.fill(MatrixView<double>{values.data(), n_rows, n_features, n_features, 1}, columns,
               places, axes, 1);
    std::vector<double> variance(n_features);
    for (std::size_t j = 0; j < n_features; ++j) variance[j] = 0.3 * static_cast<double>(j % 4);
    std::vector<double> weights(static_cast<std::size_t>(basis.size()));
    for (std::size_t k = 0; k < weights.size(); ++k) weights[k] = 1.0 / static_cast<double>(k + 1);

    const CodedRows source(codes, axes);
    const DiagonalPenalty penalty(weights);
    const auto fast = SeriesOperator::make(source, basis, penalty, variance, kernels, n_threads);
    const RowOperator slow(source, basis, penalty, variance);
    CHECK(fast != nullptr);

    std::vector<Row> rows(n_rows);
    std::iota(rows.begin(), rows.end(), 0);
    std::vector<double> steps(n_rows);
    for (double& s : steps) s = drawn(random) - 0.5;
    auto fast_tables = fast->zero_tables();
    auto slow_tables = slow.zero_tables();
    for (const std::size_t m : {1u, 16u, 39u}) {
        fast->add(std::span(rows).first(m), steps.data(), fast_tables, team_index);
        slow.add(std::span(rows).first(m), steps.data(), slow_tables, team_index);
    }
    CHECK(difference(fast->coefficients(fast_tables), slow.coefficients(slow_tables)) < 1e-5);
    CHECK(difference({fast->squared_weight(fast_tables)}, {slow.squared_weight(slow_tables)}) <
          1e-5);
    std::vector<double> found(n_rows);
    std::vector<double> expected(n_rows);
    fast->score(rows, fast_tables, found.data());
    slow.score(rows, slow_tables, expected.data());
    CHECK(difference(found, expected) < 1e-5);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        found[i] = fast->squared_norm(rows[i]);
        expected[i] = slow.squared_norm(rows[i]);
    }
    CHECK(difference(found, expected) < 1e-5);
    for (const std::size_t m : {5u, 17u, 64u}) {
        std::vector<double> products(m * m, 0.0);
        std::vector<double> exact(m * m, 0.0);
        fast->gram(std::span(rows).first(m), products.data(), team_index);
        slow.gram(std::span(rows).first(m), exact.data(), team_index);
        for (std::size_t a = 0; a < m; ++a)  // only b > a is promised
            for (std::size_t b = 0; b <= a; ++b) products[a * m + b] = exact[a * m + b] = 0.0;
        CHECK(difference(products, exact) < 1e-4);
    }
}

}  // namespace

int main() {
    for (const simd::Kernels* kernels : simd::available())
        for (const int degree : {1, 2, 5, 16})
            for (const int n_threads : {1, 2}) {
                compare(*kernels, Fourier{degree}, 1.0, n_threads);
                compare(*kernels, Hermite{degree}, 1.0, n_threads);
                compare(*kernels, Hermite{std::min(degree, 5)}, 6.0, n_threads);
            }
    return splinear::testing::result();
}
