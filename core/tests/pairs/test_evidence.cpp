#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "pairs/evidence.hpp"
#include "support/random.hpp"
#include "tests/check.hpp"

using namespace splinear;
using splinear::testing::is_refused;
using splinear::testing::near;

namespace {

constexpr std::size_t n_rows = 3000, n_features = 3;

struct Data {
    std::vector<std::uint8_t> cells;
    std::vector<double> g, h;
    std::vector<std::int64_t> pairs{0, 1, 2, 0, 1, 2};

    Data() {
        Random random(3);
        for (std::size_t i = 0; i < n_features * n_rows; ++i)
            cells.push_back(static_cast<std::uint8_t>(random.next() % (i < n_rows ? 16 : 5)));
        for (std::size_t i = 0; i < n_rows; ++i) {
            g.push_back(static_cast<double>(random.next() % 1000) / 500.0 - 1.0);
            h.push_back(static_cast<double>(random.next() % 1000) / 1000.0);
        }
    }
};

// The formula of the header, for all cells that contain rows.
double slowly(const Data& data, std::size_t a, std::size_t b) {
    std::map<std::pair<int, int>, std::pair<double, double>> sums;
    for (std::size_t i = 0; i < n_rows; ++i) {
        auto& [g, h] = sums[{data.cells[a * n_rows + i], data.cells[b * n_rows + i]}];
        g += data.g[i];
        h += data.h[i];
    }
    double found = 0.0, chance = 0.0, variance = 0.0;
    for (const auto& [cell, both] : sums) {
        const auto& [g, h] = both;
        found += 0.5 * g * g / (h + 1.0);
        chance += 0.5 * h / (h + 1.0);
        variance += 0.5 * std::pow(h / (h + 1.0), 2);
    }
    return (found - chance) / std::sqrt(variance);
}

void is_that_of_the_formula(const Data& data) {
    const auto found = pair_evidence(data.cells, n_features, data.g, data.h, data.pairs, 1);
    CHECK(found.size() == 3);
    for (std::size_t p = 0; p < 3; ++p) {
        const auto a = static_cast<std::size_t>(data.pairs[2 * p]);
        const auto b = static_cast<std::size_t>(data.pairs[2 * p + 1]);
        CHECK(near(found[p], slowly(data, a, b), 1e-10));
    }
    CHECK(found == pair_evidence(data.cells, n_features, data.g, data.h, data.pairs, 3));
}

void without_rows_there_is_none() {
    const std::vector<std::int64_t> pairs{0, 1};
    CHECK(pair_evidence({}, 2, {}, {}, pairs, 1) == std::vector<double>{0.0});
    CHECK(pair_evidence({}, 0, {}, {}, {}, 1).empty());
}

void what_does_not_fit_is_refused(Data data) {
    const auto evidence = [&] {
        pair_evidence(data.cells, n_features, data.g, data.h, data.pairs, 1);
    };
    CHECK(!is_refused(evidence));
    data.pairs[3] = 3;
    CHECK(is_refused(evidence));
    data.pairs[3] = -1;
    CHECK(is_refused(evidence));
    data.pairs[3] = 0;
    data.cells[5] = 16;
    CHECK(is_refused(evidence));
    data.cells[5] = 0;
    data.h.pop_back();
    CHECK(is_refused(evidence));
    data.g.pop_back();
    CHECK(is_refused(evidence));
    data = Data();
    data.pairs.pop_back();
    CHECK(is_refused(evidence));
}

}  // namespace

int main() {
    const Data data;
    is_that_of_the_formula(data);
    without_rows_there_is_none();
    what_does_not_fit_is_refused(data);
    return splinear::testing::result();
}
