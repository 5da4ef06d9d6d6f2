#include "bindings/arrays.hpp"
#include "model/basis/any.hpp"
#include "predict/decision.hpp"

namespace splinear::bindings {
namespace {

// Whether coef is n_outputs x n_features x (size + 1).
void check_coef(const Cube<double>& coef, std::size_t n_outputs, const Axes& axes,
                const AnyBasis& basis) {
    must(coef.shape(0) == n_outputs && coef.shape(1) == axes.size() &&
             coef.shape(2) == static_cast<std::size_t>(basis_size(basis)) + 1,
         "coef must be n_outputs x n_features x (size + 1)");
}

template <class Real>
NumpyTable decision(const AnyBasis& basis, const Matrix<Real>& X,
                    const Vector<std::int64_t>& columns, const Axes& axes, const Cube<double>& coef,
                    const Vector<double>& intercepts, int n_threads) {
    check_coef(coef, intercepts.size(), axes, basis);
    std::vector<double> out(X.shape(0) * intercepts.size());
    {
        nb::gil_scoped_release release;
        decide(basis, as_view(X), as_span(columns), axes, as_span(coef), as_span(intercepts),
               n_threads, out.data());
    }
    return to_numpy<NumpyTable>(std::move(out), X.shape(0), intercepts.size());
}

template <class Real>
NumpyTable decision_sparse(const AnyBasis& basis, const Vector<std::int64_t>& starts,
                           const Vector<std::int32_t>& features, const Vector<Real>& values,
                           const Axes& axes, const Cube<double>& coef, const Table<double>& at_zero,
                           const Vector<double>& intercepts, int n_threads) {
    check_coef(coef, intercepts.size(), axes, basis);
    must(starts.size() > 0, "there must be one start more than rows");
    const std::size_t n_rows = starts.size() - 1;
    std::vector<double> out(n_rows * intercepts.size());
    {
        nb::gil_scoped_release release;
        const SparseView<Real> X{as_span(starts), as_span(features), as_span(values)};
        decide_sparse(basis, X, axes, as_span(coef), as_span(at_zero), as_span(intercepts),
                      n_threads, out.data());
    }
    return to_numpy<NumpyTable>(std::move(out), n_rows, intercepts.size());
}

template <class Real>
void bind_real(nb::module_& m) {
    m.def("decision", &decision<Real>, nb::arg("basis"), nb::arg("X").noconvert(),
          nb::arg("columns").noconvert(), nb::arg("axes"), nb::arg("coef").noconvert(),
          nb::arg("intercepts").noconvert(), nb::arg("n_threads"),
          "intercepts[k] + sum_j coef[k, j, :-1] @ B(X[i, columns[j]]) for every row i and output "
          "k; coef[k, j, -1] for a value that is missing.");
    m.def("decision_sparse", &decision_sparse<Real>, nb::arg("basis"),
          nb::arg("starts").noconvert(), nb::arg("features").noconvert(),
          nb::arg("values").noconvert(), nb::arg("axes"), nb::arg("coef").noconvert(),
          nb::arg("at_zero").noconvert(), nb::arg("intercepts").noconvert(), nb::arg("n_threads"),
          "decision() for a CSR matrix; at_zero (n_outputs, n_features), or (0, 0), is replaced by "
          "the curve at a value that is stored.");
}

}  // namespace

void bind_decision(nb::module_& m) {
    bind_real<float>(m);
    bind_real<double>(m);
}

}  // namespace splinear::bindings
