#include <cstdint>
#include <vector>

#include "model/part_variances.hpp"
#include "tests/bands.hpp"
#include "tests/check.hpp"

using namespace splinear;
using namespace splinear::testing;

namespace {

constexpr std::size_t n = 5;

std::vector<double> draw_all(std::size_t count, double scale, std::uint64_t seed) {
    Random random(seed);
    std::vector<double> out(count);
    for (double& value : out) value = scale * draw(random);
    return out;
}

// Variances of g in the joint matrix of g and b, with the intercept integrated out, inverted as a
// dense matrix:
//
//     [B - u u', H l - u u'l; (H l - u u'l)', 1 / v + l'H l - (u'l)^2].
void are_those_of_the_joint_matrix() {
    for (const std::size_t stride : {6U, 9U})
        for (const bool has_missing : {false, true})
            for (const std::size_t n_bands : {3U, 4U}) {
                const std::size_t size = has_missing ? stride - 1 : stride;
                const auto rows = draw_bands(n, stride, 2);
                auto all = draw_bands(n, stride, n_bands);
                for (std::size_t i = 0; i < n * stride; ++i)
                    for (std::size_t p = 0; p < 2; ++p) all[i * n_bands + p] += rows[i * 2 + p];
                const std::vector<std::uint8_t> used(n * stride, 1);
                const auto line = draw_all(n * stride, 1.0, 1);
                const auto u = draw_all(n * stride, 0.2, 2);
                std::vector<double> bends = draw_all(2 * n * size, 1.0, 3);
                for (std::size_t j = 0; j < n; ++j)  // none at the ends
                    for (const std::size_t k : {std::size_t{0}, size - 1})
                        bends[2 * (j * size + k)] = bends[2 * (j * size + k) + 1] = 0.0;
                const std::vector<double> precision(n, 0.7);
                const PartBlocks blocks{{all, n_bands}, {rows, 2}, used, line,
                                        precision,      bends,     u,    stride};
                const auto found = part_variances(blocks, 1);
                CHECK(found.is_definite);
                const auto again = part_variances(blocks, 3);
                CHECK(again.steps == found.steps && again.bends == found.bends);
                for (std::size_t j = 0; j < n; ++j) {
                    const auto B = dense(&all[j * stride * n_bands], stride, n_bands);
                    const auto H = dense(&rows[j * stride * 2], stride, 2);
                    const double* l = &line[j * stride];
                    const double* own = &u[j * stride];
                    const auto of_line = times(H, l, stride);
                    const std::size_t m = stride + 1;
                    std::vector<double> J(m * m);
                    const double along = dot(own, l, stride);
                    for (std::size_t i = 0; i < stride; ++i) {
                        for (std::size_t k = 0; k < stride; ++k)
                            J[i * m + k] = B[i * stride + k] - own[i] * own[k];
                        J[i * m + stride] = J[stride * m + i] = of_line[i] - own[i] * along;
                    }
                    J[m * m - 1] = 0.7 + dot(l, of_line.data(), stride) - along * along;
                    const auto V = inverted(J, m);
                    const auto variance = [&](const std::vector<double>& of) {
                        const auto product = times(V, of.data(), m);
                        return dot(of.data(), product.data(), m);
                    };
                    const auto step = [&](std::size_t k, double share, std::vector<double>& of) {
                        of[k] += share;
                        if (k > 0 && k < size) of[k - 1] -= share;
                    };
                    for (std::size_t k = 0; k < stride; ++k) {
                        std::vector<double> of(m);
                        step(k, 1.0, of);
                        CHECK(near(found.steps[j * stride + k], variance(of), 1e-9));
                    }
                    for (std::size_t k = 1; k + 1 < size; ++k) {
                        const double* row = &bends[2 * (j * size + k)];
                        std::vector<double> of(m);
                        step(k, row[0], of);
                        step(k + 1, row[1], of);
                        CHECK(near(found.bends[j * size + k], variance(of), 1e-9));
                    }
                    const double sigma = 0.7 + found.seen[j];
                    const double of_line_alone =
                        1.0 / sigma + found.slope[j] * found.slope[j] / found.left[j];
                    CHECK(near(of_line_alone, V[m * m - 1], 1e-9));
                }
            }
}

void say_what_is_not_definite() {
    const std::vector<double> all{1.0, 2.0, 0.0, 1.0, 0.0, 0.0};
    const std::vector<std::uint8_t> used(2, 1);
    const std::vector<double> two(2);
    const std::vector<double> four(4);
    const std::vector<double> one{1.0};
    CHECK(!part_variances({{all, 3}, {two, 1}, used, two, one, four, two, 2}, 1).is_definite);
    CHECK(
        is_refused([&] { part_variances({{all, 2}, {two, 1}, used, two, one, four, two, 2}, 1); }));
    CHECK(
        is_refused([&] { part_variances({{all, 3}, {two, 1}, used, two, one, one, two, 2}, 1); }));
}

}  // namespace

int main() {
    are_those_of_the_joint_matrix();
    say_what_is_not_definite();
    return result();
}
