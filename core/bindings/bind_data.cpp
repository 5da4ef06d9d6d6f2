// Python bindings of axes, codes and rows: model/axis.hpp and the classes of rows/.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "bindings/arrays.hpp"
#include "model/axis.hpp"
#include "rows/any_rows.hpp"
#include "rows/codes.hpp"
#include "rows/column_ranges.hpp"

namespace splinear::bindings {
namespace {

// Checks the knots of one feature: ascending, padded with NaN, and not a single one, which would
// bound no piece.
void check_knots(std::span<const double> knots) {
    const auto end = std::ranges::find_if(knots, [](double x) { return std::isnan(x); });
    must(end - knots.begin() != 1, "a feature must have no knots, or two and more");
    must(std::all_of(end, knots.end(), [](double x) { return std::isnan(x); }) &&
             std::is_sorted(knots.begin(), end),
         "knots must ascend, NaN standing for none at the end");
}

void make_axes(Axes* self, const Vector<double>& lo, const Vector<double>& hi,
               const Vector<double>& first, const Vector<double>& last,
               const Table<double>& knots) {
    const std::size_t n = lo.size();
    must_be("the number of hi, as of lo,", hi.size(), n);
    must_be("the number of first, as of lo,", first.size(), n);
    must_be("the number of last, as of lo,", last.size(), n);
    if (knots.size() > 0) must_be("the number of rows of knots, as of lo,", knots.shape(0), n);
    for (std::size_t j = 0; j < n; ++j) {
        must(first.data()[j] <= last.data()[j], "first must not be beyond last");
        check_knots(as_span(knots).subspan(j * (knots.size() / n), knots.size() / n));
    }
    new (self) Axes(as_span(lo), as_span(hi), as_span(first), as_span(last),
                    {knots.data(), knots.data() + knots.size()});
}

CodeGrid bins(int n_bins, int degree, bool missing) {
    must(n_bins > 0 && n_bins < most_functions, "there must be bins, and fewer than 2^30");
    must(0 <= degree && degree <= 3, "B-splines are of degree 0, 1, 2 or 3");
    must(degree == 0 || n_bins + degree + 1 <= CodeGrid::most_codes, "too many bins for 16 bits");
    return CodeGrid::bins(n_bins, degree, missing);
}

void make_codes(Codes* self, Row n_rows, std::ptrdiff_t n_features, const CodeGrid& grid) {
    must(n_rows >= 0 && n_features >= 0, "sizes must not be negative");
    constexpr Row most = Row{1} << 60;
    must(n_rows <= most && (n_features == 0 || n_rows <= most / n_features),
         "there must be no more than 2^60 codes");
    new (self) Codes(n_rows, n_features, grid);
}

template <class C>
void bind_mapped(nb::class_<Codes>& codes) {
    codes.def(
        "__init__",
        [](Codes* self, const Table<C>& mapped, const CodeGrid& grid, Row rows_per_block) {
            new (self) Codes(mapped.data(), static_cast<Row>(mapped.shape(0)),
                             static_cast<std::ptrdiff_t>(mapped.shape(1)), grid, rows_per_block);
        },
        nb::arg("mapped").noconvert(), nb::arg("grid"), nb::arg("rows_per_block"),
        nb::keep_alive<1, 2>(), "Codes in a read-only map of a file.");
}

using AnyTable = nb::ndarray<nb::numpy, nb::ro, nb::ndim<2>>;

AnyTable array_of(const Codes& codes) {
    const auto n_rows = static_cast<std::size_t>(codes.n_rows());
    const auto n_features = static_cast<std::size_t>(codes.n_features());
    const bool wide = codes.grid().is_wide;
    return AnyTable(codes.row(0), {n_rows, n_features}, nb::handle(), {},
                    wide ? nb::dtype<WideCode>() : nb::dtype<Code>());
}

template <class Real>
void fill(Codes& codes, const Matrix<Real>& X, const Vector<std::int64_t>& columns,
          const Vector<std::int64_t>& places, const Axes& axes, std::int64_t n_threads) {
    nb::gil_scoped_release release;
    codes.fill(as_view(X), as_span(columns), as_span(places), axes, threads(n_threads));
}

template <class Real>
NumpyVector sparse_arguments(const Vector<std::int32_t>& features, const Vector<Real>& values,
                             const Axes& axes) {
    must_be("the number of features, one per value,", features.size(), values.size());
    std::vector<double> out(values.size());
    for (std::size_t k = 0; k < out.size(); ++k) {
        const std::int32_t j = features.data()[k];
        must_be_one_of("feature", j, axes.size());
        out[k] =
            argument_of(axes[static_cast<std::size_t>(j)], static_cast<double>(values.data()[k]));
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
           const Vector<Real>& values, const Axes& axes, const Vector<std::int64_t>& order,
           std::shared_ptr<TablePlaces> places, bool exact) -> AnyRows {
            nb::gil_scoped_release release;
            const SparseView<Real> X{as_span(starts), as_span(features), as_span(values)};
            if (exact) return ExactSparseRows(X, axes, as_span(order), places);
            return SparseRows(X, axes, as_span(order), places);
        },
        nb::arg("starts").noconvert(), nb::arg("features").noconvert(),
        nb::arg("values").noconvert(), nb::arg("axes"), nb::arg("order").noconvert(),
        nb::arg("places"), nb::arg("exact"),
        "The rows X[order] of a CSR matrix, non-zeros only; columns ascending in every row. "
        "Arguments are float32, or float64 if `exact`.");
}

nb::ndarray<nb::numpy, const std::uint32_t, nb::ndim<1>> place_starts(const TablePlaces& self) {
    const auto starts = self.starts();
    return {starts.data(), {starts.size()}, nb::find(self)};
}

AnyRows mapped_sparse_rows(const Vector<std::int64_t>& starts, const Vector<std::uint64_t>& entries,
                           Row rows_per_block, std::shared_ptr<TablePlaces> places) {
    const auto* first = reinterpret_cast<const SparseRows::Entry*>(entries.data());
    return SparseRows({starts.data(), starts.data() + starts.size()},
                      std::span(first, entries.size()), rows_per_block, std::move(places));
}

using ThreeVectors = nb::typed<nb::tuple, NumpyVector, NumpyVector, NumpyVector>;

template <class Real>
ThreeVectors ranges_of(const Matrix<Real>& X, std::int64_t n_threads) {
    ColumnRanges found;
    {
        nb::gil_scoped_release release;
        found = column_ranges(as_view(X), threads(n_threads));
    }
    const std::size_t n = X.shape(1);
    return ThreeVectors(nb::make_tuple(to_numpy<NumpyVector>(std::move(found.lo), n),
                                       to_numpy<NumpyVector>(std::move(found.hi), n),
                                       to_numpy<NumpyVector>(std::move(found.has_missing), n)));
}

template <class Real>
void bind_values(nb::module_& m, nb::class_<Codes>& codes) {
    m.def("column_ranges", &ranges_of<Real>, nb::arg("X").noconvert(), nb::arg("n_threads"),
          "The lowest and highest value of every column, infinite and the wrong way around where "
          "there is none, and 1.0 where a value is missing.");
    codes.def("fill", &fill<Real>, nb::arg("X").noconvert(), nb::arg("columns").noconvert(),
              nb::arg("places").noconvert(), nb::arg("axes"), nb::arg("n_threads"),
              "Code the given columns of the rows of X into the given places; a negative place "
              "skips the row.");
    m.def(
        "value_rows",
        [](const Matrix<Real>& X, const Vector<std::int64_t>& columns, const Axes& axes,
           const Vector<std::int64_t>& order) -> AnyRows {
            return ValueRows<Real>(as_view(X), as_span(columns), axes, as_span(order));
        },
        nb::arg("X").noconvert(), nb::arg("columns").noconvert(), nb::arg("axes"),
        nb::arg("order").noconvert(), nb::keep_alive<0, 1>(), nb::keep_alive<0, 3>(),
        nb::keep_alive<0, 4>(),
        "The rows X[order][:, columns], read in full precision whenever they are needed.");
}

}  // namespace

