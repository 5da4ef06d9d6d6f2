#include "train.hpp"

#include <optional>
#include <stdexcept>
#include <type_traits>

#include "row_operator.hpp"
#include "simd/dispatch.hpp"
#include "smooth_operator.hpp"
#include "spline_operator.hpp"

namespace splinear {
namespace {

// B-splines go with differences, the others carry their penalty as weights.
template <class B, class P>
constexpr bool belong_together = std::is_same_v<P, DiagonalPenalty> ==
                                 (std::is_same_v<B, Fourier> || std::is_same_v<B, Hermite>);

template <class Operator>
DualResult solve(const Operator& rows, const AnyLoss& loss, const DualProblem& problem,
                 const DualOptions& options, Monitor& monitor) {
    return std::visit(
        [&]<class Loss>(const Loss&) {
            return DualCoordinateDescent<Operator, Loss>(rows, problem, options, monitor).run();
        },
        loss);
}

// The operator by vector instructions, or nothing if the reference was asked for or the basis is
// too large. A basis without such a function takes the reference.
template <int Degree>
std::optional<SplineOperator> fast_operator(const CodedRows& rows, const BSpline<Degree>& basis,
                                            const DifferencePenalty& penalty,
                                            std::span<const double> scale, int n_threads) {
    const simd::Kernels* kernels = simd::chosen();
    if (kernels == nullptr) return std::nullopt;
    return SplineOperator::make(rows, basis, penalty, scale, *kernels, n_threads);
}

template <class B>
    requires std::is_same_v<B, Fourier> || std::is_same_v<B, Hermite>
std::optional<SmoothOperator> fast_operator(const CodedRows& rows, const B& basis,
                                            const DiagonalPenalty& penalty,
                                            std::span<const double> scale, int n_threads) {
    const simd::Kernels* kernels = simd::chosen();
    if (kernels == nullptr) return std::nullopt;
    return SmoothOperator::make(rows, basis, penalty, scale, *kernels, n_threads);
}

}  // namespace

std::vector<std::string> paths() {
    std::vector<std::string> names;
    for (const simd::Kernels* kernels : simd::available()) names.emplace_back(kernels->name);
    names.emplace_back("reference");
    return names;
}

DualResult train(const AnyRows& any_rows, const ModelSpec& model, const AnyLoss& loss,
                 const DualProblem& problem, const DualOptions& options, Monitor& monitor) {
    simd::chosen();  // an unknown SPLINEAR_PATH is an error even where no kernel is asked for
    return std::visit(
        [&]<class S, class B, class P>(const S& source, const B& basis,
                                       const P& penalty) -> DualResult {
            if constexpr (belong_together<B, P>) {
                if (penalty.size() != basis.size())
                    throw std::invalid_argument("the penalty and the basis differ in size");
                if constexpr (requires { fast_operator(source, basis, penalty, model.scale, 1); }) {
                    const auto rows =
                        fast_operator(source, basis, penalty, model.scale, options.n_threads);
                    if (rows) return solve(*rows, loss, problem, options, monitor);
                }
                const RowOperator<S, B, P> rows(source, basis, penalty, model.scale);
                return solve(rows, loss, problem, options, monitor);
            } else {
                throw std::invalid_argument("this basis does not take this penalty");
            }
        },
        any_rows, model.basis, model.penalty);
}

}  // namespace splinear
