// Python bindings of sorted columns and knots: rows/sorted_columns.hpp, rows/column_spread.hpp,
// model/spread_knots.hpp and model/tail_knots.hpp.
#include <algorithm>
#include <limits>
#include <span>
#include <type_traits>

#include "bindings/arrays.hpp"
#include "model/spread_knots.hpp"
#include "model/tail_knots.hpp"
#include "rows/column_spread.hpp"
#include "rows/sorted_columns.hpp"

namespace splinear::bindings {
namespace {

// Arrays of the type of X, float32 or float64.
using NumpyColumns = nb::ndarray<nb::numpy, nb::ndim<2>>;

template <class Real>
NumpyColumns sorted_columns(const Matrix<Real>& X, const Vector<std::int64_t>& rows,
                            const Vector<std::int64_t>& columns, std::int64_t n_threads) {
    Buffer<Real> out(rows.size() * columns.size());
    {
        nb::gil_scoped_release release;
        sort_columns(as_view(X), as_span(rows), as_span(columns), threads(n_threads), out.data());
    }
    Real* data = out.release();
    nb::capsule keeper(data, [](void* p) noexcept { delete[] static_cast<Real*>(p); });
    return NumpyColumns(data, {columns.size(), rows.size()}, keeper, {}, nb::dtype<Real>());
}

template <class Real>
NumpyNumbers suspects(const Matrix<Real>& X, const Vector<std::int64_t>& rows,
                      const Vector<std::int64_t>& columns, const Vector<double>& lo,
                      const Vector<double>& hi, double start, double end, double narrow,
                      std::int64_t few, std::int64_t n_threads) {
    must(few >= 0, "few must not be negative");
    std::vector<std::int64_t> found;
    {
        nb::gil_scoped_release release;
        found = suspect_columns(as_view(X), as_span(rows), as_span(columns), as_span(lo),
                                as_span(hi), {start, end, narrow}, static_cast<std::size_t>(few),
                                threads(n_threads));
    }
    const std::size_t n = found.size();
    return to_numpy<NumpyNumbers>(std::move(found), n);
}

// Calls knots_of(values, lo, hi, n_bins) for every row of `ascending`. Returns one row of knots
// each, padded with NaN.
template <class Real, class Knots>
NumpyTable knots_of_all(const Table<Real>& ascending, const Vector<double>& lo,
                        const Vector<double>& hi, std::int64_t n_bins, std::int64_t n_threads,
                        const Knots& knots_of) {
    const std::size_t n = ascending.shape(0);
    must_be("the number of lo, one per row,", lo.size(), n);
    must_be("the number of hi, one per row,", hi.size(), n);
    must(n_bins > 0 && n_bins < most_functions, "there must be bins, and fewer than 2^30");
    const std::size_t width = static_cast<std::size_t>(n_bins) + 1;
    std::vector<double> out(n * width, std::numeric_limits<double>::quiet_NaN());
    {
        nb::gil_scoped_release release;
        parallel_for(static_cast<std::ptrdiff_t>(n), threads(n_threads), [&](std::ptrdiff_t k) {
            const auto j = static_cast<std::size_t>(k);
            const std::span values(ascending.data() + j * ascending.shape(1), ascending.shape(1));
            const auto knots = knots_of(values, lo.data()[j], hi.data()[j], width - 1);
            std::copy(knots.begin(), knots.end(),
                      out.begin() + k * static_cast<std::ptrdiff_t>(width));
        });
    }
    return to_numpy<NumpyTable>(std::move(out), n, width);
}

template <class Real>
NumpyTable knots_spread(const Table<Real>& ascending, const Vector<double>& lo,
                        const Vector<double>& hi, std::int64_t n_bins, std::int64_t n_threads) {
    return knots_of_all(ascending, lo, hi, n_bins, n_threads,
                        [](auto values, double from, double to, std::size_t bins) {
                            return spread_knots(values.data(), values.size(), from, to, bins);
                        });
}

template <class Real>
NumpyTable knots_of_tails(const Table<Real>& ascending, const Vector<double>& lo,
                          const Vector<double>& hi, std::int64_t n_bins, double start, double end,
                          double narrow, std::int64_t n_threads) {
    return knots_of_all(ascending, lo, hi, n_bins, n_threads,
                        [&](auto values, double from, double to, std::size_t bins) {
                            return tail_knots(values.data(), values.size(), from, to, bins,
                                              {start, end, narrow}, std::is_same_v<Real, float>);
                        });
}

constexpr const char* of_floats =
    "def sorted_columns(X: NDArray[numpy.float32], rows: NDArray[numpy.int64], columns: "
    "NDArray[numpy.int64], n_threads: int) -> NDArray[numpy.generic]";
constexpr const char* of_doubles =
    "def sorted_columns(X: NDArray[numpy.float64], rows: NDArray[numpy.int64], columns: "
    "NDArray[numpy.int64], n_threads: int) -> NDArray[numpy.generic]";

template <class Real>
void bind_of(nb::module_& m) {
    m.def("sorted_columns", &sorted_columns<Real>, nb::arg("X").noconvert(),
          nb::arg("rows").noconvert(), nb::arg("columns").noconvert(), nb::arg("n_threads"),
          nb::sig(std::is_same_v<Real, float> ? of_floats : of_doubles),
          "X[rows][:, columns].T, each column in ascending order, NaN last.");
    m.def("suspect_columns", &suspects<Real>, nb::arg("X").noconvert(), nb::arg("rows").noconvert(),
          nb::arg("columns").noconvert(), nb::arg("lo").noconvert(), nb::arg("hi").noconvert(),
          nb::arg("start"), nb::arg("end"), nb::arg("narrow"), nb::arg("few"), nb::arg("n_threads"),
          "The places among `columns` of those that may have a long tail, gaps, or few values.");
    m.def("spread_knots", &knots_spread<Real>, nb::arg("ascending").noconvert(),
          nb::arg("lo").noconvert(), nb::arg("hi").noconvert(), nb::arg("n_bins"),
          nb::arg("n_threads"),
          "The knots of every feature that has many values, from these in ascending order.");
    m.def("tail_knots", &knots_of_tails<Real>, nb::arg("ascending").noconvert(),
          nb::arg("lo").noconvert(), nb::arg("hi").noconvert(), nb::arg("n_bins"), nb::arg("start"),
          nb::arg("end"), nb::arg("narrow"), nb::arg("n_threads"),
          "The knots of every feature that has a long tail, from its values in ascending order.");
}

}  // namespace

void bind_knots(nb::module_& m) {
    bind_of<float>(m);
    bind_of<double>(m);
}

}  // namespace splinear::bindings
