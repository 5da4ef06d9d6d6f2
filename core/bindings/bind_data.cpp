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
NumpyTable decision_sparse(const AnyBasis& any, const Vector<std::int64_t>& starts,
                           const Vector<std::int32_t>& features, const Vector<Real>& values,
                           const Axes& axes, const Cube<double>& coef, const Table<double>& at_zero,
                           const Vector<double>& intercepts, int n_threads) {
    const std::size_t n_rows = starts.size() - 1;
    std::vector<double> out(n_rows * intercepts.size());
    {
        nb::gil_scoped_release release;
        const SparseView<Real> X{as_span(starts), as_span(features), as_span(values)};
        decide_sparse(any, X, axes, as_span(coef), as_span(at_zero), as_span(intercepts), n_threads,
                      out.data());
    }
    return to_numpy<NumpyTable>(std::move(out), n_rows, intercepts.size());
}

template <class Real>
NumpyVector sparse_arguments(const Vector<std::int32_t>& features, const Vector<Real>& values,
                             const Axes& axes) {
    std::vector<double> out(values.size());
    for (std::size_t k = 0; k < out.size(); ++k) {
        const auto j = static_cast<std::size_t>(features.data()[k]);
        out[k] = axes[j].argument(static_cast<double>(values.data()[k]));
    }
    const std::size_t n = out.size();
    return to_numpy<NumpyVector>(std::move(out), n);
}

template <class Real>
void bind_sparse(nb::module_& m) {
    m.def("sparse_arguments", &sparse_arguments<Real>, nb::arg("features").noconvert(),
          nb::arg("values").noconvert(), nb::arg("axes"),
          "The basis's argument of every non-zero of a sparse matrix.");
    m.def(
        "sparse_rows",
        [](const Vector<std::int64_t>& starts, const Vector<std::int32_t>& features,
           const Vector<Real>& values, const Axes& axes,
           const Vector<std::int64_t>& order) -> AnyRows {
            nb::gil_scoped_release release;
            const SparseView<Real> X{as_span(starts), as_span(features), as_span(values)};
            return SparseRows(X, axes, as_span(order));
        },
        nb::arg("starts").noconvert(), nb::arg("features").noconvert(),
        nb::arg("values").noconvert(), nb::arg("axes"), nb::arg("order").noconvert(),
        "The rows X[order] of a CSR matrix, non-zeros only; columns ascending in every row.");
    m.def("decision_sparse", &decision_sparse<Real>, nb::arg("basis"),
          nb::arg("starts").noconvert(), nb::arg("features").noconvert(),
          nb::arg("values").noconvert(), nb::arg("axes"), nb::arg("coef").noconvert(),
          nb::arg("at_zero").noconvert(), nb::arg("intercepts").noconvert(), nb::arg("n_threads"),
          "decision() for a CSR matrix; at_zero (n_outputs, n_features), or (0, 0), is replaced by "
          "the curve at a value that is not zero.");
}

AnyRows mapped_sparse_rows(const Vector<std::int64_t>& starts, const Vector<std::uint64_t>& entries,
                           Row rows_per_block) {
    const auto* first = reinterpret_cast<const SparseRows::Entry*>(entries.data());
    return SparseRows({starts.data(), starts.data() + starts.size()},
                      std::span(first, entries.size()), rows_per_block);
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
        "__init__",
        [](Codes* self, const Table<Code>& mapped, const CodeGrid& grid, Row rows_per_block) {
            new (self) Codes(mapped.data(), static_cast<Row>(mapped.shape(0)),
                             static_cast<std::ptrdiff_t>(mapped.shape(1)), grid, rows_per_block);
        },
        nb::arg("mapped").noconvert(), nb::arg("grid"), nb::arg("rows_per_block"),
        nb::keep_alive<1, 2>(), "Codes in a read-only map of a file.");
    codes.def_prop_ro(
        "array",
        [](const Codes& self) {
            return nb::ndarray<nb::numpy, const Code, nb::ndim<2>>(
                self.row(0), {static_cast<std::size_t>(self.n_rows()),
                              static_cast<std::size_t>(self.n_features())});
        },
        nb::rv_policy::reference_internal, "The codes themselves, n_rows x n_features.");
    codes.def_prop_ro("rows_per_block", &Codes::rows_per_block,
                      "How many rows are to be in memory at a time.");
    nb::class_<AnyRows>(m, "Rows", "Where training reads the arguments of the basis from.");
    m.def(
        "coded_rows",
        [](const Codes& coded, const Axes& axes) -> AnyRows { return CodedRows(coded, axes); },
        nb::arg("codes"), nb::arg("axes"), nb::keep_alive<0, 1>(),
        "Rows that were coded beforehand.");
    bind_values<float>(m, codes);
    bind_values<double>(m, codes);
    static_assert(sizeof(SparseRows::Entry) == sizeof(std::uint64_t));
    m.def("mapped_sparse_rows", &mapped_sparse_rows, nb::arg("starts").noconvert(),
          nb::arg("entries").noconvert(), nb::arg("rows_per_block"), nb::keep_alive<0, 2>(),
          "Sparse rows in a mapped file; an entry is a uint32 feature and a float32 argument.");
    bind_sparse<float>(m);
    bind_sparse<double>(m);
}

}  // namespace splinear::bindings
