#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "operators/row_operator.hpp"
#include "support/random.hpp"
#include "tests/check.hpp"

using namespace splinear;
using splinear::testing::near;

namespace {

constexpr std::ptrdiff_t n_rows = 12;
constexpr std::size_t n_features = 3;
constexpr std::array<double, n_features> variance{0.1, 0.0, 2.5};  // the second curve is 0

constexpr std::array<std::int64_t, n_features> columns{0, 1, 2};

double drawn(Random& random) { return static_cast<double>(random.next() >> 11) * 0x1p-53; }

// Random rows with values in [0, 1], whose axes map them to [first, last].
struct Drawn {
    Drawn(double first, double last) : axes(all(0.0), all(1.0), all(first), all(last)) {
        Random random(5);
        for (double& x : X) x = drawn(random);
        std::iota(order.begin(), order.end(), 0);
    }
    static std::array<double, n_features> all(double v) { return {v, v, v}; }
    MatrixView<double> view() const { return {X.data(), n_rows, n_features, n_features, 1}; }

    std::array<double, n_rows * n_features> X{};
    std::array<std::int64_t, n_rows> order{};
    Axes axes;
};

// The explicit embeddings of all rows, s_j T'B(x_ij).
template <RowSource S, Basis B, Penalty P>
std::vector<std::vector<double>> embeddings(const S& source, const B& basis, const P& penalty) {
    std::vector<double> w(static_cast<std::size_t>(basis.support()));
    std::vector<std::vector<double>> phi;
    for (Row i = 0; i < source.n_rows(); ++i) {
        std::vector<double> row;
        for (std::size_t j = 0; j < n_features; ++j) {
            std::vector<double> part(static_cast<std::size_t>(basis.size()));
            const int start = basis.evaluate(source.argument(i, j), w.data());
            std::copy(w.begin(), w.end(), part.begin() + start);
            penalty.embed(part.data());
            for (const double v : part) row.push_back(std::sqrt(variance[j]) * v);
        }
        phi.push_back(row);
    }
    return phi;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Compares the operator, which never computes embeddings, with explicit ones.
template <RowSource S, Basis B, Penalty P>
void agrees_with_explicit_rows(const S& source, const B& basis, const P& penalty) {
    TeamIndex team_index;
    const RowOperator<S, B, P> rows(source, basis, penalty, variance);
    const auto phi = embeddings(source, basis, penalty);
    CHECK(rows.n_rows() == n_rows);

    const std::vector<Row> team{7, 2, 9, 4, 0};
    const std::size_t m = team.size();
    const auto of = [&](std::size_t a) -> const std::vector<double>& {
        return phi[static_cast<std::size_t>(team[a])];
    };
    std::vector<double> gram(m * m);
    rows.gram(team, gram.data(), team_index);
    for (std::size_t a = 0; a < m; ++a)
        for (std::size_t b = a + 1; b < m; ++b) CHECK(near(gram[a * m + b], dot(of(a), of(b))));
    for (Row i = 0; i < n_rows; ++i) {
        const auto& row = phi[static_cast<std::size_t>(i)];
        CHECK(near(rows.squared_norm(i), dot(row, row)));
    }

    const std::array<double, 5> steps{0.5, -1.0, 2.0, 0.25, -3.0};
    auto tables = rows.zero_tables();
    std::vector<double> w(phi[0].size());
    for (int repeat = 0; repeat < 2; ++repeat) {
        rows.add(team, steps.data(), tables, team_index);
        for (std::size_t a = 0; a < m; ++a)
            for (std::size_t k = 0; k < w.size(); ++k) w[k] += steps[a] * of(a)[k];
    }
    std::vector<Row> all(n_rows);
    std::iota(all.begin(), all.end(), 0);
    std::vector<double> scores(n_rows);
    rows.score(all, tables, scores.data());
    for (std::size_t i = 0; i < scores.size(); ++i) CHECK(near(scores[i], dot(w, phi[i])));
    CHECK(near(rows.squared_weight(tables), dot(w, w)));
    CHECK(rows.coefficients(tables).size() == w.size());
}

template <Basis B, Penalty P>
void agrees_for_every_source(const B& basis, const P& penalty, CodeGrid grid, double first,
                             double last) {
    const Drawn data(first, last);
    agrees_with_explicit_rows(ValueRows<double>(data.view(), columns, data.axes, data.order), basis,
                              penalty);
    Codes codes(n_rows, n_features, grid);
    codes.fill(data.view(), columns, data.order, data.axes, 1);
    const CodedRows coded(codes, data.axes);
    agrees_with_explicit_rows(coded, basis, penalty);
    for (Row i = 0; i < n_rows; ++i)
        for (std::size_t j = 0; j < n_features; ++j) {
            const double x = data.axes[j].argument(data.view()(i, static_cast<Row>(j)));
            // The rounding error of a code: half a step, or a whole bin if only the bin is stored.
            const double rounding = (1.0 - grid.rounding) * (last - first) / grid.steps;
            CHECK(std::abs(coded.argument(i, j) - x) <= rounding * (1.0 + 1e-9));
        }
}

template <int Degree>
void agrees_for_bsplines() {
    const BSpline<Degree> basis{6};
    for (int order = 0; order <= 3; ++order)
        agrees_for_every_source(basis, DifferencePenalty(order, basis.size(), basis.support()),
                                CodeGrid::bins(6, Degree, false), 0.0, 6.0);
}

}  // namespace

int main() {
    agrees_for_bsplines<0>();
    agrees_for_bsplines<1>();
    agrees_for_bsplines<2>();
    agrees_for_bsplines<3>();
    const DiagonalPenalty weights({1.0, 0.7, 0.5, 0.2});
    agrees_for_every_source(Fourier{2}, weights, CodeGrid::whole_axis(false), -1.0, 1.0);
    agrees_for_every_source(Hermite{4}, weights, CodeGrid::whole_axis(false), -1.7, 2.1);
    return splinear::testing::result();
}
