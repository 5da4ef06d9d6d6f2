// Python bindings of the bases in model/basis.
#include <stdexcept>

#include "bindings/arrays.hpp"
#include "model/basis/any.hpp"

namespace splinear::bindings {
namespace {

AnyBasis bspline(int degree, int n_bins) {
    must(n_bins > 0 && n_bins < most_functions, "there must be bins, and fewer than 2^30");
    switch (degree) {
        case 0: return BSpline<0>{n_bins};
        case 1: return BSpline<1>{n_bins};
        case 2: return BSpline<2>{n_bins};
        case 3: return BSpline<3>{n_bins};
        default: throw std::invalid_argument("B-splines are of degree 0, 1, 2 or 3");
    }
}

template <class B>
AnyBasis series(int degree) {
    must(degree > 0 && degree < most_functions / 2, "the degree must be from 1 to 2^29 - 1");
    return B{degree};
}

AnyBasis sampled(const Table<double>& values) {
    must(values.shape(0) >= 2 && values.shape(1) > 0, "functions are known at two places or more");
    return Sampled(static_cast<int>(values.shape(1)),
                   {values.data(), values.data() + values.size()});
}

NumpyTable evaluate(const AnyBasis& any, const Vector<double>& x) {
    return std::visit(
        [&](const Basis auto& basis) {
            const auto size = static_cast<std::size_t>(basis.size());
            std::vector<double> out(x.size() * size, 0.0);
            std::vector<double> w(static_cast<std::size_t>(basis.support()));
            for (std::size_t i = 0; i < x.size(); ++i) {
                const int first = basis.evaluate(x.data()[i], w.data());
                std::copy(w.begin(), w.end(),
                          out.data() + i * size + static_cast<std::size_t>(first));
            }
            return to_numpy<NumpyTable>(std::move(out), x.size(), size);
        },
        any);
}

}  // namespace

void bind_basis(nb::module_& m) {
    nb::class_<AnyBasis>(m, "Basis", "A family of functions of one variable.")
        .def_prop_ro("size", &basis_size)
        .def("evaluate", &evaluate, nb::arg("x").noconvert(),
             "The functions at the arguments x, (len(x), size).");
    m.def("bspline", &bspline, nb::arg("degree"), nb::arg("n_bins"));
    m.def("fourier", &series<Fourier>, nb::arg("degree"));
    m.def("sampled", &sampled, nb::arg("values").noconvert(),
          "Functions on [-1, 1] by their values (n_places, size), linear in between.");
    m.def("hermite", &series<Hermite>, nb::arg("degree"));
}

}  // namespace splinear::bindings
