// Python bindings of the penalties in model/penalty.
#include <nanobind/stl/pair.h>

#include <array>
#include <utility>

#include "bindings/arrays.hpp"
#include "model/penalty/any.hpp"
#include "model/penalty/distance.hpp"

namespace splinear::bindings {
namespace {

// Applies one of a penalty's maps to every row of a table.
template <class Map>
NumpyTable over_rows(const AnyPenalty& any, const Table<double>& rows, const Map& map) {
    const std::size_t n = rows.shape(0);
    const std::size_t size = rows.shape(1);
    std::vector<double> out(rows.data(), rows.data() + n * size);
    std::visit(
        [&](const Penalty auto& penalty) {
            must_be("the length of the rows, the size of the penalty,", size,
                    static_cast<std::size_t>(penalty.size()));
            for (std::size_t i = 0; i < n; ++i) map(penalty, out.data() + i * size);
        },
        any);
    return to_numpy<NumpyTable>(std::move(out), n, size);
}

std::pair<double, double> distance(const AnyPenalty& any, const Table<double>& coef,
                                   const Table<double>& sums, const Table<double>& stiffness) {
    const auto must_match = [&](const Table<double>& other) {
        must_be("the number of rows, as of coef,", other.shape(0), coef.shape(0));
        must_be("the length of rows, as of coef,", other.shape(1), coef.shape(1));
    };
    must_match(sums);
    must_match(stiffness);
    const auto spans = std::array{as_span(coef), as_span(sums), as_span(stiffness)};
    nb::gil_scoped_release release;
    const Distance found = std::visit(
        [&](const Penalty auto& penalty) {
            must_be("the length of the rows, the size of the penalty,", coef.shape(1),
                    static_cast<std::size_t>(penalty.size()));
            return distance_of(penalty, spans[0], spans[1], spans[2]);
        },
        any);
    return {found.value, found.square};
}

template <class P>
void check_weights(const P& penalty, int first, std::size_t n) {
    must(first >= 0 &&
             static_cast<std::size_t>(first) + n <= static_cast<std::size_t>(penalty.size()),
         "the weights go beyond the penalty");
    if constexpr (requires { penalty.support(); })
        must(n <= static_cast<std::size_t>(penalty.support()), "too many weights");
}

void check_weights(const DiagonalPenalty& penalty, int, std::size_t n) {
    must_be("the number of weights, one per function,", n,
            static_cast<std::size_t>(penalty.size()));
}

}  // namespace

void bind_penalty(nb::module_& m) {
    nb::class_<AnyPenalty>(m, "Penalty",
                           "An invertible map T; the coefficients are T w, the embedding T' B(x).")
        .def(
            "embed",
            [](const AnyPenalty& self, const Table<double>& rows) {
                return over_rows(self, rows, [](const auto& p, double* a) { p.embed(a); });
            },
            nb::arg("rows").noconvert(), "T' a for every row a.")
        .def(
            "integrate",
            [](const AnyPenalty& self, const Table<double>& rows) {
                return over_rows(self, rows, [](const auto& p, double* a) { p.integrate(a); });
            },
            nb::arg("rows").noconvert(), "T a for every row a.")
        .def(
            "smooth",
            [](const AnyPenalty& self, const Table<double>& rows) {
                return over_rows(self, rows, [](const auto& p, double* a) { p.smooth(a); });
            },
            nb::arg("rows").noconvert(), "T T' a for every row a.")
        .def(
            "difference",
            [](const AnyPenalty& self, const Table<double>& rows) {
                return over_rows(self, rows, [](const auto& p, double* a) { p.difference(a); });
            },
            nb::arg("rows").noconvert(), "T^{-1} a for every row a.")
        .def("distance", &distance, nb::arg("coef").noconvert(), nb::arg("sums").noconvert(),
             nb::arg("stiffness").noconvert(),
             "Sums over all rows of P d^2 and (P d + T' sums)^2 / P, with d = T^{-1} coef and P "
             "the stiffness; what has none takes no part in the second.")
        .def(
            "quadratic",
            [](const AnyPenalty& self, int first, const Vector<double>& weights) {
                return std::visit(
                    [&](const auto& p) {
                        check_weights(p, first, weights.size());
                        return p.quadratic(first, as_span(weights));
                    },
                    self);
            },
            nb::arg("first"), nb::arg("weights").noconvert(),
            "a' T T' a for the vector a that holds the weights from index first on.");
    m.def(
        "difference_penalty",
        [](int order, int size, int support, int held) -> AnyPenalty {
            must(order >= 0 && order <= DifferencePenalty::max_order,
                 "differences are of order 0 to 10");
            must(size > 0 && size < most_functions && support > 0 && held >= 0, "no such penalty");
            must(support <= size && held <= size, "a penalty is of size functions");
            return DifferencePenalty(order, size, support, held);
        },
        nb::arg("order"), nb::arg("size"), nb::arg("support"), nb::arg("held"));
    m.def(
        "matrix_penalty",
        [](const Table<double>& map, const Table<double>& inverse) -> AnyPenalty {
            const std::size_t size = map.shape(0);
            must(size > 0 && map.shape(1) == size && inverse.shape(0) == size &&
                     inverse.shape(1) == size,
                 "the map and its inverse must be square, of one size");
            return MatrixPenalty(static_cast<int>(size), {map.data(), map.data() + map.size()},
                                 {inverse.data(), inverse.data() + inverse.size()});
        },
        nb::arg("map").noconvert(), nb::arg("inverse").noconvert());
    m.def(
        "diagonal_penalty",
        [](const Vector<double>& weights) -> AnyPenalty {
            must(weights.size() < std::size_t{most_functions}, "a penalty is of 2^30 functions");
            return DiagonalPenalty({weights.data(), weights.data() + weights.size()});
        },
        nb::arg("weights").noconvert());
}

}  // namespace splinear::bindings
