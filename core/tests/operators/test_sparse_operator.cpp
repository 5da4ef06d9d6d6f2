#include <array>
#include <numeric>
#include <vector>

#include "operators/row_operator.hpp"
#include "operators/sparse_operator.hpp"
#include "tests/check.hpp"
#include "tests/sparse_data.hpp"

using namespace splinear;
using splinear::testing::near;
using splinear::testing::SparseData;

namespace {

void near_all(const std::vector<double>& a, const std::vector<double>& b) {
    CHECK(a.size() == b.size());
    for (std::size_t k = 0; k < a.size(); ++k) CHECK(near(a[k], b[k], 1e-9));
}

// Zeros contribute nothing, whether they are stored or not.
template <class Sparse, Basis B, Penalty P>
void agrees_with_dense_rows_as(const B& basis, const P& penalty, double first, double last) {
    TeamIndex team_index;
    const SparseData data(first, SparseData::all(last));
    const ValueRows<double> dense(data.view(), data.columns, data.axes, data.order);
    const auto sparse = data.rows<Sparse>(std::vector<std::int64_t>(data.n_features, 1));
    const RowOperator<ValueRows<double>, B, P> slow(dense, basis, penalty, data.variance);
    const SparseOperator<Sparse, B, P> fast(sparse, basis, penalty, data.variance);
    CHECK(fast.n_rows() == data.n_rows);

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

    std::vector<Row> rows(data.n_rows);
    std::iota(rows.begin(), rows.end(), 0);
    std::vector<double> scores(rows.size());
    std::vector<double> others(rows.size());
    slow.score(rows, expected, scores.data());
    fast.score(rows, found, others.data());
    near_all(scores, others);
    for (const Row i : rows) CHECK(near(slow.squared_norm(i), fast.squared_norm(i), 1e-9));
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
