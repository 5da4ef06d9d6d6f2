#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "operators/hessian.hpp"
#include "operators/many_outputs.hpp"
#include "operators/passes.hpp"
#include "support/random.hpp"
#include "tests/check.hpp"

using namespace splinear;
using splinear::testing::difference;
using splinear::testing::is_refused;

namespace {

constexpr std::ptrdiff_t n_rows = 3001;
constexpr std::size_t n_features = 37;

double drawn(Random& random) { return static_cast<double>(random.next() >> 11) * 0x1p-53; }

std::vector<double> numbers(std::size_t n, std::uint64_t seed) {
    Random random(seed);
    std::vector<double> out(n);
    for (double& x : out) x = drawn(random) - 0.3;
    return out;
}

// Coded rows of one group, optionally with a tenth of the values missing.
struct Coded {
    Coded(double n_bins, const CodeGrid& grid, bool with_missing)
        : lo(n_features, 0.0),
          hi(n_features, 1.0),
          first(n_features, 0.0),
          last(n_features, n_bins),
          axes(lo, hi, first, last),
          codes(n_rows, n_features, grid),
          order(n_rows),
          columns(n_features) {
        std::iota(order.begin(), order.end(), 0);
        std::iota(columns.begin(), columns.end(), 0);
        Random random(5);
        for (std::size_t i = 0; i < n_rows * n_features; ++i)
            x.push_back(with_missing && drawn(random) < 0.1
                            ? std::numeric_limits<double>::quiet_NaN()
                            : drawn(random));
        codes.fill(MatrixView<double>{x.data(), n_rows, n_features, n_features, 1}, columns, order,
                   axes, 1);
    }

    std::vector<double> lo, hi, first, last, x;
    Axes axes;
    Codes codes;
    std::vector<std::int64_t> order, columns;
};

// All outputs at once give the same results as one after the other.
template <Basis B>
void agrees_with_single_outputs(const B& basis, bool with_missing, std::size_t n_outputs) {
    const Coded data(basis.n_bins, CodeGrid::bins(basis.n_bins, basis.support() - 1, with_missing),
                     with_missing);
    const AnyRows rows = coded_rows(data.codes, data.axes);
    const auto size = static_cast<std::size_t>(basis.size());
    const Group group{{basis, DifferencePenalty(1, basis.size(), basis.support()),
                       std::vector<double>(n_features, 1.0),
                       std::vector<double>(with_missing ? n_features * size : 0, 0.0),
                       std::vector<double>(with_missing ? n_features : 0, 1.0)},
                      rows};
    const std::array<const Group*, 2> groups{&group, &group};
    const std::size_t length = 2 * group.n_coefficients();
    const auto coef = numbers(n_outputs * length, 1);
    const auto r = numbers(n_outputs * n_rows, 2);
    std::vector<double> scores, sums, blocks;
    for (std::size_t o = 0; o < n_outputs; ++o) {
        const auto own = std::span(r).subspan(o * n_rows, n_rows);
        const auto append = [](std::vector<double>& all, const std::vector<double>& more) {
            all.insert(all.end(), more.begin(), more.end());
        };
        append(scores, score_all(groups, std::span(coef).subspan(o * length, length), 1));
        append(sums, sum_all(groups, own, 1));
        append(blocks, blocks_all(groups, own, 1));
    }
    const auto found = score_many(groups, n_outputs, coef, 1);
    CHECK(difference({found.begin(), found.end()}, scores) < 1e-5);
    CHECK(difference(sum_many(groups, n_outputs, r, 1), sums) < 1e-5);
    CHECK(difference(blocks_many(groups, n_outputs, r, 1), blocks) < 1e-5);
    // With many threads, features are divided as well.
    for (const int n_threads : {2, 3, 16}) {
        CHECK(found == score_many(groups, n_outputs, coef, n_threads));
        CHECK(sum_many(groups, n_outputs, r, 1) == sum_many(groups, n_outputs, r, n_threads));
        CHECK(blocks_many(groups, n_outputs, r, 1) == blocks_many(groups, n_outputs, r, n_threads));
    }
}

// Scores of the first rows alone are those they have among all rows.
void first_rows_are_the_first() {
    const Coded data(9.0, CodeGrid::bins(9, 1, false), false);
    const AnyRows all = coded_rows(data.codes, data.axes);
    const AnyRows some = first_rows(all, 100);
    const std::vector<double> ones(n_features, 1.0);
    const Group of_all{{BSpline<1>{9}, DifferencePenalty(1, 10, 2), ones, {}, {}}, all};
    const Group of_some{{BSpline<1>{9}, DifferencePenalty(1, 10, 2), ones, {}, {}}, some};
    const std::array<const Group*, 1> whole{&of_all}, part{&of_some};
    const auto coef = numbers(n_features * 10, 3);
    auto expected = score_all(whole, coef, 1);
    expected.resize(100);
    CHECK(score_all(part, coef, 1) == expected);
    auto weights = numbers(100, 4);
    const auto found = sum_all(part, weights, 1);
    weights.resize(n_rows, 0.0);
    CHECK(difference(found, sum_all(whole, weights, 1)) < 1e-6);
}

// Scores of a subset of rows are those they have among all rows, in every form of storage.
void some_rows_are_those_named() {
    const Coded data(9.0, CodeGrid::bins(9, 1, false), false);
    const AnyRows all = coded_rows(data.codes, data.axes);
    const std::vector<std::int64_t> named{7, 0, 7, n_rows - 1};
    const AnyRows some = some_rows(all, named, 2);
    const std::vector<double> ones(n_features, 1.0);
    const Group of_all{{BSpline<1>{9}, DifferencePenalty(1, 10, 2), ones, {}, {}}, all};
    const Group of_some{{BSpline<1>{9}, DifferencePenalty(1, 10, 2), ones, {}, {}}, some};
    const std::array<const Group*, 1> whole{&of_all}, part{&of_some};
    const auto coef = numbers(n_features * 10, 3);
    const auto expected = score_all(whole, coef, 1);
    const auto found = score_all(part, coef, 1);
    CHECK(found.size() == named.size());
    for (std::size_t a = 0; a < named.size(); ++a)
        CHECK(found[a] == expected[static_cast<std::size_t>(named[a])]);
    CHECK(is_refused([&] { some_rows(all, std::vector<std::int64_t>{n_rows}, 1); }));
}

}  // namespace

int main() {
    for (const bool with_missing : {false, true})
        for (const std::size_t n_outputs : {std::size_t{1}, std::size_t{3}, std::size_t{17}}) {
            agrees_with_single_outputs(BSpline<0>{12}, with_missing, n_outputs);
            agrees_with_single_outputs(BSpline<1>{10}, with_missing, n_outputs);
            agrees_with_single_outputs(BSpline<1>{100}, with_missing, n_outputs);
            agrees_with_single_outputs(BSpline<3>{8}, with_missing, n_outputs);
        }
    first_rows_are_the_first();
    some_rows_are_those_named();
    return splinear::testing::result();
}
