#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "pairs/surfaces.hpp"
#include "support/random.hpp"
#include "tests/check.hpp"

using namespace splinear;
using splinear::testing::difference;
using splinear::testing::is_refused;

namespace {

constexpr std::size_t n_rows = 5000;  // more than one piece of rows
constexpr std::size_t n_features = 3;
constexpr std::array<std::int64_t, n_features> n_nodes{5, 2, 4};

double uniform(Random& random) { return static_cast<double>(random.next() >> 11) * 0x1.0p-53; }

// Positions between nodes, at nodes, at both ends, and negative.
std::vector<float> draw_positions() {
    Random random(7);
    std::vector<float> out;
    for (std::size_t j = 0; j < n_features; ++j)
        for (std::size_t i = 0; i < n_rows; ++i) {
            const double last = static_cast<double>(n_nodes[j] - 1);
            const double at = last * uniform(random);
            const std::size_t kind = i % 7;
            out.push_back(static_cast<float>(kind == 0   ? std::floor(at)
                                             : kind == 1 ? last
                                             : kind == 2 ? 0.0
                                             : kind == 3 ? -1.0
                                                         : at));
        }
    return out;
}

std::vector<double> draw(std::size_t n, unsigned seed) {
    Random random(seed);
    std::vector<double> out(n);
    for (double& value : out) value = uniform(random) - 0.5;
    return out;
}

// The function of node k at position p, written without cells.
double hat(double p, std::int64_t k) {
    return std::max(0.0, 1.0 - std::abs(p - static_cast<double>(k)));
}

// All functions of all surfaces at all rows, n_rows x n_nodes, by a slow and simple method.
std::vector<double> dense_design(const std::vector<float>& positions,
                                 const std::vector<Surface>& surfaces) {
    std::vector<double> out;
    for (std::size_t i = 0; i < n_rows; ++i)
        for (const Surface& s : surfaces) {
            const double p = positions[static_cast<std::size_t>(s.first) * n_rows + i];
            const double q = positions[static_cast<std::size_t>(s.second) * n_rows + i];
            for (std::int64_t k = 0; k < s.n_first; ++k)
                for (std::int64_t l = 0; l < s.n_second; ++l)
                    out.push_back(p < 0.0 || q < 0.0 ? 0.0 : hat(p, k) * hat(q, l));
        }
    return out;
}

struct Data {
    std::vector<float> values = draw_positions();
    std::vector<Surface> surfaces{{0, 1, 5, 2}, {2, 0, 4, 5}, {1, 2, 2, 4}};
    SurfaceRows<float> rows{{values, n_features, n_rows}, surfaces};
    std::vector<double> design = dense_design(values, surfaces);
    std::size_t n = rows.n_nodes();
};

void scores_and_sums(const Data& data) {
    CHECK(data.n == 10 + 20 + 8 && data.rows.n_rows() == n_rows);
    const auto tables = draw(2 * data.n, 1), r = draw(2 * n_rows, 2);
    std::vector<double> scores(2 * n_rows), sums(2 * data.n);
    for (std::size_t k = 0; k < 2; ++k)
        for (std::size_t i = 0; i < n_rows; ++i)
            for (std::size_t c = 0; c < data.n; ++c) {
                const double b = data.design[i * data.n + c];
                scores[k * n_rows + i] += b * tables[k * data.n + c];
                sums[k * data.n + c] += b * r[k * n_rows + i];
            }
    CHECK(difference(data.rows.score(2, tables, 1), scores) < 1e-12);
    CHECK(difference(data.rows.sum(2, r, 1), sums) < 1e-12);
}

void blocks_by_bands(const Data& data) {
    const auto h = draw(2 * n_rows, 3);
    const auto found = data.rows.blocks(2, h, 1);
    std::vector<double> expected(2 * data.n * n_surface_bands);
    std::size_t first = 0;
    for (const Surface& s : data.surfaces) {
        const auto m = static_cast<std::size_t>(s.n_second);
        // The neighbor of node (k, l) in each band: below, or to the right, or both.
        const std::array<std::array<std::int64_t, 2>, 5> steps{
            {{0, 0}, {0, 1}, {1, -1}, {1, 0}, {1, 1}}};
        for (std::size_t o = 0; o < 2; ++o)
            for (std::int64_t k = 0; k < s.n_first; ++k)
                for (std::int64_t l = 0; l < s.n_second; ++l)
                    for (std::size_t band = 0; band < 5; ++band) {
                        const std::int64_t k2 = k + steps[band][0], l2 = l + steps[band][1];
                        if (k2 >= s.n_first || l2 < 0 || l2 >= s.n_second) continue;
                        const std::size_t a =
                            first + static_cast<std::size_t>(k) * m + static_cast<std::size_t>(l);
                        const std::size_t b =
                            first + static_cast<std::size_t>(k2) * m + static_cast<std::size_t>(l2);
                        for (std::size_t i = 0; i < n_rows; ++i)
                            expected[(o * data.n + a) * 5 + band] += h[o * n_rows + i] *
                                                                     data.design[i * data.n + a] *
                                                                     data.design[i * data.n + b];
                    }
        first += s.size();
    }
    CHECK(difference(found, expected) < 1e-12);
}

void threads_change_no_bit(const Data& data) {
    const auto tables = draw(2 * data.n, 1), r = draw(2 * n_rows, 2);
    for (const int n_threads : {2, 5}) {
        CHECK(data.rows.score(2, tables, n_threads) == data.rows.score(2, tables, 1));
        CHECK(data.rows.sum(2, r, n_threads) == data.rows.sum(2, r, 1));
        CHECK(data.rows.blocks(2, r, n_threads) == data.rows.blocks(2, r, 1));
    }
}

void what_does_not_fit_is_refused(const Data& data) {
    const auto make = [](std::vector<float> values, Surface surface) {
        return is_refused([&] { SurfaceRows<float>({values, 2, 3}, {surface}); });
    };
    const std::vector<float> right{0.0F, 1.0F, 2.0F, -1.0F, 0.5F, 1.0F};
    CHECK(!make(right, {0, 1, 3, 2}));
    CHECK(make(right, {0, 2, 3, 2}) && make(right, {-1, 1, 3, 2}));  // features
    CHECK(make(right, {0, 1, 2, 2}) && make(right, {1, 0, 2, 2}));   // positions beyond the nodes
    CHECK(make(right, {0, 1, 3, 1}) && make(right, {0, 1, -3, 2}));  // too few nodes
    CHECK(make(right, {0, 1, 3, std::int64_t{1} << 40}));            // too many
    CHECK(make({0.0F, 1.0F, 2.0F, 0.0F, 0.0F}, {0, 1, 3, 2}));       // too few positions
    std::vector<float> nan = right;
    nan[4] = std::numeric_limits<float>::quiet_NaN();
    CHECK(make(nan, {0, 1, 3, 2}));
    const std::vector<double> wrong(2 * data.n + 1);
    CHECK(is_refused([&] { data.rows.score(2, wrong, 1); }));
    CHECK(is_refused([&] { data.rows.sum(2, wrong, 1); }));
    CHECK(is_refused([&] { data.rows.blocks(2, wrong, 1); }));
}

void nothing_at_all() {
    const SurfaceRows<float> none({{}, 0, 0}, {});
    CHECK(none.n_nodes() == 0 && none.score(1, {}, 2).empty() && none.sum(1, {}, 2).empty());
    const std::vector<float> nowhere(4, -1.0F);
    const SurfaceRows<float> rows({nowhere, 2, 2}, {{0, 1, 2, 2}});
    const std::vector<double> ones(4, 1.0);
    CHECK(rows.score(1, ones, 1) == std::vector<double>(2, 0.0));
    CHECK(rows.sum(1, std::vector<double>(2, 1.0), 1) == std::vector<double>(4, 0.0));
}

}  // namespace

int main() {
    const Data data;
    scores_and_sums(data);
    blocks_by_bands(data);
    threads_change_no_bit(data);
    what_does_not_fit_is_refused(data);
    nothing_at_all();
    return splinear::testing::result();
}
