// From run-time choices to one type of operator.
#pragma once

#include <optional>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <variant>

#include "basis/any.hpp"
#include "penalty/any.hpp"
#include "row_operator.hpp"
#include "row_source.hpp"
#include "simd/dispatch.hpp"
#include "smooth_operator.hpp"
#include "sparse_operator.hpp"
#include "spline_operator.hpp"

namespace splinear {

// An additive model without its coefficients.
struct ModelSpec {
    const AnyBasis& basis;
    const AnyPenalty& penalty;
    std::span<const double> scale;  // s_j^2, 0 for a feature that takes no part
};

// B-splines go with differences, the others carry their penalty as weights.
template <class B, class P>
constexpr bool belong_together = std::is_same_v<P, DiagonalPenalty> ==
                                 (std::is_same_v<B, Fourier> || std::is_same_v<B, Hermite>);

// The operator by vector instructions, or nothing if the reference was asked for, the basis is too
// large, or coefficients are held at zero. A source or basis without such a function takes the
// reference.
template <int Degree>
std::optional<SplineOperator> fast_operator(const CodedRows& rows, const BSpline<Degree>& basis,
                                            const DifferencePenalty& penalty,
                                            std::span<const double> scale, int n_threads) {
    const simd::Kernels* kernels = simd::chosen();
    if (kernels == nullptr || penalty.held() > 0) return std::nullopt;
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

// Calls use(operator) with the fastest operator that serves the rows and the model. Throws
// std::invalid_argument for a basis and a penalty that do not belong together.
template <class Use>
auto with_operator(const AnyRows& any_rows, const ModelSpec& model, int n_threads, const Use& use) {
    simd::chosen();  // an unknown SPLINEAR_PATH is an error even where no kernel is asked for
    using Result = decltype(use(std::declval<const SplineOperator&>()));
    return std::visit(
        [&]<class S, class B, class P>(const S& source, const B& basis,
                                       const P& penalty) -> Result {
            if constexpr (belong_together<B, P>) {
                if (penalty.size() != basis.size())
                    throw std::invalid_argument("the penalty and the basis differ in size");
                if constexpr (requires { fast_operator(source, basis, penalty, model.scale, 1); }) {
                    const auto rows = fast_operator(source, basis, penalty, model.scale, n_threads);
                    if (rows) return use(*rows);
                }
                if constexpr (DenseSource<S>)
                    return use(RowOperator<S, B, P>(source, basis, penalty, model.scale));
                else
                    return use(SparseOperator<B, P>(source, basis, penalty, model.scale));
            } else {
                throw std::invalid_argument("this basis does not take this penalty");
            }
        },
        any_rows, model.basis, model.penalty);
}

}  // namespace splinear
