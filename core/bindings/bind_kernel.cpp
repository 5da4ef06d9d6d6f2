// Python bindings of the min kernel.
#include <nanobind/stl/optional.h>

#include <optional>

#include "bindings/arrays.hpp"
#include "predict/min_kernel.hpp"

namespace splinear::bindings {
namespace {

using Output = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Real>
void min_kernel(const Matrix<Real>& X, const std::optional<Matrix<Real>>& Y, const Output& out,
                std::int64_t n_threads) {
    const int n = threads(n_threads);
    if (Y) must_be("the number of columns of Y, as of X,", Y->shape(1), X.shape(1));
    must_be("the number of rows of out, as of X,", out.shape(0), X.shape(0));
    must_be("the number of columns of out, of rows of Y,", out.shape(1),
            Y ? Y->shape(0) : X.shape(0));
    const MatrixView<Real> x = as_view(X);
    for (std::ptrdiff_t begin = 0; begin < x.n_rows; begin += min_kernel_rows) {
        {
            nb::gil_scoped_release release;
            if (Y)
                fill_min_kernel(x, as_view(*Y), begin, n, out.data());
            else
                fill_min_kernel(x, begin, n, out.data());
        }
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
}

template <class Real>
void bind_min_kernel(nb::module_& m) {
    m.def("min_kernel", &min_kernel<Real>, nb::arg("X").noconvert(),
          nb::arg("Y").noconvert().none(), nb::arg("out").noconvert(), nb::arg("n_threads"),
          "out[i, k] = sum_j min(X[i, j], Y[k, j]); Y is X if it is None.");
}

}  // namespace

void bind_kernel(nb::module_& m) {
    bind_min_kernel<float>(m);
    bind_min_kernel<double>(m);
}

}  // namespace splinear::bindings
