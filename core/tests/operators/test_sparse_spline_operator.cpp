#include <array>
#include <limits>
#include <numeric>
#include <vector>

#include "operators/row_operator.hpp"
#include "operators/sparse_operator.hpp"
#include "operators/sparse_spline_operator.hpp"
#include "tests/check.hpp"
#include "tests/sparse_data.hpp"

using namespace splinear;
using splinear::testing::near;
using splinear::testing::SparseData;

namespace {

constexpr int n_bins = 9;
constexpr std::array<double, SparseData::n_features> last{9.0, 3.0, 1.0, 9.0, 2.0, 5.0};

// Sizes of the tables: as many functions as the values of each feature reach.
template <int Degree>
std::vector<std::int64_t> sizes() {
    std::vector<std::int64_t> out;
    for (const double n : last)
        out.push_back(std::min<std::int64_t>(static_cast<std::int64_t>(n) + std::max(Degree, 1),
                                             n_bins + Degree));
    return out;
}

template <int Degree>
DifferencePenalty penalty_of(int order) {
    const BSpline<Degree> basis{n_bins};
    return {order, basis.size(), basis.support(), std::max(Degree, 1)};
}

void near_all(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
    CHECK(a.size() == b.size());
    for (std::size_t k = 0; k < a.size(); ++k) CHECK(near(a[k], b[k], tolerance));
}

// Compares tables that end where their features end with dense rows and tables of equal length.
template <int Degree, class Argument>
void agrees_with_dense_rows(int order, double tolerance) {
    const BSpline<Degree> basis{n_bins};
    const DifferencePenalty penalty = penalty_of<Degree>(order);
    const SparseData data(0.0, last);
    const ValueRows<double> dense(data.view(), data.columns, data.axes, data.order);
    const auto sparse = data.rows<SparseRowsOf<Argument>>(sizes<Degree>());
    CHECK(sparse.within_tables());
    const RowOperator<ValueRows<double>, BSpline<Degree>, DifferencePenalty> slow(
        dense, basis, penalty, data.variance);
    const SparseSplineOperator<Degree, Argument> fast(sparse, basis, penalty, data.variance);
    TeamIndex index;

    const std::vector<Row> team{7, 2, 9, 4, 0, 31};
    const std::array<double, 6> steps{0.5, -1.0, 2.0, 0.25, -3.0, 1.0};
    auto expected = slow.zero_tables();
    auto found = fast.zero_tables();
    for (int repeat = 0; repeat < 2; ++repeat) {
        slow.add(team, steps.data(), expected, index);
        fast.add(team, steps.data(), found, index);
    }
    const std::vector<double> coef = slow.coefficients(expected);
    near_all(coef, fast.coefficients(found), tolerance);
    CHECK(near(slow.squared_weight(expected), fast.squared_weight(found), tolerance));

    std::vector<double> one(team.size() * team.size());
    std::vector<double> two(one.size());
    slow.gram(team, one.data(), index);
    fast.gram(team, two.data(), index);
    near_all(one, two, tolerance);

    std::vector<Row> rows(data.n_rows);
    std::iota(rows.begin(), rows.end(), 0);
    std::vector<double> scores(rows.size());
    std::vector<double> others(rows.size());
    slow.score(rows, expected, scores.data());
    fast.score(rows, found, others.data());
    near_all(scores, others, tolerance);
    fast.score(rows, fast.tables_of(coef), others.data());
    near_all(scores, others, tolerance);
    for (const Row i : rows) CHECK(near(slow.squared_norm(i), fast.squared_norm(i), tolerance));

    slow.blend(0.5, expected, -2.0, slow.tables_of(coef));
    fast.blend(0.5, found, -2.0, fast.tables_of(coef));
    fast.add(team, steps.data(), found, index);  // blend() has kept the headers
    slow.add(team, steps.data(), expected, index);
    near_all(slow.coefficients(expected), fast.coefficients(found), tolerance);

    // The reference is a sparse operator, since zeros of dense rows count in plain sums.
    const SparseOperator<SparseRowsOf<Argument>, BSpline<Degree>, DifferencePenalty> plain(
        sparse, basis, penalty, data.variance);
    auto sum_expected = plain.zero_tables();
    auto sum_found = fast.zero_tables();
    plain.sum(team, steps.data(), sum_expected);
    fast.sum(team, steps.data(), sum_found);
    near_all(plain.sums(sum_expected), fast.sums(sum_found), tolerance);
}

template <int Degree>
void agrees() {
    for (int order = 0; order <= 3; ++order) {
        agrees_with_dense_rows<Degree, double>(order, 1e-9);
        agrees_with_dense_rows<Degree, float>(order, order < 2 ? 1e-5 : 1e-3);
    }
}

template <class Argument>
bool is_made(const SparseData& data, const std::vector<std::int64_t>& tables, int order) {
    const auto rows = data.rows<SparseRowsOf<Argument>>(tables);
    const auto penalty = penalty_of<1>(order);
    return SparseSplineOperator<1, Argument>::make(rows, {n_bins}, penalty, data.variance) !=
           nullptr;
}

void others_are_left_to_the_reference() {
    const SparseData data(0.0, last);
    CHECK(is_made<float>(data, sizes<1>(), 1));
    CHECK(is_made<double>(data, sizes<1>(), 1));
    CHECK(!is_made<float>(data, sizes<1>(), 0));  // plain sums need double precision
    CHECK(is_made<double>(data, sizes<1>(), 0));
    CHECK(!is_made<float>(data, sizes<1>(), 6));
    CHECK(!is_made<float>(data, std::vector<std::int64_t>(data.n_features, 1), 1));
    CHECK(!is_made<float>(data, std::vector<std::int64_t>(data.n_features, 11), 1));
}

// NaN counts as zero in a group without missing values.
void missing_values_are_zero() {
    SparseData data(0.0, last);
    data.values[0] = std::numeric_limits<double>::quiet_NaN();
    const auto rows = data.rows<SparseRows>(sizes<1>());
    const SparseSplineOperator<1, float> op(rows, {n_bins}, penalty_of<1>(1), data.variance);
    TeamIndex index;
    auto tables = op.zero_tables();
    const std::vector<Row> first{0};
    const double step = 1.0;
    op.add(first, &step, tables, index);
    double score = 0.0;
    op.score(first, tables, &score);
    CHECK(near(score, op.squared_norm(0), 1e-5));
}

// Teams of many rows that share more features than are compared at a time.
template <class Argument>
void products_of_whole_teams(double tolerance) {
    constexpr std::size_t n_features = 2500;
    constexpr std::size_t n_rows = 64;
    const std::vector<double> zeros(n_features, 0.0);
    const std::vector<double> ends(n_features, n_bins);
    const Axes axes(zeros, ends, zeros, ends);
    std::vector<double> variance(n_features);
    std::vector<std::int64_t> starts{0};
    std::vector<std::int64_t> order(n_rows);
    std::vector<std::int32_t> features;
    std::vector<double> values;
    Random random(3);
    for (double& v : variance) v = static_cast<double>(1 + random.next() % 8) / 8.0;
    for (std::size_t i = 0; i < n_rows; ++i) {
        for (std::size_t j = 0; j < n_features; ++j) {
            if (random.next() % 8 != 0) continue;
            features.push_back(static_cast<std::int32_t>(j));
            values.push_back(static_cast<double>(random.next() % (8 * n_bins + 1)) / 8.0);
        }
        starts.push_back(static_cast<std::int64_t>(values.size()));
    }
    std::iota(order.begin(), order.end(), 0);
    const SparseRowsOf<Argument> rows(
        SparseView<double>{starts, features, values}, axes, order,
        std::make_shared<TablePlaces>(std::vector<std::int64_t>(n_features, n_bins + 1)));
    const DifferencePenalty penalty = penalty_of<1>(1);
    const SparseOperator<SparseRowsOf<Argument>, BSpline<1>, DifferencePenalty> slow(
        rows, {n_bins}, penalty, variance);
    const SparseSplineOperator<1, Argument> fast(rows, {n_bins}, penalty, variance);
    TeamIndex one;
    TeamIndex two;
    for (const std::size_t m : {64, 2, 33, 32}) {
        std::vector<Row> team(m);
        std::iota(team.begin(), team.end(), static_cast<Row>(n_rows - m));
        std::vector<double> expected(m * m);
        std::vector<double> found(m * m);
        slow.gram(team, expected.data(), one);
        fast.gram(team, found.data(), two);
        for (std::size_t a = 0; a < m; ++a)
            for (std::size_t b = a + 1; b < m; ++b)
                CHECK(near(expected[a * m + b], found[a * m + b], tolerance));
    }
}

}  // namespace

int main() {
    agrees<0>();
    agrees<1>();
    agrees<2>();
    agrees<3>();
    others_are_left_to_the_reference();
    missing_values_are_zero();
    products_of_whole_teams<float>(1e-5);
    products_of_whole_teams<double>(1e-12);
    return splinear::testing::result();
}
