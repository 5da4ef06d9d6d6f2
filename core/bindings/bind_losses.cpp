// Python bindings of sums of losses and samples of rows: solve/loss_sums.hpp,
// solve/margin_sums.hpp, solve/row_sample.hpp and rows/places.hpp.
#include <nanobind/stl/pair.h>

#include "bindings/arrays.hpp"
#include "bindings/problem.hpp"
#include "rows/places.hpp"
#include "solve/loss_sums.hpp"
#include "solve/margin_sums.hpp"
#include "solve/row_sample.hpp"

namespace splinear::bindings {
namespace {

using Scores = Vector<double>;

nb::tuple as_tuple(RowSample found) {
    const std::size_t size = found.rows.size();
    return nb::make_tuple(to_numpy<NumpyNumbers>(std::move(found.rows), size),
                          to_numpy<NumpyVector>(std::move(found.weights), size));
}

// Sums of smoothed losses; see solve/margin_sums.hpp.
void bind_ramps(nb::module_& m) {
    nb::class_<RampShape>(m, "Ramp", "Over what width a loss is smoothed, and its two centers.")
        .def(nb::init<double, double, double>(), nb::arg("width"), nb::arg("low"), nb::arg("high"));
    m.def(
        "ramp_measures",
        [](const AnyLoss& loss, const HeldProblem& problem, const RampShape& ramp,
           const Scores& scores, std::int64_t n_threads) {
            Buffer<double> slopes(scores.size());
            RampMeasures found;
            {
                nb::gil_scoped_release release;
                found = ramp_measures(loss, problem, ramp, as_span(scores), threads(n_threads),
                                      slopes.data());
            }
            return nb::make_tuple(to_numpy<NumpyVector>(std::move(slopes), scores.size()),
                                  found.losses, found.gap,
                                  nb::make_tuple(found.n_on_ramp[0], found.n_on_ramp[1]),
                                  nb::make_tuple(found.slope_sums[0], found.slope_sums[1]));
        },
        nb::arg("loss"), nb::arg("problem"), nb::arg("ramp"), nb::arg("scores").noconvert(),
        nb::arg("n_threads"),
        nb::sig("def ramp_measures(loss: Loss, problem: DualProblem, ramp: Ramp, scores: "
                "Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', "
                "writable=False)], n_threads: int) -> tuple[NDArray[numpy.float64], float, float, "
                "tuple[float, float], tuple[float, float]]"),
        "The derivatives of the smoothed sum, the sum of the losses themselves, the rows' part of "
        "the gap, and of either side how many rows are in between and the sum of their slopes.");
    m.def(
        "ramp_bends",
        [](const AnyLoss& loss, const HeldProblem& problem, const RampShape& ramp,
           const Scores& scores, std::int64_t n_threads) {
            Buffer<double> bends(scores.size());
            {
                nb::gil_scoped_release release;
                ramp_bends(loss, problem, ramp, as_span(scores), threads(n_threads), bends.data());
            }
            return to_numpy<NumpyVector>(std::move(bends), scores.size());
        },
        nb::arg("loss"), nb::arg("problem"), nb::arg("ramp"), nb::arg("scores").noconvert(),
        nb::arg("n_threads"), "The second derivatives of the smoothed sum.");
    m.def(
        "ramp_along",
        [](const AnyLoss& loss, const HeldProblem& problem, const RampShape& ramp,
           const Scores& scores, const Scores& moves, const Scores& shares,
           std::int64_t n_threads) {
            std::vector<double> found;
            {
                nb::gil_scoped_release release;
                found = ramp_along(loss, problem, ramp, as_span(scores), as_span(moves),
                                   as_span(shares), threads(n_threads));
            }
            return to_numpy<NumpyVector>(std::move(found), shares.size());
        },
        nb::arg("loss"), nb::arg("problem"), nb::arg("ramp"), nb::arg("scores").noconvert(),
        nb::arg("moves").noconvert(), nb::arg("shares").noconvert(), nb::arg("n_threads"),
        "The slopes of the smoothed sum by t at scores + t moves, for each t of shares.");
    m.def(
        "ramp_gaps",
        [](const AnyLoss& loss, const HeldProblem& problem, const Scores& scores,
           const Scores& slopes, std::int64_t n_threads) {
            std::array<double, 2> found{};
            {
                nb::gil_scoped_release release;
                found =
                    ramp_gaps(loss, problem, as_span(scores), as_span(slopes), threads(n_threads));
            }
            return std::pair(found[0], found[1]);
        },
        nb::arg("loss"), nb::arg("problem"), nb::arg("scores").noconvert(),
        nb::arg("slopes").noconvert(), nb::arg("n_threads"),
        "The sum of the losses, and the rows' part of the gap to these derivatives by scores.");
}

}  // namespace

// Sums of smooth losses; see solve/loss_sums.hpp.
void bind_losses(nb::module_& m) {
    m.def("is_smooth", &is_smooth, nb::arg("loss"), "Whether loss_sums can be taken of a loss.");
    m.def(
        "loss_value",
        [](const AnyLoss& loss, const HeldProblem& problem, const Scores& scores,
           std::int64_t n_threads) {
            nb::gil_scoped_release release;
            return loss_value(loss, problem, as_span(scores), threads(n_threads));
        },
        nb::arg("loss"), nb::arg("problem"), nb::arg("scores").noconvert(), nb::arg("n_threads"),
        "The sum of the losses of rows with these scores.");
    m.def(
        "loss_each",
        [](const AnyLoss& loss, const HeldProblem& problem, const Scores& scores,
           std::int64_t n_threads) {
            Buffer<double> found;
            {
                nb::gil_scoped_release release;
                found = loss_each(loss, problem, as_span(scores), threads(n_threads));
            }
            return to_numpy<NumpyVector>(std::move(found), scores.size());
        },
        nb::arg("loss"), nb::arg("problem"), nb::arg("scores").noconvert(), nb::arg("n_threads"),
        "The loss of every row with these scores, times its cost.");
    m.def(
        "cautious_bends",
        [](const AnyLoss& loss, const HeldProblem& problem, const Scores& scores, double far,
           std::int64_t n_threads) {
            Buffer<double> found;
            {
                nb::gil_scoped_release release;
                found = cautious_bends(loss, problem, as_span(scores), far, threads(n_threads));
            }
            return to_numpy<NumpyVector>(std::move(found), scores.size());
        },
        nb::arg("loss"), nb::arg("problem"), nb::arg("scores").noconvert(), nb::arg("far"),
        nb::arg("n_threads"),
        "The second derivatives of the sum; of margins below -far, those of parabolas.");
    m.def(
        "missing_bends",
        [](const AnyLoss& loss, const HeldProblem& problem, const Scores& scores,
           const Scores& moves, const Scores& bends, double farthest, std::int64_t n_threads) {
            Buffer<double> found;
            {
                nb::gil_scoped_release release;
                found = missing_bends(loss, problem, as_span(scores), as_span(moves),
                                      as_span(bends), farthest, threads(n_threads));
            }
            return to_numpy<NumpyVector>(std::move(found), scores.size());
        },
        nb::arg("loss"), nb::arg("problem"), nb::arg("scores").noconvert(),
        nb::arg("moves").noconvert(), nb::arg("bends").noconvert(), nb::arg("farthest"),
        nb::arg("n_threads"),
        "The curvature that rows lack whose losses rise by more than bends say if scores move.");
    m.def(
        "moved_scores",
        [](const Table<double>& scores, const Table<double>& moves, double share,
           std::int64_t n_threads) {
            must_be("the number of moves, one per score,", moves.size(), scores.size());
            Buffer<double> out(scores.size());
            {
                nb::gil_scoped_release release;
                move_scores(as_span(scores), as_span(moves), share, threads(n_threads), out.data());
            }
            return to_numpy<NumpyTable>(std::move(out), scores.shape(0), scores.shape(1));
        },
        nb::arg("scores").noconvert(), nb::arg("moves").noconvert(), nb::arg("share"),
        nb::arg("n_threads"), "scores + share * moves.");
    m.def(
        "take_rows",
        [](const Table<double>& numbers, const Vector<std::int64_t>& places,
           std::int64_t n_threads) {
            const int n = threads(n_threads);
            Buffer<double> out(numbers.shape(0) * places.size());
            {
                nb::gil_scoped_release release;
                take_rows(numbers.data(), numbers.shape(1), numbers.shape(0), as_span(places), n,
                          out.data());
            }
            return to_numpy<NumpyTable>(std::move(out), numbers.shape(0), places.size());
        },
        nb::arg("numbers").noconvert(), nb::arg("places").noconvert(), nb::arg("n_threads"),
        "numbers[:, places].");
    m.def(
        "put_rows",
        [](const nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>& to,
           const Vector<std::int64_t>& places, const Table<double>& numbers,
           std::int64_t n_threads) {
            must_be("the number of rows of numbers, one per output,", numbers.shape(0),
                    to.shape(0));
            must_be("the length of rows, one number per place,", numbers.shape(1), places.size());
            const int n = threads(n_threads);
            nb::gil_scoped_release release;
            put_rows(numbers.data(), to.shape(1), to.shape(0), as_span(places), n, to.data());
        },
        nb::arg("to").noconvert(), nb::arg("places").noconvert(), nb::arg("numbers").noconvert(),
        nb::arg("n_threads"), "to[:, places] = numbers, in place; no place stands there twice.");
    m.def(
        "add_levels",
        [](const nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>& scores,
           const Vector<double>& levels, std::int64_t n_threads) {
            must_be("the number of levels, one per output,", levels.size(), scores.shape(0));
            nb::gil_scoped_release release;
            add_levels(as_span(levels), scores.shape(1), threads(n_threads), scores.data());
        },
        nb::arg("scores").noconvert(), nb::arg("levels").noconvert(), nb::arg("n_threads"),
        "scores += levels[:, None], in place.");
    m.def(
        "row_sums",
        [](const Table<double>& numbers, std::int64_t n_threads) {
            std::vector<double> found;
            {
                nb::gil_scoped_release release;
                found = row_sums(as_span(numbers), numbers.shape(0), threads(n_threads));
            }
            return to_numpy<NumpyVector>(std::move(found), numbers.shape(0));
        },
        nb::arg("numbers").noconvert(), nb::arg("n_threads"), "numbers.sum(axis=1).");
    m.def(
        "loss_sums",
        [](const AnyLoss& loss, const HeldProblem& problem, const Scores& scores,
           std::int64_t n_threads) {
            LossSums found;
            {
                nb::gil_scoped_release release;
                found = loss_sums(loss, problem, as_span(scores), threads(n_threads));
            }
            const std::size_t n = scores.size();
            return nb::make_tuple(found.value, to_numpy<NumpyVector>(std::move(found.slopes), n),
                                  to_numpy<NumpyVector>(std::move(found.bends), n));
        },
        nb::arg("loss"), nb::arg("problem"), nb::arg("scores").noconvert(), nb::arg("n_threads"),
        nb::sig("def loss_sums(loss: Loss, problem: DualProblem, scores: "
                "Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', "
                "writable=False)], n_threads: int) -> tuple[float, NDArray[numpy.float64], "
                "NDArray[numpy.float64]]"),
        "The sum of the losses, its first derivatives by the scores, and its second ones.");
    m.def(
        "loss_gap",
        [](const AnyLoss& loss, const HeldProblem& problem, const Scores& scores,
           const Scores& slopes, std::int64_t n_threads) {
            nb::gil_scoped_release release;
            return loss_gap(loss, problem, as_span(scores), as_span(slopes), threads(n_threads));
        },
        nb::arg("loss"), nb::arg("problem"), nb::arg("scores").noconvert(),
        nb::arg("slopes").noconvert(), nb::arg("n_threads"),
        "The sum of the losses, plus its convex conjugate at slopes, less their product.");
    m.def(
        "loss_shift",
        [](const AnyLoss& loss, const HeldProblem& problem, const Scores& scores, double last,
           double farthest, int max_steps, std::int64_t n_threads) {
            nb::gil_scoped_release release;
            return loss_shift(loss, problem, as_span(scores), {last, farthest, max_steps},
                              threads(n_threads));
        },
        nb::arg("loss"), nb::arg("problem"), nb::arg("scores").noconvert(), nb::kw_only(),
        nb::arg("last"), nb::arg("farthest"), nb::arg("max_steps"), nb::arg("n_threads"),
        "The number whose addition to all scores makes the sum of the losses least.");
    m.def(
        "sample_rows",
        [](const Vector<double>& h, double n, double evenly, std::int64_t n_threads) {
            RowSample found;
            {
                nb::gil_scoped_release release;
                found = sample_rows(as_span(h), n, evenly, threads(n_threads));
            }
            return as_tuple(std::move(found));
        },
        nb::arg("h").noconvert(), nb::arg("n"), nb::arg("evenly"), nb::arg("n_threads"),
        nb::sig("def sample_rows(h: Annotated[NDArray[numpy.float64], dict(shape=(None,), "
                "order='C', device='cpu', writable=False)], n: float, evenly: float, "
                "n_threads: int) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64]]"),
        "About n rows, taken by how large h is, and their weights; none if the sum of h is not "
        "positive.");
    m.def(
        "nonzero_rows",
        [](const Vector<double>& h, std::int64_t n_threads) {
            RowSample found;
            {
                nb::gil_scoped_release release;
                found = nonzero_rows(as_span(h), threads(n_threads));
            }
            return as_tuple(std::move(found));
        },
        nb::arg("h").noconvert(), nb::arg("n_threads"),
        nb::sig("def nonzero_rows(h: Annotated[NDArray[numpy.float64], dict(shape=(None,), "
                "order='C', device='cpu', writable=False)], n_threads: int) -> "
                "tuple[NDArray[numpy.int64], NDArray[numpy.float64]]"),
        "The rows whose number is not 0, and these numbers.");
    bind_ramps(m);
}

}  // namespace splinear::bindings
