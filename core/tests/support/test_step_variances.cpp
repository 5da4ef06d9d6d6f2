#include <vector>

#include "support/step_variances.hpp"
#include "tests/bands.hpp"
#include "tests/check.hpp"

using namespace splinear;
using namespace splinear::testing;

namespace {

void are_those_of_the_inverse() {
    for (const std::size_t n : {1U, 6U})
        for (const std::size_t size : {1U, 2U, 9U})
            for (const std::size_t n_bands : {1U, 2U}) {
                const auto bands = draw_bands(n, size, n_bands);
                Random random(3);
                std::vector<double> u(n * size);
                for (double& value : u) value = draw(random);
                const auto found = step_variances(bands, size, n_bands, u, 1);
                CHECK(found.is_definite);
                for (std::size_t j = 0; j < n; ++j) {
                    const auto V = inverted(dense(&bands[j * size * n_bands], size, n_bands), size);
                    const auto solved = times(V, &u[j * size], size);
                    const auto at = [&](std::size_t i, std::size_t k) { return V[i * size + k]; };
                    for (std::size_t k = 0; k < size; ++k) {
                        CHECK(near(found.own[j * size + k], at(k, k)));
                        CHECK(near(found.solved[j * size + k], solved[k]));
                        const double step =
                            k == 0 ? 0.0 : at(k, k) + at(k - 1, k - 1) - 2.0 * at(k, k - 1);
                        CHECK(near(found.steps[j * size + k], step));
                    }
                }
                const auto again = step_variances(bands, size, n_bands, u, 3);
                CHECK(again.own == found.own && again.steps == found.steps);
                CHECK(again.solved == found.solved);
            }
}

// The variance of the difference of two numbers that are nearly equal is accurate to all digits.
void have_digits_where_steps_are_stiff() {
    const double stiff = 1e14;
    const std::vector<double> bands{1.0 + stiff, -stiff, 1.0 + stiff, 0.0};
    const auto found = step_variances(bands, 2, 2, std::vector<double>(2), 1);
    CHECK(near(found.own[0], 0.5, 1e-2));
    CHECK(near(stiff * found.steps[1], 1.0, 1e-2));
    const std::vector<double> huge{2e300, -1e300, 2e300, 0.0};
    const auto of_huge = step_variances(huge, 2, 2, std::vector<double>(2), 1);
    CHECK(of_huge.is_definite && near(1e300 * of_huge.steps[1], 2.0 / 3.0));
}

void say_what_is_not_definite() {
    const std::vector<double> u(2);
    CHECK(!step_variances(std::vector{1.0, 2.0, 1.0, 0.0}, 2, 2, u, 1).is_definite);
    CHECK(!step_variances(std::vector{1.0, -1.0}, 2, 1, u, 1).is_definite);
    CHECK(is_refused([&] { step_variances(std::vector{1.0, 2.0, 1.0}, 2, 2, u, 1); }));
    CHECK(is_refused([&] { step_variances(std::vector<double>(6), 2, 3, u, 1); }));
}

}  // namespace

int main() {
    are_those_of_the_inverse();
    have_digits_where_steps_are_stiff();
    say_what_is_not_definite();
    return result();
}
