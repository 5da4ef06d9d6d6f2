#include <limits>
#include <vector>

#include "support/banded_blocks.hpp"
#include "tests/bands.hpp"
#include "tests/check.hpp"

using namespace splinear;
using namespace splinear::testing;

namespace {

void solves_as_dense_matrices_do() {
    for (const std::size_t n : {1U, 3U, 8U, 19U})
        for (const std::size_t size : {1U, 2U, 7U, 20U})
            for (const std::size_t n_bands : {1U, 2U, 3U, 5U, 25U}) {
                const auto bands = draw_bands(n, size, n_bands);
                const BandedBlocks blocks(bands, size, n_bands);
                CHECK(blocks.is_definite() && blocks.n_blocks() == n && blocks.size() == size);
                Random random(7);
                std::vector<double> x(n * size);
                for (double& value : x) value = draw(random);
                std::vector<double> expected;
                for (std::size_t j = 0; j < n; ++j) {
                    const auto inverse =
                        inverted(dense(&bands[j * size * n_bands], size, n_bands), size);
                    const auto own = times(inverse, &x[j * size], size);
                    expected.insert(expected.end(), own.begin(), own.end());
                }
                auto some = x;
                blocks.solve(0, n, x.data());
                CHECK(difference(x, expected) < 1e-12);
                blocks.solve(n / 2, n, &some[n / 2 * size]);
                for (std::size_t i = n / 2 * size; i < x.size(); ++i) CHECK(some[i] == x[i]);
            }
}

void says_what_is_not_definite() {
    CHECK(!BandedBlocks({1.0, 2.0, 1.0, 0.0}, 2, 2).is_definite());
    CHECK(!BandedBlocks({1.0, 1.0, 1.0, 0.0}, 2, 2).is_definite());
    CHECK(!BandedBlocks({1.0, 0.0}, 1, 1).is_definite());
    CHECK(BandedBlocks({1.0, 0.5, 1.0, 0.0}, 2, 2).is_definite());
    CHECK(is_refused([] { BandedBlocks({1.0, 0.5, 1.0}, 2, 2); }));
    CHECK(is_refused([] { BandedBlocks({}, 0, 1); }));
}

}  // namespace

int main() {
    solves_as_dense_matrices_do();
    says_what_is_not_definite();
    return result();
}
