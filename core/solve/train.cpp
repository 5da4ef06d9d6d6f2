#include "solve/train.hpp"

#include <variant>

#include "operators/grouped_rows.hpp"
#include "solve/dual_cd.hpp"
#include "support/checks.hpp"

namespace splinear {
namespace {

void check_sizes(Groups groups, const DualProblem& problem, const DualStart& start) {
    const std::size_t n_rows = index(groups.front()->n_rows());
    const auto must_fit = [](const char* what, std::span<const double> v, std::size_t expected) {
        if (!v.empty()) must_be(what, v.size(), expected);
    };
    must_be("the number of y, one per row,", problem.y.size(), n_rows);
    must_fit("the number of targets, one per row,", problem.targets, n_rows);
    must_fit("the number of weights, one per row,", problem.weights, n_rows);
    if (!problem.squared_norm.empty())
        must_be("the number of squared norms, one per row,", problem.squared_norm.size(), n_rows);
    must_fit("the number of alpha, one per row,", start.alpha, n_rows);
    must_fit("the size of coef, of all groups,", start.coef, n_coefficients(groups));
}

// Never stops a fit.
class NeverStops final : public Monitor {
public:
    bool poll() override { return false; }
    bool pass(const Progress&) override { return false; }
};

}  // namespace

std::vector<float> squared_norms(Groups groups, int n_threads) {
    NeverStops monitor;
    StopRequest stop(monitor);
    return squared_norms(GroupedRows(groups, n_threads), n_threads, stop);
}

std::vector<DualResult> train(Groups groups, const AnyLoss& any_loss, const DualProblem& problem,
                              const DualOptions& options, const DualStart& start,
                              std::span<const double> factors, Monitor& monitor) {
    const GroupedRows rows(groups, options.n_threads);
    check_sizes(groups, problem, start);
    const auto follow = [&]<class Loss>(const Loss& loss) {
        DualCoordinateDescent<Loss> solver(rows, loss, problem, options, monitor);
        solver.start_at(start);
        std::vector<DualResult> found;
        double now = 1.0;
        for (const double factor : factors) {
            if (factor != now) solver.change_costs(factor / now);
            now = factor;
            found.push_back(solver.run());
            if (solver.stopped()) break;
        }
        if (options.keep_alpha && !found.empty()) found.back().alpha = solver.take_alpha();
        return found;
    };
    return std::visit(follow, any_loss);
}

}  // namespace splinear
