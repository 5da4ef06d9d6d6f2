// Several groups together: as one operator, in training, and in passes over the rows.
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "operators/grouped_rows.hpp"
#include "operators/hessian.hpp"
#include "operators/passes.hpp"
#include "solve/train.hpp"
#include "tests/check.hpp"
#include "tests/embedding.hpp"

using namespace splinear;
using namespace splinear::testing;

namespace {

constexpr Row n_rows = 400;

class Quiet final : public Monitor {
    bool poll() override { return false; }
    bool pass(const Progress&) override { return false; }
};

// Curves, curves with missing values, and levels with missing values.
struct Mixed {
    Mixed()
        : plain(n_rows, 4, 0.0, 12.0, 0.0, 1),
          holey(n_rows, 3, 0.0, 7.0, 0.25, 2),
          levels(n_rows, 2, 0.0, 5000.0, 0.1, 3),
          plain_codes(plain.coded(CodeGrid::bins(12, 1, false))),
          holey_codes(holey.coded(CodeGrid::bins(7, 2, true))),
          level_codes(levels.coded(CodeGrid::bins(5000, 0, true))),
          plain_rows(coded_rows(plain_codes, plain.axes)),
          holey_rows(coded_rows(holey_codes, holey.axes)),
          level_rows(coded_rows(level_codes, levels.axes)),
          first(plain.group(plain_rows, BSpline<1>{12}, DifferencePenalty(1, 13, 2), false)),
          second(holey.group(holey_rows, BSpline<2>{7}, DifferencePenalty(2, 9, 3), true)),
          third(levels.group(level_rows, BSpline<0>{5000}, DifferencePenalty(0, 5000, 1), true)) {}

    Vectors phi() const {
        Vectors all = embeddings(first);
        for (const Group* group : {&second, &third})
            for (std::size_t i = 0; i < all.size(); ++i) {
                const auto more = embedding(*group, static_cast<Row>(i));
                all[i].insert(all[i].end(), more.begin(), more.end());
            }
        return all;
    }

    // B_i in the layout of operators/passes.hpp.
    std::vector<double> raw(std::size_t i) const {
        std::vector<double> out;
        for (const Group* group : {&first, &second, &third}) {
            const auto row = raw_row(*group, static_cast<Row>(i));
            for (std::size_t j = 0; j < group->n_features(); ++j)
                out.insert(out.end(), &row[j * (group->size() + 1)],
                           &row[j * (group->size() + 1)] + group->stride());
        }
        return out;
    }

