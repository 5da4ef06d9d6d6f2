#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "axis.hpp"
#include "basis/any.hpp"
#include "codes.hpp"
#include "decision.hpp"
#include "row_source.hpp"

namespace splinear::bindings {
namespace {

void make_axes(Axes* self, const Vector<double>& lo, const Vector<double>& hi,
               const Vector<double>& first, const Vector<double>& last,
               const Table<double>& knots) {
    new (self) Axes(as_span(lo), as_span(hi), as_span(first), as_span(last),
                    {knots.data(), knots.data() + knots.size()});
}

template <class Real>
void fill(Codes& codes, const Matrix<Real>& X, const Vector<std::int64_t>& places, const Axes& axes,
          int n_threads) {
    nb::gil_scoped_release release;
    codes.fill(as_view(X), places.data(), axes, n_threads);
}

template <class Real>
NumpyTable decision(const AnyBasis& any, const Matrix<Real>& X, const Axes& axes,
                    const Cube<double>& coef, const Vector<double>& intercepts, int n_threads) {
    std::vector<double> out(X.shape(0) * intercepts.size());
    {
        nb::gil_scoped_release release;
        decide(any, as_view(X), axes, as_span(coef), as_span(intercepts), n_threads, out.data());
    }
    return to_numpy<NumpyTable>(std::move(out), X.shape(0), intercepts.size());
}

template <class Real>
void bind_values(nb::module_& m, nb::class_<Codes>& codes) {
    codes.def("fill", &fill<Real>, nb::arg("X").noconvert(), nb::arg("places").noconvert(),
              nb::arg("axes"), nb::arg("n_threads"),
              "Codes the rows of X into the given places; a negative place skips the row.");
    m.def(
        "value_rows",
        [](const Matrix<Real>& X, const Axes& axes, const Vector<std::int64_t>& order) -> AnyRows {
            return ValueRows<Real>(as_view(X), axes, as_span(order));
        },
        nb::arg("X").noconvert(), nb::arg("axes"), nb::arg("order").noconvert(),
        nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>(),
        "The rows X[order], read in full precision whenever they are needed.");
    m.def("decision", &decision<Real>, nb::arg("basis"), nb::arg("X").noconvert(), nb::arg("axes"),
          nb::arg("coef").noconvert(), nb::arg("intercepts").noconvert(), nb::arg("n_threads"),
          "intercepts[k] + sum_j coef[k, j] @ B(X[i, j]) for every row i and output k.");
}

}  // namespace

void bind_data(nb::module_& m) {
    nb::class_<Axes>(m, "Axes", "Per feature, the map from [lo, hi] to the basis's [first, last].")
        .def("__init__", &make_axes, nb::arg("lo").noconvert(), nb::arg("hi").noconvert(),
             nb::arg("first").noconvert(), nb::arg("last").noconvert(),
             nb::arg("knots").noconvert());
    nb::class_<CodeGrid>(m, "CodeGrid", "How finely 16 bits divide an axis.")
        .def_static("bins", &CodeGrid::bins, nb::arg("n_bins"), nb::arg("degree"))
        .def_static("smooth", &CodeGrid::smooth)
        .def_ro("steps", &CodeGrid::steps);
    nb::class_<Codes> codes(m, "Codes", "The training data as 16-bit positions on its axes.");
    codes.def(nb::init<std::ptrdiff_t, std::ptrdiff_t, CodeGrid>(), nb::arg("n_rows"),
              nb::arg("n_features"), nb::arg("grid"));
    codes.def(
        "row",
        [](const Codes& self, std::ptrdiff_t i) {
            return std::vector<int>(self.row(i), self.row(i) + self.n_features());
        },
        nb::arg("i"));
    nb::class_<AnyRows>(m, "Rows", "Where training reads the arguments of the basis from.");
    m.def(
        "coded_rows",
        [](const Codes& coded, const Axes& axes) -> AnyRows { return CodedRows(coded, axes); },
        nb::arg("codes"), nb::arg("axes"), nb::keep_alive<0, 1>(),
        "Rows that were coded beforehand.");
    bind_values<float>(m, codes);
    bind_values<double>(m, codes);
}

}  // namespace splinear::bindings
