// Leaves found by cells and steps, as a kernel does it, against counting the fences below a value.
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "model/few_cells.hpp"
#include "support/random.hpp"
#include "tests/check.hpp"
#include "tests/embedding.hpp"

using namespace splinear;
using namespace splinear::testing;

namespace {

constexpr std::size_t most_floats = 1000;

// What a kernel makes of it: the leaf of x, and how many entries a table has.
struct Read {
    explicit Read(const std::vector<float>& from) : tree(from) {
        std::memcpy(&map, tree.data(), sizeof map);
        std::memcpy(leaves.data(), &tree[simd::few_cell_map_floats], sizeof leaves);
        n_entries = std::bit_cast<std::int32_t>(tree[6]);
    }

    std::size_t leaf(float x) const {
        const float y = std::min(std::max(x - map.origin, map.least), map.most);
        const auto bits = std::bit_cast<std::uint32_t>(y) >> map.shift;
        std::size_t at = leaves[bits % leaves.size()];
        for (int step = 0; step < map.window; ++step)
            if (x >= tree[simd::few_cell_floats + at]) ++at;
        return at;
    }

    const std::vector<float>& tree;
    simd::CellMap map;
    std::array<std::uint8_t, simd::n_few_cells> leaves;
    int n_entries;
};

void compare(const std::vector<double>& knots) {
    const FewCells cells(knots);
    std::vector<float> tree(most_floats);
    cells.write_map(tree.data());
    CHECK(cells.are_enough());
    const auto record = [](std::size_t place) {
        const auto number = static_cast<float>(place);
        return std::array{number, number + 0.25f, number + 0.5f, number + 0.75f};
    };
    const std::size_t n_written = cells.write_leaves(record, tree.data());
    const Read read(tree);
    const auto n = static_cast<std::size_t>(read.n_entries);
    CHECK(n_written == simd::few_cell_floats + 5 * n);
    CHECK(read.map.window >= 1 && read.map.window <= simd::most_steps);

    const auto check_leaf = [&](float x) {
        std::size_t expected = 0;
        for (std::size_t k = 1; k < knots.size(); k += 2)
            if (static_cast<double>(x) >= knots[k]) ++expected;
        const std::size_t leaf = read.leaf(x);
        CHECK(leaf == expected);
        for (std::size_t i = 0; i < 4; ++i)
            CHECK(tree[simd::few_cell_floats + (1 + i) * n + leaf] == record(2 * leaf)[i]);
    };
    Random random{5};
    for (const double knot : knots) {
        const auto x = static_cast<float>(knot);
        for (const float to : {-1e30f, x, 1e30f}) check_leaf(std::nextafterf(x, to));
    }
    for (int i = 0; i < 2000; ++i) {
        const double u = 1.2 * drawn(random) - 0.1;
        check_leaf(static_cast<float>(knots.front() + u * (knots.back() - knots.front())));
    }
    check_leaf(-std::numeric_limits<float>::max());
    check_leaf(std::numeric_limits<float>::max());
}

std::vector<double> singles(std::vector<double> knots) {
    for (double& knot : knots) knot = static_cast<double>(static_cast<float>(knot));
    return knots;
}

}  // namespace

int main() {
    for (const double begin : {0.0, -3.0, 1990.0})
        for (const std::size_t n_bins : {1u, 2u, 3u, 20u, 40u, 61u}) {
            std::vector<double> even;
            std::vector<double> growing;
            for (std::size_t k = 0; k <= n_bins; ++k) {
                const double u = static_cast<double>(k) / static_cast<double>(n_bins);
                even.push_back(begin + 8.0 * u);
                growing.push_back(begin + 8.0 * std::pow(u, 4.0) + u);
            }
            compare(singles(even));
            compare(singles(growing));
        }
    // Half of the knots in a short part of the axis, far from its ends: a tree is better.
    std::vector<double> dense{0.0, 100.0, 200.0, 300.0};
    for (int k = 0; k < 30; ++k) dense.push_back(500.0 + 1e-2 * k);
    dense.push_back(1000.0);
    CHECK(!FewCells(singles(dense)).are_enough());
    return result();
}
