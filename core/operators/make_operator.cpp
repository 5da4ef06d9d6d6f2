#include "operators/make_operator.hpp"

#include <type_traits>
#include <variant>

#include "operators/level_operator.hpp"
#include "operators/row_operator.hpp"
#include "operators/series_operator.hpp"
#include "operators/sparse_operator.hpp"
#include "operators/sparse_spline_operator.hpp"
#include "operators/spline_operator.hpp"
#include "simd/dispatch.hpp"

namespace splinear {
namespace {

using OperatorPtr = std::unique_ptr<Operator>;

// The operator that uses vector kernels. Null if SPLINEAR_INSTRUCTIONS asks for the reference, or
// the kernels do not support the group. Combinations without an overload use the reference.
template <int Degree>
OperatorPtr fast_operator(const CodedRows& rows, const BSpline<Degree>& basis,
                          const DifferencePenalty& penalty, const Group& group, int n_threads) {
    const simd::Kernels* kernels = simd::chosen();
    if (kernels == nullptr || penalty.held() > 0) return nullptr;
    return SplineOperator::make(rows, basis, penalty, group.variance, *kernels, n_threads,
                                group.missing());
}

template <class B>
    requires std::is_same_v<B, Fourier> || std::is_same_v<B, Hermite>
OperatorPtr fast_operator(const CodedRows& rows, const B& basis, const DiagonalPenalty& penalty,
                          const Group& group, int n_threads) {
    const simd::Kernels* kernels = simd::chosen();
    if (kernels == nullptr || group.has_missing()) return nullptr;
    return SeriesOperator::make(rows, basis, penalty, group.variance, *kernels, n_threads);
}

template <class Argument, int Degree>
OperatorPtr fast_operator(const SparseRowsOf<Argument>& rows, const BSpline<Degree>& basis,
                          const DifferencePenalty& penalty, const Group& group, int) {
    if (simd::chosen() == nullptr || group.has_missing()) return nullptr;
    return SparseSplineOperator<Degree, Argument>::make(rows, basis, penalty, group.variance);
}

// The operator for categories under a ridge penalty (D_0), if they have more levels than the vector
// kernels support; otherwise null.
template <class C>
OperatorPtr level_operator(const CodedRowsOf<C>& rows, const BSpline<0>& basis,
                           const DifferencePenalty& penalty, const Group& group, int n_threads) {
    const CodeGrid& grid = rows.grid();
    const bool plain = penalty.order() == 0 && penalty.held() == 0;
    const bool codes_are_levels = grid.span == basis.n_bins && grid.rounding == 0.0;
    const bool many = grid.is_wide || simd::padded_entries(basis.size() + 1, 0) == 0;
    if (!plain || !codes_are_levels || !many) return nullptr;
    return std::make_unique<LevelOperator<C>>(rows, group.size(), group.variance, n_threads,
                                              group.missing());
}

template <class S, class B, class P>
OperatorPtr make(const S& source, const B& basis, const P& penalty, const Group& group,
                 int n_threads) {
    if constexpr (requires { fast_operator(source, basis, penalty, group, n_threads); })
        if (auto made = fast_operator(source, basis, penalty, group, n_threads)) return made;
    if constexpr (requires { level_operator(source, basis, penalty, group, n_threads); })
        if (auto made = level_operator(source, basis, penalty, group, n_threads)) return made;
    if constexpr (has_too_wide_codes<S, B>)
        return nullptr;  // unreachable: check() throws
    else if constexpr (DenseSource<S>)
        return std::make_unique<RowOperator<S, B, P>>(source, basis, penalty, group.variance,
                                                      group.missing());
    else
        return std::make_unique<SparseOperator<S, B, P>>(source, basis, penalty, group.variance,
                                                         group.missing());
}

}  // namespace

OperatorPtr make_operator(const Group& group, int n_threads) {
    OperatorPtr made = make_pass_operator(group, n_threads);
    made->prepare();
    return made;
}

OperatorPtr make_pass_operator(const Group& group, int n_threads) {
    simd::chosen();  // throws for an unknown SPLINEAR_INSTRUCTIONS even if no kernel is needed
    return std::visit(
        [&]<class S, class B, class P>(const S& source, const B& basis,
                                       const P& penalty) -> OperatorPtr {
            if constexpr (belong_together<B, P>)
                return make(source, basis, penalty, group, n_threads);
            else
                return nullptr;  // unreachable: check() throws
        },
        group.rows, group.basis, group.penalty);
}

}  // namespace splinear
