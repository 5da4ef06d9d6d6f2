#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "solve/train.hpp"
#include "tests/check.hpp"

using namespace splinear;
using splinear::testing::is_refused;
using splinear::testing::near;

namespace {

class Listener final : public Monitor {
public:
    explicit Listener(int stop_at = 0) : stop_at_(stop_at) {}
    bool poll() override { return false; }
    bool pass(const Progress& progress) override {
        CHECK(progress.n_iter == ++passes);
        CHECK(progress.gap >= 0.0 && progress.n_active >= 0);
        return passes == stop_at_;
    }
    int passes = 0;

private:
    int stop_at_;
};

constexpr std::ptrdiff_t n_rows = 200;
constexpr std::array<double, 1> zero{0.0};
constexpr std::array<double, 1> one{1.0};
constexpr std::array<double, 1> n_bins{8.0};
constexpr std::array<std::int64_t, 1> column{0};

Group group_of(const AnyRows& rows, const AnyBasis& basis = BSpline<1>{8},
               const AnyPenalty& penalty = DifferencePenalty(1, 9, 2)) {
    return {{basis, penalty, {0.125}, {}, {}}, rows};
}

// One feature; the positive class is in the middle, with a few rows on the wrong side.
struct Bump {
    Bump() : axes(zero, one, zero, n_bins), x(n_rows), order(n_rows) {
        std::iota(order.begin(), order.end(), 0);
        for (std::size_t i = 0; i < x.size(); ++i) {
            x[i] = static_cast<double>((i * 37) % n_rows) / (n_rows - 1);
            const bool inside = x[i] > 0.3 && x[i] < 0.7;
            y.push_back(inside != (i % 17 == 0) ? 1 : -1);
        }
    }
    AnyRows rows() const {
        return ValueRows<double>(MatrixView<double>{x.data(), n_rows, 1, 1, 1}, column, axes,
                                 order);
    }
    DualProblem problem() const { return {y, {}, {}, 1.0, 2.0, 1.0}; }

    Axes axes;
    std::vector<double> x;
    std::vector<std::int64_t> order;
    std::vector<std::int8_t> y;
};

DualResult fit(const Bump& data, const AnyLoss& loss, const DualOptions& options,
               Monitor& monitor) {
    const AnyRows rows = data.rows();
    const Group group = group_of(rows);
    return train(std::array<const Group*, 1>{&group}, loss, data.problem(), options, {}, one,
                 monitor)
        .front();
}

void reaches_the_gap(const AnyLoss& loss) {
    const Bump data;
    Listener listener;
    const DualResult found = fit(data, loss, {1e-6, 1000, 0, 1}, listener);
    CHECK(found.converged);
    CHECK(found.gap <= 1e-6);
    CHECK(near(found.gap * found.primal, found.primal - found.dual, 1e-9));
    CHECK(found.n_iter == listener.passes);
    CHECK(found.coef.size() == 9);
    CHECK(found.coef[4] > found.coef[0] && found.coef[4] > found.coef[8]);
}

void depends_on_the_seed_alone() {
    const Bump data;
    Listener listener, again, threads;
    const AnyLoss loss = Hinge{};
    const DualResult found = fit(data, loss, {1e-4, 1000, 7, 1}, listener);
    CHECK(found.coef == fit(data, loss, {1e-4, 1000, 7, 1}, again).coef);
    CHECK(found.coef == fit(data, loss, {1e-4, 1000, 7, 4}, threads).coef);
}

void says_so_when_it_stops_early() {
    const Bump data;
    Listener listener;
    const DualResult found = fit(data, Hinge{}, {1e-12, 1, 0, 1}, listener);
    CHECK(!found.converged);
    CHECK(found.n_iter == 1 && found.gap > 1e-12);
    CHECK(found.primal > found.dual);
}

void refuses_what_does_not_fit() {
    const Bump data;
    Listener listener;
    const auto with = [&](const AnyBasis& basis, const AnyPenalty& penalty) {
        return is_refused([&] {
            const AnyRows rows = data.rows();
            const Group group = group_of(rows, basis, penalty);
            train(std::array<const Group*, 1>{&group}, Hinge{}, data.problem(), {1e-2, 100, 0, 1},
                  {}, one, listener);
        });
    };
    CHECK(with(BSpline<1>{8}, DiagonalPenalty(std::vector<double>(9, 1.0))));
    CHECK(with(Fourier{2}, DifferencePenalty(1, 4, 4)));
    CHECK(with(BSpline<1>{8}, DifferencePenalty(1, 8, 2)));
    CHECK(!with(BSpline<1>{8}, DifferencePenalty(1, 9, 2)));
}

void the_monitor_may_stop_it() {
    const Bump data;
    Listener listener(2);
    const DualResult found = fit(data, Hinge{}, {0.0, 1000, 0, 1}, listener);
    CHECK(listener.passes == 2 && found.n_iter == 2 && !found.converged);
}

// Every fit of a warm path reaches the objective of a cold fit.
void paths_and_dual_variables() {
    const Bump data;
    const AnyRows rows = data.rows();
    const Group group = group_of(rows);
    const DualOptions options{1e-8, 10000, 0, 1, true};
    const std::array<double, 3> factors{0.1, 1.0, 5.0};
    const auto go = [&](const DualStart& start, std::span<const double> along) {
        class Quiet final : public Monitor {
            bool poll() override { return false; }
            bool pass(const Progress&) override { return false; }
        } quiet;
        return train(std::array<const Group*, 1>{&group}, Logistic{}, data.problem(), options,
                     start, along, quiet);
    };
    const auto path = go({}, factors);
    CHECK(path.size() == 3 && path[0].alpha.empty() && path[2].alpha.size() == n_rows);
    for (std::size_t k = 0; k < factors.size(); ++k) {
        const auto cold = go({}, std::span(&factors[k], 1)).front();
        CHECK(near(cold.primal, path[k].primal, 1e-7));
    }
    const auto cold = go({}, one).front();
    const auto warm = go({cold.alpha, {}, 0.0}, one).front();
    CHECK(warm.n_iter == 0 && near(warm.primal, cold.primal, 1e-9));
    // A fit that stays close to the solution w_0 has 1/2 |w - w_0|^2 as its penalty, so a smaller
    // objective.
    const auto close = go({{}, cold.coef, cold.intercept}, one).front();
    CHECK(close.primal < cold.primal);
}

}  // namespace

int main() {
    reaches_the_gap(Hinge{});
    reaches_the_gap(SquaredHinge{});
    reaches_the_gap(Logistic{});
    depends_on_the_seed_alone();
    says_so_when_it_stops_early();
    refuses_what_does_not_fit();
    the_monitor_may_stop_it();
    paths_and_dual_variables();
    return splinear::testing::result();
}
