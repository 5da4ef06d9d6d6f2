#include <cstdint>
#include <numeric>
#include <vector>

#include "model/group_penalty.hpp"
#include "tests/bands.hpp"
#include "tests/check.hpp"

using namespace splinear;
using namespace splinear::testing;

namespace {

constexpr std::size_t n = 3;
constexpr std::size_t size = 5;

std::vector<double> draw_all(std::size_t count, double least, std::uint64_t seed) {
    Random random(seed);
    std::vector<double> out(count);
    for (double& value : out) value = least + std::abs(draw(random));
    return out;
}

// A penalty of three features; the last coefficient of the second is not used. The first difference
// is a level, which does not bend.
GroupPenalty make(bool has_missing, bool has_levels, bool has_parts = false) {
    const std::size_t stride = has_missing ? size + 1 : size;
    std::vector<std::uint8_t> used(n * stride, 1);
    std::vector<double> weights = draw_all(n * size, 0.5, 1);
    used[stride + size - 1] = 0;
    weights[2 * size - 1] = 0.0;
    const auto missing = has_missing ? draw_all(n, 0.5, 3) : std::vector<double>{};
    std::vector<double> rows = draw_all(2 * n * size, 0.5, 4);
    for (std::size_t j = 0; j < n; ++j) std::fill_n(&rows[2 * j * size], 2, 0.0);
    std::fill_n(&rows[2 * (2 * size - 2)], 2, 0.0);
    std::vector<double> line = draw_all(n * size, 0.5, 10);
    for (std::size_t j = 0; j < n; ++j) line[j * size] = 0.0;
    line[2 * size - 1] = 0.0;
    const auto variance = draw_all(n, 0.01, 9);
    const auto lines = draw_all(n, 0.5, 11);
    return {DifferencePenalty(1, size, 2),
            used,
            weights,
            draw_all(n, 0.5, 2),
            missing,
            has_parts ? CurveParts{rows, variance, line, lines} : CurveParts{},
            has_levels};
}

std::vector<double> pull(const GroupPenalty& penalty, const std::vector<double>& theta) {
    std::vector<double> out(theta.size());
    penalty.add_pull(0, n, theta.data(), out.data());
    return out;
}

std::vector<double> draw_used(const GroupPenalty& penalty, std::uint64_t seed) {
    auto theta = draw_all(penalty.n_parameters(), -0.5, seed);
    for (std::size_t i = 0; i < theta.size(); ++i)
        if (!penalty.is_used(i)) theta[i] = 0.0;
    return theta;
}

// S is symmetric, soften() inverts it, and g'S^{-1} g = theta'S theta for g = S theta.
void softness_undoes_stiffness() {
    for (const int kind : {0, 1, 2, 3}) {
        const bool has_missing = kind % 2 == 1;
        const GroupPenalty penalty = make(has_missing, false, kind > 1);
        const auto theta = draw_used(penalty, 5);
        const auto other = draw_used(penalty, 6);
        const auto g = pull(penalty, theta);
        const auto dot = [](const auto& a, const auto& b) {
            return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
        };
        CHECK(near(dot(g, other), dot(pull(penalty, other), theta), 1e-12));
        std::vector<double> soft(n);
        penalty.write_softness(0, n, g.data(), soft.data());
        CHECK(near(std::accumulate(soft.begin(), soft.end(), 0.0), dot(g, theta), 1e-12));
        std::vector<double> back(theta.size());
        penalty.soften(0, n, g.data(), back.data());
        for (std::size_t i = 0; i < back.size(); ++i) CHECK(near(back[i], theta[i], 1e-12));
        CHECK(g[penalty.stride() + size - 1] == 0.0);
        std::vector<double> some(n * penalty.stride());
        penalty.add_pull(1, 3, &theta[penalty.stride()], some.data());
        for (std::size_t i = 0; i < 2 * penalty.stride(); ++i)
            CHECK(some[i] == g[penalty.stride() + i]);
    }
}

// The penalty is what the best slope of the line leaves: it is the least over slopes, written out.
void parts_are_added() {
    const GroupPenalty plain = make(false, false);
    const GroupPenalty bent = make(false, false, true);
    const std::vector<double> rows = draw_all(2 * n * size, 0.5, 4);
    const std::vector<double> line = draw_all(n * size, 0.5, 10);
    const auto weights = draw_all(n * size, 0.5, 1);
    const auto steps = draw_all(n, 0.5, 2);
    const auto variance = draw_all(n, 0.01, 9);
    const auto lines = draw_all(n, 0.5, 11);
    const auto theta = draw_used(plain, 5);
    const auto g = pull(bent, theta);
    const double found = std::inner_product(g.begin(), g.end(), theta.begin(), 0.0);
    // The sum over features for slopes that are `share` of the best ones.
    const auto sum = [&](double share) {
        double total = 0.0;
        for (std::size_t j = 0; j < n; ++j) {
            const std::size_t last = j == 1 ? size - 1 : size;
            const auto cost = [&](double slope) {
                double own = slope * slope / lines[j];
                double before = 0.0;
                for (std::size_t k = 0; k < last; ++k) {
                    const std::size_t i = j * size + k;
                    const double h = k > 0 ? line[i] : 0.0;
                    const double d = theta[i] - (k > 0 ? theta[i - 1] : 0.0) - slope * h;
                    own += weights[i] * d * d / steps[j];
                    const double* row = &rows[2 * (i - 1)];
                    if (k > 1) {
                        const double bend = row[0] * before + row[1] * d;
                        own += bend * bend / variance[j];
                    }
                    before = d;
                }
                return own;
            };
            // A parabola of the slope, through three points.
            const double left = cost(-1.0);
            const double middle = cost(0.0);
            const double right = cost(1.0);
            const double best = 0.5 * (left - right) / (left - 2.0 * middle + right);
            total += cost(share * best);
        }
        return total;
    };
    CHECK(near(found, sum(1.0), 1e-12));
    CHECK(sum(0.9) > found && sum(1.1) > found);
}

// After take_levels() the level of a curve is 0; after take_slopes() the gradient along it is.
void levels_are_taken_off() {
    for (const bool has_missing : {false, true}) {
        const GroupPenalty penalty = make(has_missing, true);
        auto theta = draw_used(penalty, 7);
        auto g = draw_used(penalty, 8);
        std::vector<double> levels(n);
        std::vector<double> none(n);
        penalty.take_levels(0, n, theta.data(), levels.data());
        penalty.take_levels(0, n, theta.data(), none.data());
        penalty.take_slopes(0, n, g.data());
        for (std::size_t j = 0; j < n; ++j) {
            const auto begin = g.begin() + static_cast<std::ptrdiff_t>(j * penalty.stride());
            CHECK(levels[j] != 0.0 && std::abs(none[j]) < 1e-15);
            CHECK(std::abs(std::accumulate(begin, begin + size, 0.0)) < 1e-14);
        }
    }
    CHECK(make(true, false).level_weights().empty());
}

void wrong_sizes_are_refused() {
    const DifferencePenalty penalty(1, size, 2);
    const std::vector<std::uint8_t> used(n * size, 1);
    const std::vector<double> weights(n * size, 1.0);
    const std::vector<double> t(n, 1.0);
    CHECK(is_refused([&] { GroupPenalty(penalty, {1}, weights, t, {}, {}, false); }));
    CHECK(is_refused([&] { GroupPenalty(penalty, used, t, t, {}, {}, false); }));
    CHECK(is_refused([&] { GroupPenalty(penalty, used, weights, {}, {}, {}, false); }));
    CHECK(is_refused([&] { GroupPenalty(penalty, used, weights, t, t, {}, false); }));
    const std::vector<double> rows(2 * n * size, 1.0);
    const auto refused = [&](const CurveParts& parts) {
        return is_refused([&] { GroupPenalty(penalty, used, weights, t, {}, parts, false); });
    };
    CHECK(!refused({rows, t, weights, t}));
    CHECK(refused({weights, t, weights, t}));
    CHECK(refused({rows, rows, weights, t}));
    CHECK(refused({rows, t, rows, t}));
    CHECK(refused({rows, t, weights, rows}));
}

// Prior variances are those of M_j^{-1}, inverted as a dense matrix.
void prior_variances_are_those_of_the_inverse() {
    const GroupPenalty penalty = make(true, false, true);
    std::vector<double> rows = draw_all(2 * n * size, 0.5, 4);
    for (std::size_t j = 0; j < n; ++j) std::fill_n(&rows[2 * j * size], 2, 0.0);
    std::fill_n(&rows[2 * (2 * size - 2)], 2, 0.0);
    const auto weights = draw_all(n * size, 0.5, 1);
    const auto steps = draw_all(n, 0.5, 2);
    const auto missing = draw_all(n, 0.5, 3);
    const auto variance = draw_all(n, 0.01, 9);
    const auto found = penalty.prior_variances(rows);
    for (std::size_t j = 0; j < n; ++j) {
        const std::size_t last = j == 1 ? size - 1 : size;
        std::vector<double> M(last * last);
        for (std::size_t k = 0; k < last; ++k) {
            M[k * last + k] += weights[j * size + k] / steps[j];
            if (k + 1 == last) break;
            const double* row = &rows[2 * (j * size + k)];
            M[k * last + k] += row[0] * row[0] / variance[j];
            M[(k + 1) * last + k + 1] += row[1] * row[1] / variance[j];
            M[k * last + k + 1] = M[(k + 1) * last + k] = row[0] * row[1] / variance[j];
        }
        const auto V = inverted(M, last);
        for (std::size_t k = 0; k < last; ++k) {
            CHECK(near(found.steps[j * (size + 1) + k], V[k * last + k], 1e-12));
            if (k + 1 == last) break;
            const double* row = &rows[2 * (j * size + k)];
            const double expected = row[0] * row[0] * V[k * last + k] +
                                    2.0 * row[0] * row[1] * V[k * last + k + 1] +
                                    row[1] * row[1] * V[(k + 1) * last + k + 1];
            CHECK(near(found.bends[j * size + k], expected, 1e-12));
        }
        CHECK(found.steps[j * (size + 1) + size] == missing[j]);
    }
    CHECK(is_refused([&] { make(true, false).prior_variances(rows); }));
}

}  // namespace

int main() {
    softness_undoes_stiffness();
    parts_are_added();
    prior_variances_are_those_of_the_inverse();
    levels_are_taken_off();
    wrong_sizes_are_refused();
    return result();
}
