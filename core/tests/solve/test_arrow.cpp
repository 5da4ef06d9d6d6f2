#include <vector>

#include "solve/arrow.hpp"
#include "tests/bands.hpp"
#include "tests/check.hpp"

using namespace splinear;
using namespace splinear::testing;

namespace {

std::vector<double> draw_all(std::size_t n, double scale, std::uint64_t seed) {
    Random random(seed);
    std::vector<double> out(n);
    for (double& value : out) value = scale * draw(random);
    return out;
}

ArrowGroup draw_group(std::size_t n, std::size_t stride, bool has_missing, double s) {
    std::vector<std::uint8_t> used(n * stride, 1);
    std::vector<double> mean;
    if (has_missing) mean = draw_all(n * (stride - 1), 0.3, stride);
    return {{draw_bands(n, stride, 2), stride, 2},
            used,
            mean,
            draw_all(n * stride, 0.5, 100 + stride),
            s};
}

// With a single feature the preconditioner is the whole matrix [[M, u], [u', s]].
void solves_as_the_whole_matrix_does() {
    constexpr std::size_t size = 5;
    constexpr double s = 4.0;
    const auto bands = draw_bands(1, size, 2);
    const auto u = draw_all(size, 0.5, 1);
    auto whole = std::vector<double>((size + 1) * (size + 1));
    const auto M = dense(bands.data(), size, 2);
    for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t k = 0; k < size; ++k) whole[i * (size + 1) + k] = M[i * size + k];
        whole[i * (size + 1) + size] = whole[size * (size + 1) + i] = u[i];
    }
    whole.back() = s;
    const ArrowGroup group({bands, size, 2}, std::vector<std::uint8_t>(size, 1), {}, u, s);
    const auto r = draw_all(size + 1, 1.0, 2);
    const std::vector<const ArrowGroup*> groups{&group};
    const auto found = solve_arrow(groups, s, r, 1);
    CHECK(difference(found, times(inverted(whole, size + 1), r.data(), size + 1)) < 1e-12);
}

// The same with missing values, whose deviation may be nearly fixed, or is: their rows then tell
// about the whole curve.
void missing_values_belong_to_their_curve(double stiffness, bool deviates) {
    constexpr std::size_t size = 4;
    constexpr double s = 9.0;
    constexpr double c = 2.0;
    auto bands = draw_bands(1, size, 2);
    bands.back() = 0.0;  // the last function is not coupled to the next entry
    bands.insert(bands.end(), {deviates ? c + stiffness : 1.0, 0.0});
    const auto mean = draw_all(size, 0.3, 7);
    auto u = draw_all(size, 0.5, 1);
    u.push_back(c);
    std::vector<std::uint8_t> used(size + 1, 1);
    used[size] = deviates;
    const std::size_t n = deviates ? size + 2 : size + 1;  // parameters, then the intercept
    std::vector<double> whole(n * n);
    const auto M = dense(bands.data(), size + 1, 2);
    for (std::size_t i = 0; i + 1 < n; ++i) {
        const double m = i < size ? mean[i] : 1.0;
        for (std::size_t k = 0; k + 1 < n; ++k) {
            const double more = c * m * (k < size ? mean[k] : 1.0);
            const bool counted = i == size && k == size;  // c is in the bands already
            whole[i * n + k] = M[i * (size + 1) + k] + (counted ? 0.0 : more);
        }
        whole[i * n + n - 1] = whole[(n - 1) * n + i] = i < size ? u[i] + c * m : c;
    }
    whole.back() = s;
    const ArrowGroup group({bands, size + 1, 2}, used, mean, u, s);
    auto r = draw_all(size + 2, 1.0, 2);
    const std::vector<const ArrowGroup*> groups{&group};
    auto found = solve_arrow(groups, s, r, 1);
    if (!deviates) {
        CHECK(found[size] == 0.0);
        found.erase(found.end() - 2), r.erase(r.end() - 2);
    }
    CHECK(difference(found, times(inverted(whole, n), r.data(), n)) < 1e-12);
}

// Parameters that are not used stay 0 and have no effect on the others.
void leaves_out_what_is_not_used() {
    constexpr double s = 3.0;
    auto bands = draw_bands(2, 4, 2);
    std::vector<std::uint8_t> used(8, 1);
    used[0] = used[7] = 0;
    bands[0] = 1.0, bands[1] = 0.0;
    bands[(4 + 2) * 2 + 1] = 0.0, bands[(4 + 3) * 2] = 1.0;
    const ArrowGroup group({bands, 4, 2}, used, {}, draw_all(8, 0.5, 1), s);
    auto r = draw_all(9, 1.0, 2);
    const std::vector<const ArrowGroup*> groups{&group};
    const auto found = solve_arrow(groups, s, r, 1);
    r[0] = 1e9, r[7] = -1e9;
    CHECK(found[0] == 0.0 && found[7] == 0.0 && solve_arrow(groups, s, r, 1) == found);
}

// Solving for several vectors at once, or on several threads, changes no bit. Groups with and
// without missing values.
void threads_and_vectors_change_nothing() {
    constexpr double s = 30.0;
    const ArrowGroup a = draw_group(40, 30, false, s);
    const ArrowGroup b = draw_group(3, 9, true, s);
    const std::vector<const ArrowGroup*> groups{&a, &b};
    const std::size_t n = a.n_parameters() + b.n_parameters() + 1;
    const auto r = draw_all(3 * n, 1.0, 5);
    const auto found = solve_arrow(groups, s, r, 1);
    CHECK(solve_arrow(groups, s, r, 4) == found);
    for (std::size_t v = 0; v < 3; ++v) {
        const auto one = solve_arrow(groups, s, std::span(r).subspan(v * n, n), 1);
        CHECK(std::equal(one.begin(), one.end(), &found[v * n]));
    }
    CHECK(is_refused([&] { solve_arrow(groups, s, std::span(r).first(n - 1), 1); }));
}

void what_does_not_belong_together_is_refused() {
    const auto bands = draw_bands(2, 3, 2);
    const std::vector<std::uint8_t> used(6, 1);
    const std::vector<double> ties(6);
    CHECK(is_refused([&] { ArrowGroup({bands, 3, 2}, {1}, {}, ties, 1.0); }));
    CHECK(is_refused([&] { ArrowGroup({bands, 3, 2}, used, {}, {1.0}, 1.0); }));
    CHECK(is_refused([&] { ArrowGroup({bands, 3, 2}, used, {1.0}, ties, 1.0); }));
    const ArrowGroup flat({std::vector<double>(12), 3, 2}, used, {}, ties, 1.0);
    const std::vector<const ArrowGroup*> groups{&flat};
    CHECK(is_refused([&] { solve_arrow(groups, 1.0, std::vector<double>(7), 1); }));
}

}  // namespace

int main() {
    solves_as_the_whole_matrix_does();
    missing_values_belong_to_their_curve(0.3, true);
    missing_values_belong_to_their_curve(1e10, true);
    missing_values_belong_to_their_curve(0.0, false);
    leaves_out_what_is_not_used();
    threads_and_vectors_change_nothing();
    what_does_not_belong_together_is_refused();
    return result();
}
