// Python bindings of steps of Newton's method: solve/step.hpp and model/group_penalty.hpp.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "bindings/monitor.hpp"
#include "model/group_penalty.hpp"
#include "solve/step.hpp"
#include "support/pieces.hpp"

namespace splinear::bindings {
namespace {

using Numbers = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using StridedTable = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>;
using Rows = nb::ndarray<double, nb::ndim<2>, nb::device::cpu>;  // each row must be contiguous

void make_penalty(GroupPenalty* self, const AnyPenalty& penalty, const Table<bool>& used,
                  const Table<double>& weights, const Vector<double>& variance,
                  const Vector<double>& missing_variance, const Cube<double>& bends,
                  const Vector<double>& bend_variance, const Table<double>& line,
                  const Vector<double>& line_variance, bool has_levels) {
    new (self) GroupPenalty(
        penalty, {used.data(), used.data() + used.size()}, as_span(weights), as_span(variance),
        as_span(missing_variance),
        {as_span(bends), as_span(bend_variance), as_span(line), as_span(line_variance)},
        has_levels);
}

// Calls use(first, last, start) for ranges [first, last) of all features, in parallel; `start` is
// the index of the first one's parameters.
template <class Use>
void over_features(const GroupPenalty& penalty, std::int64_t n_threads, const Use& use) {
    constexpr std::ptrdiff_t per_task = 8;
    const int n = threads(n_threads);
    nb::gil_scoped_release release;
    parallel_pieces(0, static_cast<std::ptrdiff_t>(penalty.n_features()), per_task, n,
                    [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
                        const auto first = static_cast<std::size_t>(begin);
                        use(first, static_cast<std::size_t>(end), first * penalty.stride());
                    });
}

// Calls use(first, last, from, to) for ranges [first, last) of features and every row of the
// tables, in parallel; the pointers are to the parameters of the first feature.
template <class Use>
void over_rows(const GroupPenalty& penalty, const StridedTable& rows, const Rows& to,
               std::int64_t n_threads, const Use& use) {
    must_be("the number of parameters", rows.shape(1), penalty.n_parameters());
    must_be("the number of parameters to write to", to.shape(1), penalty.n_parameters());
    must_be("the number of rows to write to", to.shape(0), rows.shape(0));
    must((rows.stride(1) == 1 && to.stride(1) == 1) || rows.shape(1) < 2,
         "the parameters of a row must be neighbors in memory");
    over_features(penalty, n_threads, [&](std::size_t first, std::size_t last, std::size_t start) {
        const auto at = static_cast<std::int64_t>(start);
        for (std::int64_t k = 0; k < static_cast<std::int64_t>(rows.shape(0)); ++k)
            use(first, last, rows.data() + k * rows.stride(0) + at,
                to.data() + k * to.stride(0) + at);
    });
}

void add_pull(const GroupPenalty& self, const StridedTable& theta, const Rows& to,
              std::int64_t n_threads) {
    over_rows(self, theta, to, n_threads,
              [&](std::size_t first, std::size_t last, const double* own, double* there) {
                  self.add_pull(first, last, own, there);
              });
}

void soften(const GroupPenalty& self, const StridedTable& gradient, const Rows& to,
            std::int64_t n_threads) {
    over_rows(self, gradient, to, n_threads,
              [&](std::size_t first, std::size_t last, const double* own, double* there) {
                  self.soften(first, last, own, there);
              });
}

double softness(const GroupPenalty& self, const Vector<double>& gradient, std::int64_t n_threads) {
    must_be("the size of the gradient", gradient.size(), self.n_parameters());
    std::vector<double> found(self.n_features());
    over_features(self, n_threads, [&](std::size_t first, std::size_t last, std::size_t start) {
        self.write_softness(first, last, gradient.data() + start, &found[first]);
    });
    double total = 0.0;
    for (const double one : found) total += one;
    return total;
}

// Subtracts the levels in place and returns their sum.
double take_levels(const GroupPenalty& self, const Numbers& theta) {
    must_be("the number of parameters", theta.size(), self.n_parameters());
    std::vector<double> levels(self.n_features());
    if (!self.level_weights().empty())
        self.take_levels(0, self.n_features(), theta.data(), levels.data());
    double total = 0.0;
    for (const double level : levels) total += level;
    return total;
}

NumpyTable level_weights(const GroupPenalty& self) {
    std::vector<double> out = self.level_weights();
    out.resize(self.n_parameters());
    return to_numpy<NumpyTable>(std::move(out), self.n_features(), self.stride());
}

nb::tuple prior_variances(const GroupPenalty& self, const Cube<double>& bends) {
    must_be("the curves of bends", bends.shape(0), self.n_features());
    auto found = self.prior_variances(as_span(bends));
    return nb::make_tuple(
        to_numpy<NumpyTable>(std::move(found.steps), self.n_features(), self.stride()),
        to_numpy<NumpyTable>(std::move(found.bends), self.n_features(), bends.shape(1)));
}

void make_limits(StepLimits* self, double radius, double accuracy, double gap, int max_products,
                 bool keeps_scores, bool is_quadratic, double max_score_change) {
    new (self) StepLimits{radius,       accuracy,        gap, max_products, keeps_scores,
                          is_quadratic, max_score_change};
}

std::pair<FoundStep, nb::object> run(const std::vector<const Group*>& groups,
                                     const Vector<double>& h,
                                     const std::vector<const GroupPenalty*>& penalties,
                                     const std::vector<const ArrowGroup*>& blocks,
                                     double intercept_curvature,
                                     std::optional<double> intercept_penalty,
                                     const Vector<double>& gradient, const StepLimits& limits,
                                     nb::object watch, std::int64_t n_threads) {
    const int n = threads(n_threads);
    PythonMonitor monitor(std::move(watch));
    FoundStep found;
    {
        nb::gil_scoped_release release;
        found = least_step(
            {groups, as_span(h), penalties, blocks, intercept_curvature, intercept_penalty},
            as_span(gradient), limits, monitor, n);
    }
    return {std::move(found), monitor.error()};
}

// A member as a table of one row, without a copy; the array keeps `self` alive.
template <auto Member>
NumpyTable row_of(FoundStep& self) {
    return NumpyTable((self.*Member).data(), {1, (self.*Member).size()}, nb::find(self));
}

}  // namespace

// See model/group_penalty.hpp, solve/step.hpp.
void bind_step(nb::module_& m) {
    nb::class_<GroupPenalty>(m, "GroupPenalty",
                             "The penalty of a group's features, with their variances.")
        .def("__init__", &make_penalty, nb::arg("penalty"), nb::arg("used").noconvert(),
             nb::arg("weights").noconvert(), nb::arg("variance").noconvert(),
             nb::arg("missing_variance").noconvert(), nb::arg("bends").noconvert(),
             nb::arg("bend_variance").noconvert(), nb::arg("line").noconvert(),
             nb::arg("line_variance").noconvert(), nb::arg("has_levels"),
             "used (n_features, stride); weights (n_features, size); variance (n_features,); "
             "missing_variance (n_features,), or (0,) for a group without missing values; bends "
             "(n_features, size, 2), bend_variance (n_features,), line (n_features, size) and "
             "line_variance (n_features,), or empty ones.")
        .def("add_pull", &add_pull, nb::arg("theta").noconvert(), nb::arg("to").noconvert(),
             nb::arg("n_threads"),
             "to += S theta, in place, for rows of parameters of all features.")
        .def("soften", &soften, nb::arg("gradient").noconvert(), nb::arg("to").noconvert(),
             nb::arg("n_threads"), "to = S^{-1} g, in place, for rows of parameters.")
        .def("softness", &softness, nb::arg("gradient").noconvert(), nb::arg("n_threads"),
             "g'S^{-1} g.")
        .def("take_levels", &take_levels, nb::arg("theta").noconvert(),
             "Takes the levels of curves off parameters, in place; returns their sum.")
        .def("prior_variances", &prior_variances, nb::arg("bends").noconvert(),
             nb::sig("def prior_variances(self, bends: Annotated[NDArray[numpy.float64], "
                     "dict(shape=(None, None, 2), order='C', device='cpu', writable=False)]) -> "
                     "tuple[NDArray[numpy.float64], NDArray[numpy.float64]]"),
             "The variances of steps (n_features, stride) and of bends (n_features, size) before "
             "any rows were seen; bends (n_features, size, 2) are those of the penalty.")
        .def_prop_ro("level_weights", &level_weights, nb::rv_policy::automatic,
                     "The weights of parameters in their curve's level, (n_features, stride); 0 "
                     "where curves have none.");
    nb::class_<StepLimits>(m, "StepLimits", "When a step may end.")
        .def("__init__", &make_limits, nb::kw_only(), nb::arg("radius"), nb::arg("accuracy"),
             nb::arg("gap"), nb::arg("max_products"), nb::arg("keeps_scores"),
             nb::arg("is_quadratic"), nb::arg("farthest"));
    nb::class_<FoundStep>(m, "FoundStep", "Where a quadratic model is least, or nearly so.")
        .def_prop_ro("to", &row_of<&FoundStep::step>, nb::rv_policy::automatic)
        .def_prop_ro("scores", &row_of<&FoundStep::scores>, nb::rv_policy::automatic)
        .def_ro("decrease", &FoundStep::decrease)
        .def_ro("left", &FoundStep::gap)
        .def_ro("length", &FoundStep::length)
        .def_ro("n_products", &FoundStep::n_products)
        .def_ro("at_edge", &FoundStep::at_edge);
    m.def("least_step", &run, nb::arg("groups"), nb::arg("h").noconvert(), nb::arg("penalties"),
          nb::arg("blocks"), nb::arg("of_blocks"), nb::arg("of_intercept").none(),
          nb::arg("gradient").noconvert(), nb::arg("limits"), nb::arg("watch"),
          nb::arg("n_threads"),
          "The step at which g's + 1/2 s'H s is least, by conjugate gradients, with H of second "
          "derivatives h and the penalties; None: the intercept is free. `watch` is as in train. "
          "Return the step, and what was raised or None.");
}

}  // namespace splinear::bindings
