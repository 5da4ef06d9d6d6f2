#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "passes.hpp"

namespace splinear::bindings {
namespace {

template <class Pass>
NumpyVector unlocked(const Pass& pass) {
    std::vector<double> out;
    {
        nb::gil_scoped_release release;
        out = pass();
    }
    const std::size_t n = out.size();
    return to_numpy<NumpyVector>(std::move(out), n);
}

}  // namespace

void bind_passes(nb::module_& m) {
    m.def(
        "score_all",
        [](const AnyRows& rows, const AnyBasis& basis, const Table<double>& coef, int n_threads) {
            return unlocked([&] { return score_all(rows, basis, as_span(coef), n_threads); });
        },
        nb::arg("rows"), nb::arg("basis"), nb::arg("coef").noconvert(), nb::arg("n_threads"),
        "sum_j coef[j] @ B(x_ij) of every row i.");
    m.def(
        "sum_all",
        [](const AnyRows& rows, const AnyBasis& basis, std::size_t n_features,
           const Vector<double>& r, int n_threads) {
            return unlocked(
                [&] { return sum_all(rows, basis, n_features, as_span(r), n_threads); });
        },
        nb::arg("rows"), nb::arg("basis"), nb::arg("n_features"), nb::arg("r").noconvert(),
        nb::arg("n_threads"), "sum_i r_i B_i, n_features x size.");
    m.def(
        "blocks_all",
        [](const AnyRows& rows, const AnyBasis& basis, std::size_t n_features,
           const Vector<double>& h, int n_threads) {
            return unlocked(
                [&] { return blocks_all(rows, basis, n_features, as_span(h), n_threads); });
        },
        nb::arg("rows"), nb::arg("basis"), nb::arg("n_features"), nb::arg("h").noconvert(),
        nb::arg("n_threads"),
        "The diagonal blocks of sum_i h_i B_i B_i', by bands: n_features x size x support.");
    m.def(
        "hessian_some",
        [](const AnyRows& rows, const AnyBasis& basis, const Vector<std::int64_t>& places,
           std::size_t n, const Vector<double>& h, double bias, int n_threads) {
            return unlocked([&] {
                return hessian_some(rows, basis, as_span(places), n, as_span(h), bias, n_threads);
            });
        },
        nb::arg("rows"), nb::arg("basis"), nb::arg("places").noconvert(), nb::arg("n"),
        nb::arg("h").noconvert(), nb::arg("bias"), nb::arg("n_threads"),
        "sum_i h_i (B_i, bias)(B_i, bias)' over the first len(h) rows, n x n, row by row; function "
        "k of feature j stands at places[j * size + k], or is left out if that is negative.");
}

}  // namespace splinear::bindings
