// Python bindings of solve/arrow.hpp, support/banded_blocks.hpp, support/step_variances.hpp and
// model/part_variances.hpp.
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "model/part_variances.hpp"
#include "solve/arrow.hpp"
#include "support/step_variances.hpp"

namespace splinear::bindings {
namespace {

using NumpyCube = nb::ndarray<nb::numpy, double, nb::ndim<3>>;

template <class Number, class Array>
std::vector<Number> copied(const Array& array) {
    return {array.data(), array.data() + array.size()};
}

ArrowGroup arrow_group(const Cube<double>& bands, const Table<bool>& used,
                       const Table<double>& mean, const Table<double>& ties, double s,
                       const Table<double>& line, const Table<double>& times,
                       const Vector<double>& line_precision, std::int64_t n_threads) {
    const int n = threads(n_threads);
    nb::gil_scoped_release release;
    return {{copied<double>(bands), bands.shape(1), bands.shape(2), n},
            copied<std::uint8_t>(used),
            copied<double>(mean),
            copied<double>(ties),
            s,
            n,
            {copied<double>(line), copied<double>(times), copied<double>(line_precision)}};
}

Bands as_bands(const Cube<double>& bands) { return {as_span(bands), bands.shape(2)}; }

NumpyCube penalized(const Cube<double>& blocks, const Cube<double>& penalty,
                    const Table<bool>& used, const Table<double>& levels, double of_level,
                    std::size_t most, std::int64_t n_threads) {
    const std::size_t size = used.shape(1);
    const int n = threads(n_threads);
    std::vector<double> out;
    {
        nb::gil_scoped_release release;
        out = penalized_bands(as_bands(blocks), as_bands(penalty), copied<std::uint8_t>(used),
                              as_span(levels), of_level, size, most, n);
    }
    const std::size_t n_bands = out.size() / std::max<std::size_t>(used.size(), 1);
    return to_numpy<NumpyCube>(std::move(out), used.shape(0), size, n_bands);
}

NumpyTable solve(const std::vector<const ArrowGroup*>& groups, double s, const Table<double>& r,
                 std::int64_t n_threads) {
    std::vector<double> out;
    {
        nb::gil_scoped_release release;
        out = solve_arrow(groups, s, as_span(r), threads(n_threads));
    }
    return to_numpy<NumpyTable>(std::move(out), r.shape(0), r.shape(1));
}

nb::object variances(const Cube<double>& bands, const Table<double>& u, std::int64_t n_threads) {
    const std::size_t n = bands.shape(0);
    const std::size_t size = bands.shape(1);
    StepVariances found(0);
    {
        nb::gil_scoped_release release;
        found =
            step_variances(as_span(bands), size, bands.shape(2), as_span(u), threads(n_threads));
    }
    if (!found.is_definite) return nb::none();
    const auto table = [&](std::vector<double>& values) {
        return to_numpy<NumpyTable>(std::move(values), n, size);
    };
    return nb::make_tuple(table(found.own), table(found.steps), table(found.solved));
}

nb::object variances_of_parts(const Cube<double>& bands, const Cube<double>& rows,
                              const Table<bool>& used, const Table<double>& line,
                              const Vector<double>& line_precision, const Cube<double>& bends,
                              const Table<double>& u, std::int64_t n_threads) {
    const std::size_t n = used.shape(0);
    const std::size_t stride = used.shape(1);
    must_be("the curves of bends", bends.shape(0), n);
    PartVariances found;
    {
        nb::gil_scoped_release release;
        const auto is_used = copied<std::uint8_t>(used);
        found = part_variances({as_bands(bands), as_bands(rows), is_used, as_span(line),
                                as_span(line_precision), as_span(bends), as_span(u), stride},
                               threads(n_threads));
    }
    if (!found.is_definite) return nb::none();
    const auto vector = [&](std::vector<double>& values) {
        return to_numpy<NumpyVector>(std::move(values), n);
    };
    return nb::make_tuple(to_numpy<NumpyTable>(std::move(found.steps), n, stride),
                          to_numpy<NumpyTable>(std::move(found.bends), n, bends.shape(1)),
                          vector(found.seen), vector(found.slope), vector(found.left));
}

}  // namespace

// See solve/arrow.hpp, support/step_variances.hpp, model/part_variances.hpp.
void bind_arrow(nb::module_& m) {
    nb::class_<ArrowGroup>(m, "ArrowGroup",
                           "The blocks of a group's features, factored, and what ties them to the "
                           "intercept.")
        .def_prop_ro(
            "is_definite", [](const ArrowGroup& self) { return self.blocks.is_definite(); },
            "Whether all blocks are positive definite; others cannot be solved with.");
    m.def("arrow_group", &arrow_group, nb::arg("bands").noconvert(), nb::arg("used").noconvert(),
          nb::arg("mean").noconvert(), nb::arg("ties").noconvert(), nb::arg("of_intercept"),
          nb::arg("line").noconvert(), nb::arg("times").noconvert(),
          nb::arg("line_precision").noconvert(), nb::arg("n_threads"),
          "bands (n_features, stride, n_bands); used and ties (n_features, stride); mean "
          "(n_features, size), or (0, 0) for a group without missing values; line and times "
          "(n_features, stride) and line_precision (n_features,), or empty ones.");
    m.def("penalized_bands", &penalized, nb::arg("blocks").noconvert(),
          nb::arg("penalty").noconvert(), nb::arg("used").noconvert(),
          nb::arg("levels").noconvert(), nb::arg("of_level"), nb::arg("most"), nb::arg("n_threads"),
          "The bands of blocks (n, size, support), where both functions are used, of their penalty "
          "(n, size, bandwidth + 1) and of of_level p p', p being levels (n, size) or (0, 0), "
          "added up: `most` of them at most. What is not used has ones on the diagonal.");
    m.def(
        "add_scaled",
        [](const nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>& to, double share,
           const Table<double>& more) {
            must_be("the size of what is added", more.size(), to.size());
            for (std::size_t i = 0; i < to.size(); ++i) to.data()[i] += share * more.data()[i];
        },
        nb::arg("to").noconvert(), nb::arg("share"), nb::arg("more").noconvert(),
        "to += share * more, in place.");
    m.def(
        "band_sums",
        [](const Cube<double>& bands, std::int64_t n_threads) {
            return to_numpy<NumpyTable>(
                band_sums(as_bands(bands), bands.shape(1), threads(n_threads)), bands.shape(0),
                bands.shape(1));
        },
        nb::arg("bands").noconvert(), nb::arg("n_threads"),
        "The sums of the rows of symmetric matrices, bands (n, size, n_bands): (n, size).");
    m.def("solve_arrow", &solve, nb::arg("groups"), nb::arg("of_intercept"),
          nb::arg("r").noconvert(), nb::arg("n_threads"),
          "The inverse times every row of r, (n, n_parameters + 1).");
    m.def("step_variances", &variances, nb::arg("bands").noconvert(), nb::arg("u").noconvert(),
          nb::arg("n_threads"),
          nb::sig("def step_variances(bands: Annotated[NDArray[numpy.float64], dict(shape=(None, "
                  "None, None), order='C', device='cpu', writable=False)], u: "
                  "Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', "
                  "device='cpu', writable=False)], n_threads: int) -> "
                  "tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]] | "
                  "None"),
          "Of numbers whose precision is M_j, tridiagonal, bands (n, size, 2) or (n, size, 1): "
          "their variances, those of the differences to the number before, and M_j^{-1} u_j; None "
          "if a matrix is not positive definite.");
    m.def("part_variances", &variances_of_parts, nb::arg("bands").noconvert(),
          nb::arg("rows").noconvert(), nb::arg("used").noconvert(), nb::arg("line").noconvert(),
          nb::arg("line_precision").noconvert(), nb::arg("bends").noconvert(),
          nb::arg("u").noconvert(), nb::arg("n_threads"),
          nb::sig("def part_variances(bands: Annotated[NDArray[numpy.float64], dict(shape=(None, "
                  "None, None), order='C', device='cpu', writable=False)], rows: "
                  "Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', "
                  "device='cpu', writable=False)], used: Annotated[NDArray[numpy.bool_], "
                  "dict(shape=(None, None), order='C', device='cpu', writable=False)], line: "
                  "Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', "
                  "device='cpu', writable=False)], line_precision: "
                  "Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', "
                  "device='cpu', writable=False)], bends: Annotated[NDArray[numpy.float64], "
                  "dict(shape=(None, None, 2), order='C', device='cpu', writable=False)], u: "
                  "Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', "
                  "device='cpu', writable=False)], n_threads: int) -> "
                  "tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], "
                  "NDArray[numpy.float64], NDArray[numpy.float64]] | None"),
          "Of curves with these blocks, (n, stride, n_bands) with the penalty and rows (n, stride, "
          "support) without: the variances of steps (n, stride) and bends (n, size), and per curve "
          "what the rows add to the precision of its line, how that follows the intercept, and "
          "what is left to the intercept; None if a block is not positive definite.");
}

}  // namespace splinear::bindings
