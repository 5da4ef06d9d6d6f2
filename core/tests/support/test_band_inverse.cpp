#include <cmath>
#include <limits>
#include <vector>

#include "support/band_inverse.hpp"
#include "support/random.hpp"
#include "tests/check.hpp"

using namespace splinear;
using splinear::testing::is_refused;
using splinear::testing::near;

namespace {

// A lower triangular matrix by bands; entries beyond its end are not read.
std::vector<double> draw_factor(std::size_t n, std::size_t n_bands) {
    Random random(n * 100 + n_bands);
    std::vector<double> out(n * n_bands);
    for (double& value : out) value = static_cast<double>(random.next() % 2000) / 1000.0 - 1.0;
    for (std::size_t k = 0; k < n; ++k) out[k] = 1.0 + std::abs(out[k]);
    for (std::size_t p = 1; p < n_bands; ++p)
        for (std::size_t k = n > p ? n - p : 0; k < n; ++k)
            out[p * n + k] = std::numeric_limits<double>::quiet_NaN();
    return out;
}

// (L L')^{-1}, column by column, by forward and backward substitution.
std::vector<double> dense_inverse(const std::vector<double>& factor, std::size_t n,
                                  std::size_t n_bands) {
    const auto L = [&](std::size_t i, std::size_t j) {
        return i >= j && i - j < n_bands ? factor[(i - j) * n + j] : 0.0;
    };
    std::vector<double> out(n * n);
    for (std::size_t c = 0; c < n; ++c) {
        std::vector<double> x(n);
        x[c] = 1.0;
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t k = 0; k < i; ++k) x[i] -= L(i, k) * x[k];
            x[i] /= L(i, i);
        }
        for (std::size_t i = n; i-- > 0;) {
            for (std::size_t k = i + 1; k < n; ++k) x[i] -= L(k, i) * x[k];
            x[i] /= L(i, i);
        }
        for (std::size_t i = 0; i < n; ++i) out[i * n + c] = x[i];
    }
    return out;
}

void is_that_of_the_dense_matrix() {
    for (const std::size_t n : {1U, 2U, 3U, 10U, 17U})
        for (const std::size_t n_bands : {1U, 2U, 3U, 5U, 20U}) {
            const auto factor = draw_factor(n, n_bands);
            const auto found = band_inverse(factor, n_bands);
            const auto expected = dense_inverse(factor, n, n_bands);
            for (std::size_t p = 0; p < n_bands; ++p)
                for (std::size_t k = 0; k + p < n; ++k)
                    CHECK(near(found[p * n + k], expected[(k + p) * n + k], 1e-9));
        }
    CHECK(band_inverse({}, 3).empty() && band_inverse({}, 0).empty());
}

bool refused(const std::vector<double>& factor, std::size_t n_bands) {
    return is_refused([&] { band_inverse(factor, n_bands); });
}

void what_has_no_inverse_is_refused() {
    CHECK(!refused({1.0, 2.0, 0.5, 0.0}, 2));
    CHECK(refused({1.0, 0.0, 0.5, 0.0}, 2));
    CHECK(refused({1.0, std::numeric_limits<double>::quiet_NaN()}, 1));
    CHECK(refused({1.0, 2.0, 0.5}, 2));  // bands of different lengths
}

}  // namespace

int main() {
    is_that_of_the_dense_matrix();
    what_has_no_inverse_is_refused();
    return splinear::testing::result();
}
