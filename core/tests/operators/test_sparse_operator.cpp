#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "operators/row_operator.hpp"
#include "operators/sparse_operator.hpp"
#include "support/random.hpp"
#include "tests/check.hpp"

using namespace splinear;
using splinear::testing::near;

namespace {

constexpr std::ptrdiff_t n_rows = 40;
constexpr std::size_t n_features = 6;
constexpr std::array<double, n_features> variance{0.1, 0.0, 2.5, 1.0, 0.3, 0.7};

constexpr std::array<std::int64_t, n_features> columns{0, 1, 2, 3, 4, 5};

std::vector<double> all(double v) { return std::vector<double>(n_features, v); }

// Rows of [0, 1], two thirds of them zero, as a matrix and as its non-zeros; the last feature is
// nowhere, and the third row is empty. Values are multiples of 1/64, which a float holds exactly.
struct Drawn {
    Drawn(double first, double last) : axes(all(0.0), all(1.0), all(first), all(last)) {
        Random random(7);
        for (std::size_t i = 0; i < n_rows; ++i) {
            for (std::size_t j = 0; j + 1 < n_features; ++j) {
                const std::uint64_t drawn = random.next();
                if (i == 2 || drawn % 3 != 0) continue;
                X[i * n_features + j] = static_cast<double>(drawn >> 58) / 64.0;
                features.push_back(static_cast<std::int32_t>(j));
                values.push_back(X[i * n_features + j]);
            }
            starts.push_back(static_cast<std::int64_t>(values.size()));
        }
        for (std::size_t i = 0; i < n_rows; ++i)
            order.push_back(static_cast<std::int64_t>((i * 7) % n_rows));
    }
    MatrixView<double> view() const { return {X.data(), n_rows, n_features, n_features, 1}; }

    std::array<double, n_rows * n_features> X{};
    std::vector<std::int64_t> starts{0};
    std::vector<std::int32_t> features;
    std::vector<double> values;
    std::vector<std::int64_t> order;
    Axes axes;
};

void near_all(const std::vector<double>& a, const std::vector<double>& b) {
    CHECK(a.size() == b.size());
    for (std::size_t k = 0; k < a.size(); ++k) CHECK(near(a[k], b[k], 1e-9));
}

// Zeros that are not stored count for as much as zeros that are: for nothing.
template <class Sparse, Basis B, Penalty P>
void agrees_with_dense_rows_as(const B& basis, const P& penalty, double first, double last) {
    TeamIndex team_index;
    const Drawn data(first, last);
    const ValueRows<double> dense(data.view(), columns, data.axes, data.order);
    const Sparse sparse(SparseView<double>{data.starts, data.features, data.values}, data.axes,
                        data.order);
    const RowOperator<ValueRows<double>, B, P> slow(dense, basis, penalty, variance);
    const SparseOperator<Sparse, B, P> fast(sparse, basis, penalty, variance);
    CHECK(fast.n_rows() == n_rows);

    const std::vector<Row> team{7, 2, 9, 4, 0, 31};
    const std::array<double, 6> steps{0.5, -1.0, 2.0, 0.25, -3.0, 1.0};
    auto expected = slow.zero_tables();
    auto found = fast.zero_tables();
    for (int repeat = 0; repeat < 2; ++repeat) {
        slow.add(team, steps.data(), expected, team_index);
        fast.add(team, steps.data(), found, team_index);
    }
    near_all(expected.exact, found.exact);
    CHECK(near(slow.squared_weight(expected), fast.squared_weight(found), 1e-9));

    std::vector<double> one(team.size() * team.size());
    std::vector<double> two(one.size());
    slow.gram(team, one.data(), team_index);
    fast.gram(team, two.data(), team_index);
    near_all(one, two);

    std::vector<Row> rows(n_rows);
    std::iota(rows.begin(), rows.end(), 0);
    std::vector<double> scores(n_rows);
    std::vector<double> others(n_rows);
    slow.score(rows, expected, scores.data());
    fast.score(rows, found, others.data());
    near_all(scores, others);
    for (Row i = 0; i < n_rows; ++i) CHECK(near(slow.squared_norm(i), fast.squared_norm(i), 1e-9));
}

// With arguments in single and in double precision.
template <Basis B, Penalty P>
void agrees_with_dense_rows(const B& basis, const P& penalty, double first, double last) {
    agrees_with_dense_rows_as<SparseRows>(basis, penalty, first, last);
    agrees_with_dense_rows_as<ExactSparseRows>(basis, penalty, first, last);
}

template <int Degree>
void agrees_for_bsplines() {
    const BSpline<Degree> basis{8};
    const int held = Degree == 0 ? 1 : Degree;
    for (int order = 0; order <= 3; ++order)
        agrees_with_dense_rows(basis, DifferencePenalty(order, basis.size(), basis.support(), held),
                               0.0, 8.0);
}

}  // namespace

int main() {
    agrees_for_bsplines<0>();
    agrees_for_bsplines<1>();
    agrees_for_bsplines<2>();
    agrees_for_bsplines<3>();
    agrees_with_dense_rows(Fourier{2}, DiagonalPenalty({0.0, 1.0, 0.0, 0.5}), 0.0, 0.5);
    agrees_with_dense_rows(Hermite{3}, DiagonalPenalty({1.0, 0.0, 0.4}), 0.0, 1.0);
    return splinear::testing::result();
}