    DrawnRows plain, holey, levels;
    Codes plain_codes, holey_codes, level_codes;
    AnyRows plain_rows, holey_rows, level_rows;
    Group first, second, third;
    std::array<const Group*, 3> groups{&first, &second, &third};
};

void groups_agree_with_the_embedding(const Mixed& data) {
    agrees_with(GroupedRows(data.groups, 2), data.phi(), 3e-5);
    CHECK(n_coefficients(data.groups) == 4 * 13 + 3 * 10 + 2 * 5001);
}

void passes_agree_with_the_rows(const Mixed& data) {
    const std::size_t length = n_coefficients(data.groups);
    Random random(4);
    std::vector<double> coef(length), r, h;
    for (double& c : coef) c = drawn(random) - 0.5;
    std::vector<double> scores(n_rows), sums(length);
    std::vector<std::int64_t> places(length, -1);
    // Only some of the coefficients have a place in the matrix.
    std::int64_t n = 0;
    for (std::size_t k = 0; k < length; ++k)
        if (k < 82 ? k % 11 != 3 : k % 29 == 0 || k + 1 == length) places[k] = n++;
    const auto size = static_cast<std::size_t>(n) + 1;
    std::vector<double> hessian(size * size);
    Vectors raw;
    for (std::size_t i = 0; i < n_rows; ++i) {
        raw.push_back(data.raw(i));
        r.push_back(drawn(random) - 0.5);
        h.push_back(i % 10 == 0 ? 0.0 : drawn(random));
        scores[i] = dot(coef, raw[i]);
        std::vector<double> row(size);
        row.back() = 2.0;
        for (std::size_t k = 0; k < length; ++k) {
            sums[k] += r[i] * raw[i][k];
            if (places[k] >= 0) row[static_cast<std::size_t>(places[k])] = raw[i][k];
        }
        if (i < 300)  // only the first rows
            for (std::size_t a = 0; a < size; ++a)
                for (std::size_t b = 0; b < size; ++b)
                    hessian[a * size + b] += h[i] * row[a] * row[b];
    }
    const auto some = std::span(h).first(300);
    CHECK(difference(score_all(data.groups, coef, 2), scores) < 1e-5);
    CHECK(difference(sum_all(data.groups, r, 2), sums) < 1e-5);
    CHECK(difference(hessian_some(data.groups, places, size, some, 2.0, 2), hessian) < 1e-9);
    CHECK(sum_all(data.groups, r, 1) == sum_all(data.groups, r, 3));
    CHECK(hessian_some(data.groups, places, size, some, 2.0, 1) ==
          hessian_some(data.groups, places, size, some, 2.0, 3));

    const std::vector<double> blocks = blocks_all(data.groups, h, 2);
    CHECK(blocks == blocks_all(data.groups, h, 1));
    std::size_t at = 0, first = 0;
    for (const Group* group : data.groups) {
        const std::size_t support = group == &data.first ? 2 : group == &data.second ? 3 : 1;
        for (std::size_t j = 0; j < group->n_features(); ++j, first += group->stride())
            for (std::size_t k = 0; k < group->stride(); ++k)
                for (std::size_t p = 0; p < support; ++p, ++at) {
                    double expected = 0.0;
                    const bool inside = p == 0 || k + p < group->size();
                    for (std::size_t i = 0; inside && i < n_rows; ++i)
                        expected += h[i] * raw[i][first + k] * raw[i][first + k + p];
                    if (!(std::abs(blocks[at] - expected) < 1e-9)) CHECK(false);
                }
    }
    CHECK(at == blocks.size());
}

std::vector<std::int8_t> classes() {
    Random random(8);
    std::vector<std::int8_t> y(n_rows);
    for (auto& v : y) v = drawn(random) < 0.5 ? -1 : 1;
    return y;
}

// The certificate of mixed groups holds on the explicit embedding.
void training_is_certified(const Mixed& data) {
    const auto y = classes();
    const std::array<double, 2> factors{0.1, 1.0};
    Quiet quiet;
    const auto path = train(data.groups, SquaredHinge{}, {y, {}, {}, 0.5, 1.0, 1.0},
                            {1e-5, 5000, 0, 2, true}, {}, factors, quiet);
    const DualResult& found = path.back();
    CHECK(found.converged && found.coef.size() == n_coefficients(data.groups));
    const Vectors phi = data.phi();
    std::vector<double> w(phi[0].size());
    double bias = 0.0;
    for (std::size_t i = 0; i < n_rows; ++i) {
        bias += found.alpha[i] * y[i];
        for (std::size_t k = 0; k < w.size(); ++k) w[k] += found.alpha[i] * y[i] * phi[i][k];
    }
    double primal = 0.5 * dot(w, w) + 0.5 * bias * bias;
    for (std::size_t i = 0; i < n_rows; ++i)
        primal += (y[i] > 0 ? 1.0 : 0.5) * SquaredHinge{}.value(y[i] * (dot(w, phi[i]) + bias));
    CHECK(near(found.primal / primal, 1.0, 1e-4));

    // Continues from a model given by its coefficients.
    const std::array<double, 1> one{1.0};
    const auto next = train(data.groups, SquaredHinge{}, {y, {}, {}, 0.5, 1.0, 1.0},
                            {1e-5, 5000, 0, 2}, {{}, found.coef, found.intercept}, one, quiet);
    CHECK(next.front().converged && next.front().primal < found.primal);
}

// The features of one group, divided into two.
void two_groups_are_as_good_as_one() {
    const DrawnRows data(n_rows, 6, 0.0, 9.0, 0.0);
    const auto y = classes();
    const AnyRows all = data.values();
    const BSpline<1> basis{9};
    const DifferencePenalty penalty(1, 10, 2);
    const Group whole = data.group(all, basis, penalty, false);
    const auto part = [&](std::vector<std::int64_t> columns) {
        const std::vector<double> zeros(columns.size(), 0.0), ones(columns.size(), 1.0),
            ends(columns.size(), 9.0);
        struct Part {
            std::vector<std::int64_t> columns;
            Axes axes;
            AnyRows rows;
            Group group;
            Part(const DrawnRows& from, std::vector<std::int64_t> which,
                 const std::vector<double>& zero, const std::vector<double>& one,
                 const std::vector<double>& end, const Group& like)
                : columns(std::move(which)),
                  axes(zero, one, zero, end),
                  rows(ValueRows<double>(from.view(), columns, axes, from.order)),
                  group{{like.basis, like.penalty, {}, {}, {}}, rows} {
                for (const std::int64_t j : columns)
                    group.variance.push_back(like.variance[static_cast<std::size_t>(j)]);
            }
        };
        return std::make_unique<Part>(data, std::move(columns), zeros, ones, ends, whole);
    };
    const auto left = part({4, 0, 1});
    const auto right = part({5, 2, 3});
    Quiet quiet;
    const std::array<double, 1> one{1.0};
    const auto fit = [&](Groups groups) {
        return train(groups, Hinge{}, {y, {}, {}, 1.0, 1.0, 1.0}, {1e-7, 20000, 0, 1}, {}, one,
                     quiet)
            .front();
    };
    const DualResult together = fit(std::array<const Group*, 1>{&whole});
    const DualResult apart = fit(std::array<const Group*, 2>{&left->group, &right->group});
    CHECK(together.converged && apart.converged);
    CHECK(near(together.primal, apart.primal, 1e-6));
    for (std::size_t k = 0; k < 10; ++k)
        CHECK(std::abs(together.coef[40 + k] - apart.coef[k]) < 1e-2);
}

void arrays_of_the_wrong_size_are_refused(const Mixed& data) {
    const std::vector<double> few(3);
    const std::vector<std::int64_t> same(n_coefficients(data.groups), 5);
    std::vector<std::int64_t> places(same.size());
    std::iota(places.begin(), places.end(), 0);
    const std::size_t n = places.size() + 1;
    CHECK(is_refused([&] { score_all(data.groups, few, 1); }));
    CHECK(is_refused([&] { sum_all(data.groups, few, 1); }));
    CHECK(is_refused([&] { blocks_all(data.groups, few, 1); }));
    CHECK(is_refused([&] { hessian_some(data.groups, same, n, few, 1.0, 1); }));
    CHECK(is_refused([&] { hessian_some(data.groups, places, n - 1, few, 1.0, 1); }));
    CHECK(!is_refused([&] { hessian_some(data.groups, places, n, few, 1.0, 1); }));
    CHECK(is_refused([&] { score_all({}, {}, 1); }));
    const DrawnRows other(n_rows - 1, 2, 0.0, 4.0, 0.0);
    const AnyRows rows = other.values();
    const Group shorter = other.group(rows, BSpline<1>{4}, DifferencePenalty(1, 5, 2), false);
    CHECK(is_refused([&] { check(std::array<const Group*, 2>{&data.first, &shorter}); }));
    const auto y = classes();
    const std::array<double, 1> one{1.0};
    Quiet quiet;
    CHECK(is_refused([&] {
        train(data.groups, Hinge{}, {std::span(y).first(9), {}, {}, 1.0, 1.0, 1.0},
              {1e-2, 10, 0, 1}, {}, one, quiet);
    }));
    CHECK(is_refused([&] {
        train(data.groups, Hinge{}, {y, {}, {}, 1.0, 1.0, 1.0}, {1e-2, 10, 0, 1}, {{}, few, 0.0},
              one, quiet);
    }));
}

}  // namespace

int main() {
    const Mixed data;
    groups_agree_with_the_embedding(data);
    passes_agree_with_the_rows(data);
    training_is_certified(data);
    two_groups_are_as_good_as_one();
    arrays_of_the_wrong_size_are_refused(data);
    return splinear::testing::result();
}
