#include "train.hpp"

namespace splinear {

std::vector<std::string> paths() {
    std::vector<std::string> names;
    for (const simd::Kernels* kernels : simd::available()) names.emplace_back(kernels->name);
    names.emplace_back("reference");
    return names;
}

std::vector<DualResult> train(const AnyRows& any_rows, const ModelSpec& model,
                              const AnyLoss& any_loss, const DualProblem& problem,
                              const DualOptions& options, const DualStart& start,
                              std::span<const double> factors, bool keep_alpha, Monitor& monitor) {
    const auto follow = [&]<class Operator, class Loss>(const Operator& rows, const Loss& loss) {
        DualCoordinateDescent<Operator, Loss> solver(rows, loss, problem, options, monitor);
        solver.start_at(start);
        std::vector<DualResult> found;
        double now = 1.0;
        for (const double factor : factors) {
            if (factor != now) solver.change_costs(factor / now);
            now = factor;
            found.push_back(solver.run());
            if (solver.stopped()) break;
        }
        if (keep_alpha && !found.empty()) found.back().alpha = solver.alpha();
        return found;
    };
    return with_operator(
        any_rows, model, options.n_threads, [&]<class Operator>(const Operator& rows) {
            return std::visit([&](const auto& loss) { return follow(rows, loss); }, any_loss);
        });
}

}  // namespace splinear
