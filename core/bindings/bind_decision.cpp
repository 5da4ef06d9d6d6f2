// Python bindings of predictions: predict/decision.hpp.
#include "bindings/arrays.hpp"
#include "predict/decision.hpp"

namespace splinear::bindings {
namespace {

void make_curves(Curves* self, const AnyBasis& basis, const Axes& axes, const Cube<double>& coef,
                 const Vector<double>& intercepts) {
    must_be("the first side of coef, n_outputs,", coef.shape(0), intercepts.size());
    must_be("the second side of coef, n_features,", coef.shape(1), axes.size());
    must_be("the third side of coef, size + 1,", coef.shape(2),
            static_cast<std::size_t>(basis_size(basis)) + 1);
    new (self) Curves{basis, axes, as_span(coef), as_span(intercepts)};
}

template <class Real>
NumpyTable decision(const Curves& curves, const Matrix<Real>& X,
                    const Vector<std::int64_t>& columns, std::int64_t n_threads) {
    Buffer<double> out(X.shape(0) * curves.n_outputs());
    {
        nb::gil_scoped_release release;
        decide(curves, as_view(X), as_span(columns), threads(n_threads), out.data());
    }
    return to_numpy<NumpyTable>(std::move(out), X.shape(0), curves.n_outputs());
}

using Scores = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Real>
void add_to(const Curves& curves, const Matrix<Real>& X, const Vector<std::int64_t>& columns,
            const Vector<double>& start, const Scores& out, std::int64_t n_threads) {
    must_be("the first side of out, n_rows,", out.shape(0), X.shape(0));
    must_be("the second side of out, n_outputs,", out.shape(1), curves.n_outputs());
    nb::gil_scoped_release release;
    add_decision(curves, as_view(X), as_span(columns), as_span(start), threads(n_threads),
                 out.data());
}

template <class Real>
NumpyTable decision_sparse(const Curves& curves, const Vector<std::int64_t>& starts,
                           const Vector<std::int32_t>& features, const Vector<Real>& values,
                           const Table<double>& at_zero, std::int64_t n_threads) {
    must(starts.size() > 0, "there must be one start more than rows, and there is none");
    if (at_zero.size() > 0)
        must_be("the first side of at_zero, n_outputs,", at_zero.shape(0), curves.n_outputs());
    const std::size_t n_rows = starts.size() - 1;
    Buffer<double> out(n_rows * curves.n_outputs());
    {
        nb::gil_scoped_release release;
        const SparseView<Real> X{as_span(starts), as_span(features), as_span(values)};
        decide_sparse(curves, X, as_span(at_zero), threads(n_threads), out.data());
    }
    return to_numpy<NumpyTable>(std::move(out), n_rows, curves.n_outputs());
}

template <class Real>
void bind_real(nb::module_& m) {
    m.def("decision", &decision<Real>, nb::arg("curves"), nb::arg("X").noconvert(),
          nb::arg("columns").noconvert(), nb::arg("n_threads"),
          "intercepts[k] + sum_j coef[k, j, :-1] @ B(X[i, columns[j]]) for every row i and output "
          "k; coef[k, j, -1] for a value that is missing.");
    m.def("add_decision", &add_to<Real>, nb::arg("curves"), nb::arg("X").noconvert(),
          nb::arg("columns").noconvert(), nb::arg("start").noconvert(), nb::arg("out").noconvert(),
          nb::arg("n_threads"),
          "Writes start (n_outputs,) plus decision() to out; with a start (0,), adds it to out.");
    m.def("decision_sparse", &decision_sparse<Real>, nb::arg("curves"),
          nb::arg("starts").noconvert(), nb::arg("features").noconvert(),
          nb::arg("values").noconvert(), nb::arg("at_zero").noconvert(), nb::arg("n_threads"),
          "decision() for a CSR matrix; at_zero (n_outputs, n_features), or (0, 0), is replaced by "
          "the curve at a value that is stored.");
}

}  // namespace

void bind_decision(nb::module_& m) {
    nb::class_<Curves>(m, "Curves", "The curves of all outputs, for features of one basis.")
        .def("__init__", &make_curves, nb::arg("basis"), nb::arg("axes"),
             nb::arg("coef").noconvert(), nb::arg("intercepts").noconvert(), nb::keep_alive<1, 2>(),
             nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(),
             "coef (n_outputs, n_features, size + 1), intercepts (n_outputs,); no copies.");
    bind_real<float>(m);
    bind_real<double>(m);
    m.def(
        "are_finite",
        [](const Table<double>& values, std::int64_t n_threads) {
            nb::gil_scoped_release release;
            return are_finite(as_span(values), threads(n_threads));
        },
        nb::arg("values").noconvert(), nb::arg("n_threads"),
        "Whether no number is infinite or NaN.");
}

}  // namespace splinear::bindings