void bind_data(nb::module_& m) {
    nb::class_<Axes>(m, "Axes", "Per feature, the map from [lo, hi] to the basis's [first, last].")
        .def("__init__", &make_axes, nb::arg("lo").noconvert(), nb::arg("hi").noconvert(),
             nb::arg("first").noconvert(), nb::arg("last").noconvert(),
             nb::arg("knots").noconvert());
    nb::class_<CodeGrid>(m, "CodeGrid", "How finely 16 or 32 bits divide an axis.")
        .def_static("bins", &bins, nb::arg("n_bins"), nb::arg("degree"), nb::arg("missing"))
        .def_static("whole_axis", &CodeGrid::whole_axis, nb::arg("missing"))
        .def_ro("steps", &CodeGrid::steps);
    nb::class_<Codes> codes(m, "Codes", "The training data as positions on its axes.");
    codes.def("__init__", &make_codes, nb::arg("n_rows"), nb::arg("n_features"), nb::arg("grid"));
    bind_mapped<Code>(codes);
    bind_mapped<WideCode>(codes);
    codes.def_prop_ro("array", &array_of, nb::rv_policy::reference_internal,
                      nb::for_getter(nb::sig("def array(self) -> object")),
                      "The codes themselves, n_rows x n_features, uint16 or uint32.");
    codes.def(
        "some_rows",
        [](const Codes& self, const Vector<std::int64_t>& numbers) {
            return self.some_rows(as_span(numbers), 1);
        },
        nb::arg("numbers").noconvert(), "Some rows, copied to memory of their own.");
    codes.def_prop_ro("rows_per_block", &Codes::rows_per_block,
                      "How many rows are to be in memory at a time.");
    nb::class_<AnyRows>(m, "Rows", "Where training reads the arguments of the basis from.");
    m.def(
        "coded_rows", [](const Codes& coded, const Axes& axes) { return coded_rows(coded, axes); },
        nb::arg("codes"), nb::arg("axes"), nb::keep_alive<0, 1>(),
        "Rows that were coded beforehand.");
    m.def("first_rows", &first_rows, nb::arg("rows"), nb::arg("n"), nb::keep_alive<0, 1>(),
          "The first n rows alone.");
    m.def(
        "some_rows",
        [](const AnyRows& rows, const Vector<std::int64_t>& numbers, std::int64_t n_threads) {
            nb::gil_scoped_release release;
            return some_rows(rows, as_span(numbers), threads(n_threads));
        },
        nb::arg("rows"), nb::arg("numbers").noconvert(), nb::arg("n_threads") = 1,
        nb::keep_alive<0, 1>(), "The rows of the given numbers.");
    bind_values<float>(m, codes);
    bind_values<double>(m, codes);
    nb::class_<TablePlaces>(m, "TablePlaces", "Where the tables of features lie in one array.")
        .def(
            "__init__",
            [](TablePlaces* self, const Vector<std::int64_t>& sizes) {
                new (self) TablePlaces(as_span(sizes));
            },
            nb::arg("sizes").noconvert())
        .def_prop_ro("starts", &place_starts, "The place of each feature, as integers.");
    static_assert(sizeof(SparseRows::Entry) == sizeof(std::uint64_t));
    m.def("mapped_sparse_rows", &mapped_sparse_rows, nb::arg("starts").noconvert(),
          nb::arg("entries").noconvert(), nb::arg("rows_per_block"), nb::arg("places"),
          nb::keep_alive<0, 2>(),
          "Sparse rows in a mapped file; an entry is the uint32 place of a feature and a float32 "
          "argument.");
    bind_sparse<float>(m);
    bind_sparse<double>(m);
}

}  // namespace splinear::bindings
