// Python bindings of passes over the rows and of Hessians: operators/.
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "operators/curved_sums.hpp"
#include "operators/hessian.hpp"
#include "operators/many_outputs.hpp"
#include "operators/passes.hpp"

namespace splinear::bindings {
namespace {

using GroupList = std::vector<const Group*>;

template <class Pass>
NumpyVector unlocked(const Pass& pass) {
    decltype(pass()) out;
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
        "score_many",
        [](const GroupList& groups, const Table<double>& tables, std::int64_t n_threads) {
            const std::size_t n = tables.shape(0);
            return unlocked(
                [&] { return score_many(groups, n, as_span(tables), threads(n_threads)); });
        },
        nb::arg("groups"), nb::arg("tables").noconvert(), nb::arg("n_threads"),
        "score_all of several outputs at once, one after the other.");
    m.def(
        "sum_many",
        [](const GroupList& groups, const Table<double>& r, std::int64_t n_threads) {
            const std::size_t n = r.shape(0);
            return unlocked([&] { return sum_many(groups, n, as_span(r), threads(n_threads)); });
        },
        nb::arg("groups"), nb::arg("r").noconvert(), nb::arg("n_threads"),
        "sum_all of several outputs at once, one after the other.");
    m.def(
        "blocks_many",
        [](const GroupList& groups, const Table<double>& h, std::int64_t n_threads) {
            const std::size_t n = h.shape(0);
            return unlocked([&] { return blocks_many(groups, n, as_span(h), threads(n_threads)); });
        },
        nb::arg("groups"), nb::arg("h").noconvert(), nb::arg("n_threads"),
        "blocks_all of several outputs at once, one after the other.");
    m.def(
        "curved_sums",
        [](const GroupList& groups, const Vector<double>& tables, const Vector<double>& h,
           std::int64_t n_threads) {
            CurvedSums found;
            {
                nb::gil_scoped_release release;
                found = curved_sums(groups, as_span(tables), as_span(h), {}, threads(n_threads));
            }
            const std::size_t n = found.sums.size();
            return nb::make_tuple(to_numpy<NumpyVector>(std::move(found.scores), h.size()),
                                  found.level, to_numpy<NumpyVector>(std::move(found.sums), n));
        },
        nb::arg("groups"), nb::arg("tables").noconvert(), nb::arg("h").noconvert(),
        nb::arg("n_threads"),
        nb::sig("def curved_sums(groups: Sequence[Group], tables: "
                "Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', "
                "writable=False)], h: Annotated[NDArray[numpy.float64], dict(shape=(None,), "
                "order='C', device='cpu', writable=False)], n_threads: int) -> "
                "tuple[NDArray[numpy.float64], float, NDArray[numpy.float64]]"),
        "score_all plus a level at which the sum of h times it is 0; the level; and sum_all of h "
        "times the scores.");
    m.def(
        "score_all",
        [](const GroupList& groups, const Vector<double>& tables, std::int64_t n_threads) {
            return unlocked([&] { return score_all(groups, as_span(tables), threads(n_threads)); });
        },
        nb::arg("groups"), nb::arg("tables").noconvert(), nb::arg("n_threads"),
        "tables @ B_i of every row i; per feature the coefficients and, with missing values, the "
        "value where x is missing.");
    m.def(
        "sum_all",
        [](const GroupList& groups, const Vector<double>& r, std::int64_t n_threads) {
            return unlocked([&] { return sum_all(groups, as_span(r), threads(n_threads)); });
        },
        nb::arg("groups"), nb::arg("r").noconvert(), nb::arg("n_threads"),
        "sum_i r_i B_i, per group n_features x stride.");
    m.def(
        "blocks_all",
        [](const GroupList& groups, const Vector<double>& h, std::int64_t n_threads) {
            return unlocked([&] { return blocks_all(groups, as_span(h), threads(n_threads)); });
        },
        nb::arg("groups"), nb::arg("h").noconvert(), nb::arg("n_threads"),
        "The diagonal blocks of sum_i h_i B_i B_i', by bands: per group n_features x stride x "
        "support.");
    m.def(
        "hessian_some",
        [](const GroupList& groups, const Vector<std::int64_t>& places, std::size_t n,
           const Vector<double>& h, double bias, std::int64_t n_threads) {
            return unlocked([&] {
                return hessian_some(groups, as_span(places), n, as_span(h), bias,
                                    threads(n_threads));
            });
        },
        nb::arg("groups"), nb::arg("places").noconvert(), nb::arg("n"), nb::arg("h").noconvert(),
        nb::arg("bias"), nb::arg("n_threads"),
        "sum_i h_i (B_i, bias)(B_i, bias)' over the first len(h) rows, n x n, row by row; entry k "
        "of B_i stands at places[k], or is left out if that is negative; others are 0, 1, ..., n - "
        "2.");
    m.def(
        "hessian_thinned",
        [](const GroupList& groups, const Vector<std::int64_t>& factors,
           const Vector<std::int64_t>& places, std::size_t n, const Vector<double>& h, double bias,
           std::int64_t n_threads) {
            return unlocked([&] {
                return hessian_thinned(groups, as_span(factors), as_span(places), n, as_span(h),
                                       bias, threads(n_threads));
            });
        },
        nb::arg("groups"), nb::arg("factors").noconvert(), nb::arg("places").noconvert(),
        nb::arg("n"), nb::arg("h").noconvert(), nb::arg("bias"), nb::arg("n_threads"),
        "hessian_some of curves with fewer coefficients: of a group of degree 0 or 1 whose factor "
        "is m, one for every m, between which the others are constant or linear.");
    m.def(
        "upper_half",
        [](const Table<double>& matrix, std::int64_t n_threads) {
            return unlocked(
                [&] { return upper_half(as_span(matrix), matrix.shape(0), threads(n_threads)); });
        },
        nb::arg("matrix").noconvert(), nb::arg("n_threads"),
        "What is on the diagonal of a matrix (n, n) and beyond it, row by row.");
}

}  // namespace splinear::bindings
