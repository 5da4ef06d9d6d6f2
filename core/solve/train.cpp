#include "solve/train.hpp"

#include <stdexcept>
#include <variant>

#include "operators/grouped_rows.hpp"
#include "solve/dual_cd.hpp"

namespace splinear {
namespace {

void check_sizes(Groups groups, const DualProblem& problem, const DualStart& start) {
    const std::size_t n_rows = index(groups.front()->n_rows());
    if (problem.y.size() != n_rows) throw std::invalid_argument("there must be one y per row");
    const auto fits = [&](std::span<const double> v) { return v.empty() || v.size() == n_rows; };
    if (!fits(problem.targets) || !fits(problem.weights) || !fits(start.alpha))
        throw std::invalid_argument("targets, weights and alpha must have one entry per row");
    if (!start.coef.empty() && start.coef.size() != n_coefficients(groups))
        throw std::invalid_argument("coef must hold the coefficients of all groups");
}

}  // namespace

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
        if (options.keep_alpha && !found.empty()) found.back().alpha = solver.alpha();
        return found;
    };
    return std::visit(follow, any_loss);
}

}  // namespace splinear
