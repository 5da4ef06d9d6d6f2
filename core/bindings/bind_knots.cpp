#include <limits>

#include "bindings/arrays.hpp"
#include "model/spread_knots.hpp"
#include "rows/sorted_columns.hpp"

namespace splinear::bindings {
namespace {

template <class Real>
using NumpyColumns = nb::ndarray<nb::numpy, Real, nb::ndim<2>>;

template <class Real>
NumpyColumns<Real> sorted_columns(const Matrix<Real>& X, const Vector<std::int64_t>& rows,
                                  const Vector<std::int64_t>& columns, std::int64_t n_threads) {
    Buffer<Real> out(rows.size() * columns.size());
    {
        nb::gil_scoped_release release;
        sort_columns(as_view(X), as_span(rows), as_span(columns), threads(n_threads), out.data());
    }
    return to_numpy<NumpyColumns<Real>>(std::move(out), columns.size(), rows.size());
}

// One row of knots per row of `ascending`, NaN behind them.
template <class Real>
NumpyTable spread_all(const Table<Real>& ascending, const Vector<double>& lo,
                      const Vector<double>& hi, std::int64_t n_bins, std::int64_t n_threads) {
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
            const auto knots =
                spread_knots(ascending.data() + j * ascending.shape(1), ascending.shape(1),
                             lo.data()[j], hi.data()[j], width - 1);
            std::copy(knots.begin(), knots.end(),
                      out.begin() + k * static_cast<std::ptrdiff_t>(width));
        });
    }
    return to_numpy<NumpyTable>(std::move(out), n, width);
}

template <class Real>
void bind_of(nb::module_& m) {
    m.def("sorted_columns", &sorted_columns<Real>, nb::arg("X").noconvert(),
          nb::arg("rows").noconvert(), nb::arg("columns").noconvert(), nb::arg("n_threads"),
          "X[rows][:, columns].T, each column in ascending order, NaN last.");
    m.def("spread_knots", &spread_all<Real>, nb::arg("ascending").noconvert(),
          nb::arg("lo").noconvert(), nb::arg("hi").noconvert(), nb::arg("n_bins"),
          nb::arg("n_threads"),
          "The knots of every feature that has many values, from these in ascending order.");
}

}  // namespace

void bind_knots(nb::module_& m) {
    bind_of<float>(m);
    bind_of<double>(m);
}

}  // namespace splinear::bindings
