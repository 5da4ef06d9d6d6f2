// Scores of values, missing values among them, against the basis functions one by one.
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "predict/decision.hpp"
#include "tests/check.hpp"
#include "tests/embedding.hpp"

using namespace splinear;
using namespace splinear::testing;

namespace {

constexpr Row n_rows = 150;
constexpr std::size_t n_features = 5;
constexpr std::size_t n_outputs = 2;
constexpr std::array<double, n_outputs> intercepts{0.5, -1.0};

template <class Real>
void rows_agree(const std::vector<std::int64_t>& columns) {
    const BSpline<1> basis{8};
    const DrawnRows data(n_rows, n_features, 0.0, 8.0, 0.05);
    std::vector<Real> X(data.X.begin(), data.X.end());
    X[3] = std::numeric_limits<Real>::infinity();
    Random random(1);
    std::vector<double> coef(n_outputs * n_features * 10);
    for (double& c : coef) c = drawn(random) - 0.5;
    std::vector<double> out(n_rows * n_outputs), w(2);
    const AnyBasis any = basis;
    decide(Curves{any, data.axes, coef, intercepts},
           MatrixView<Real>{X.data(), n_rows, n_features, n_features, 1}, columns, 2, out.data());
    for (std::size_t i = 0; i < n_rows; ++i)
        for (std::size_t k = 0; k < n_outputs; ++k) {
            double expected = intercepts[k];
            for (std::size_t j = 0; j < n_features; ++j) {
                const double* c = &coef[(k * n_features + j) * 10];
                const auto x =
                    static_cast<double>(X[i * n_features + static_cast<std::size_t>(columns[j])]);
                if (std::isnan(x)) {
                    expected += c[9];
                    continue;
                }
                const int start = basis.evaluate(data.axes[j].argument(x), w.data());
                expected += w[0] * c[start] + w[1] * c[start + 1];
            }
            const double found = out[i * n_outputs + k];
            CHECK(i == 0 ? std::isnan(found) : near(found, expected, 1e-5));
        }
}

// Curves are prepared once, but for other columns anew.
void prepared_curves_are_those_asked_for() {
    const DrawnRows data(n_rows, n_features, 0.0, 8.0, 0.0);
    const std::vector<float> X(data.X.begin(), data.X.end());
    Random random(1);
    std::vector<double> coef(n_outputs * n_features * 10);
    for (double& c : coef) c = drawn(random) - 0.5;
    const AnyBasis any = BSpline<1>{8};
    const auto scores = [&](const Curves& curves, const std::vector<std::int64_t>& columns) {
        std::vector<double> out(n_rows * n_outputs);
        decide(curves, MatrixView<float>{X.data(), n_rows, n_features, n_features, 1}, columns, 1,
               out.data());
        return out;
    };
    const Curves kept{any, data.axes, coef, intercepts};
    const std::vector<std::int64_t> others{3, 1, 2, 0, 4};
    for (int again = 0; again < 2; ++again)
        for (const auto& columns : {data.columns, others})
            CHECK(scores(kept, columns) ==
                  scores(Curves{any, data.axes, coef, intercepts}, columns));
    CHECK(scores(kept, data.columns) != scores(kept, others));
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Scores go on from what is there, or from one number per output, on any number of threads.
template <class Real>
void scores_are_added() {
    const DrawnRows data(n_rows, n_features, 0.0, 8.0, 0.05);
    std::vector<Real> X(data.X.begin(), data.X.end());
    X[3] = std::numeric_limits<Real>::infinity();
    Random random(1);
    std::vector<double> coef(n_outputs * n_features * 10);
    for (double& c : coef) c = drawn(random) - 0.5;
    const AnyBasis any = BSpline<1>{8};
    const std::array<double, n_outputs> none{};
    const Curves curves{any, data.axes, coef, none};
    const MatrixView<Real> view{X.data(), n_rows, n_features, n_features, 1};
    std::vector<double> plain(n_rows * n_outputs);
    decide(curves, view, data.columns, 1, plain.data());
    for (const int n_threads : {1, 2, 3, 16}) {
        std::vector<double> out(plain.size(), 7.0);
        add_decision(curves, view, data.columns, intercepts, n_threads, out.data());
        for (std::size_t i = 0; i < out.size(); ++i)
            CHECK(same(out[i], intercepts[i % n_outputs] + plain[i]));
        const std::vector<double> before = out;
        add_decision(curves, view, data.columns, {}, n_threads, out.data());
        for (std::size_t i = 0; i < out.size(); ++i) CHECK(same(out[i], before[i] + plain[i]));
    }
    CHECK(is_refused([&] {
        add_decision(curves, view, data.columns, std::array<double, 1>{0.0}, 1, plain.data());
    }));
}

void what_is_not_finite_is_found() {
    std::vector<double> values(40'003, 1e308);
    CHECK(are_finite({}, 1) && are_finite(values, 1) && are_finite(values, 3));
    for (const double wrong :
         {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()})
        for (const std::size_t at : {std::size_t{0}, std::size_t{20'001}, values.size() - 1}) {
            std::vector<double> with = values;
            with[at] = wrong;
            CHECK(!are_finite(with, 1) && !are_finite(with, 3));
        }
}

void stored_missing_values_count() {
    const DrawnRows data(1, 3, 0.0, 8.0, 0.0);
    std::vector<double> coef(3 * 10, 0.0);
    coef[9] = 7.0;       // a missing value in the first feature
    coef[10 + 4] = 2.0;  // the second at 0.5
    const std::vector<std::int64_t> starts{0, 2, 2};
    const std::vector<std::int32_t> features{0, 1};
    const std::vector<double> values{missing, 0.5};
    const std::vector<double> at_zero{1.0, 0.25, 9.0};
    const std::array<double, 1> intercept{0.5};
    std::array<double, 2> out{};
    const SparseView<double> X{starts, features, values};
    const AnyBasis basis = BSpline<1>{8};
    decide_sparse(Curves{basis, data.axes, coef, intercept}, X, at_zero, 1, out.data());
    CHECK(near(out[0], 0.5 + 7.0 - 1.0 + 2.0 - 0.25) && out[1] == 0.5);
}

}  // namespace

int main() {
    for (const std::vector<std::int64_t>& columns :
         {std::vector<std::int64_t>{0, 1, 2, 3, 4}, std::vector<std::int64_t>{3, 1, 2, 0, 4}}) {
        rows_agree<float>(columns);
        rows_agree<double>(columns);
    }
    prepared_curves_are_those_asked_for();
    scores_are_added<float>();
    scores_are_added<double>();
    what_is_not_finite_is_found();
    stored_missing_values_count();
    return splinear::testing::result();
}
