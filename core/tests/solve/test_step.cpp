#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "operators/hessian.hpp"
#include "solve/step.hpp"
#include "tests/bands.hpp"
#include "tests/check.hpp"

using namespace splinear;
using namespace splinear::testing;

namespace {

constexpr std::ptrdiff_t n_rows = 6000;
constexpr std::size_t n_features = 3;
constexpr std::size_t size = 6;
constexpr std::size_t n = n_features * size;

std::vector<double> draw_all(std::size_t count) {
    Random random(7);
    std::vector<double> out(count);
    for (double& value : out) value = std::abs(draw(random));
    return out;
}

// Rows of three features, their second derivatives, penalties and blocks.
struct Posed {
    Posed()
        : lo(n_features, 0.0),
          hi(n_features, 1.0),
          end(n_features, 5.0),
          axes(lo, hi, lo, end),
          order(n_rows),
          h(n_rows),
          x(draw_all(n_rows * n_features)),
          rows(ValueRows<double>({x.data(), n_rows, n_features, n_features, 1}, columns, axes,
                                 order)),
          group{{BSpline<1>(5),
                 DifferencePenalty(1, size, 2),
                 std::vector<double>(n_features, 0.5),
                 {},
                 {}},
                rows},
          groups{&group},
          penalty(DifferencePenalty(1, size, 2), std::vector<std::uint8_t>(n, 1),
                  std::vector<double>(n, 1.0), std::vector<double>(n_features, 0.5), {}, {}, true),
          blocks({std::vector<double>(n * 2), size, 2}, std::vector<std::uint8_t>(n, 1), {},
                 std::vector<double>(n), 1.0) {
        std::iota(order.begin(), order.end(), 0);
        Random random(1);
        for (double& one : h) one = 0.1 + std::abs(draw(random));
        std::vector<double> bands = blocks_all(groups, h, 1);
        for (std::size_t k = 0; k < n; ++k) bands[2 * k] += 4.0;
        s = std::accumulate(h.begin(), h.end(), 0.0);
        const auto ties = band_sums({blocks_all(groups, h, 1), 2}, size, 1);
        blocks = ArrowGroup({bands, size, 2}, std::vector<std::uint8_t>(n, 1), {}, ties, s);
        for (std::size_t k = 0; k <= n; ++k) gradient.push_back(draw(random));
    }

    FoundStep step(const StepLimits& limits, std::optional<double> intercept_penalty,
                   int n_threads) const {
        const std::array<const GroupPenalty*, 1> penalties{&penalty};
        const std::array<const ArrowGroup*, 1> own{&blocks};
        struct Silent final : Monitor {
            bool poll() override { return false; }
            bool pass(const Progress&) override { return false; }
        } monitor;
        return least_step({groups, h, penalties, own, s, intercept_penalty}, gradient, limits,
                          monitor, n_threads);
    }

    // H s + g, by the whole matrix; `b` is the penalty of the intercept.
    std::vector<double> left(const std::vector<double>& to, double b) const {
        std::vector<std::int64_t> places(n);
        std::iota(places.begin(), places.end(), 0);
        std::vector<double> H = hessian_some(groups, places, n + 1, h, 1.0, 1);
        H.back() += b;
        std::vector<double> out = times(H, to.data(), n + 1);
        penalty.add_pull(0, n_features, to.data(), out.data());
        for (std::size_t k = 0; k <= n; ++k) out[k] += gradient[k];
        return out;
    }

    static constexpr std::array<std::int64_t, n_features> columns{0, 1, 2};
    std::vector<double> lo, hi, end;
    Axes axes;
    std::vector<std::int64_t> order;
    std::vector<double> h, x, gradient;
    AnyRows rows;
    Group group;
    std::vector<const Group*> groups;
    GroupPenalty penalty;
    ArrowGroup blocks;
    double s = 0.0;
};

constexpr double far = std::numeric_limits<double>::infinity();
constexpr StepLimits exact{far, 1e-10, 0.0, 300, true, false, 1.0};

// The gradient of the model vanishes at the step. A free intercept is at its optimum before the
// step, so there the gradient along it, and along the levels of curves, is 0 from the start.
void a_step_is_where_the_model_is_least() {
    for (const std::optional<double> of_b : {std::optional<double>(), std::optional(2.0)}) {
        Posed posed;
        if (!of_b) {
            posed.gradient.back() = 0.0;
            posed.penalty.take_slopes(0, n_features, posed.gradient.data());
        }
        const FoundStep found = posed.step(exact, of_b, 1);
        for (const double one : posed.left(found.step, of_b.value_or(0.0)))
            CHECK(std::abs(one) < 1e-4);
        CHECK(found.n_products > 1 && !found.at_edge && found.decrease > 0.0);
        CHECK(found.scores.size() == std::size_t{n_rows});
    }
}

void regions_and_threads() {
    const Posed posed;
    const FoundStep whole = posed.step(exact, 2.0, 1);
    StepLimits near_by = exact;
    near_by.radius = 0.5 * whole.length;
    const FoundStep edge = posed.step(near_by, 2.0, 1);
    CHECK(edge.at_edge && near(edge.length, near_by.radius, 1e-12));
    for (const int n_threads : {2, 3, 16}) {
        const FoundStep many = posed.step(exact, 2.0, n_threads);
        CHECK(many.step == whole.step && many.scores == whole.scores);
        CHECK(many.decrease == whole.decrease && many.n_products == whole.n_products);
    }
}

void what_does_not_belong_together_is_refused() {
    Posed posed;
    posed.gradient.pop_back();
    CHECK(is_refused([&] { posed.step(exact, 2.0, 1); }));
    posed.gradient.resize(n + 1);
    posed.h.pop_back();
    CHECK(is_refused([&] { posed.step(exact, 2.0, 1); }));
}

}  // namespace

int main() {
    a_step_is_where_the_model_is_least();
    regions_and_threads();
    what_does_not_belong_together_is_refused();
    return result();
}
