// Python bindings of dual coordinate descent: solve/train.hpp, with losses and problems.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "bindings/monitor.hpp"
#include "bindings/problem.hpp"
#include "simd/dispatch.hpp"
#include "solve/train.hpp"

namespace splinear::bindings {
namespace {

struct HeldStart : DualStart {
    HeldStart(OptionalVector alpha_array, OptionalVector coef_array, double start_intercept)
        : DualStart{as_span_or_none(alpha_array), as_span_or_none(coef_array), start_intercept},
          held_alpha(std::move(alpha_array)),
          held_coef(std::move(coef_array)) {}

    OptionalVector held_alpha;
    OptionalVector held_coef;
};

void make_options(DualOptions* self, double tol, int max_iter, std::uint64_t seed,
                  std::int64_t n_threads, bool keep_alpha) {
    new (self) DualOptions{tol, max_iter, seed, threads(n_threads), keep_alpha};
}

using Found = std::pair<std::vector<DualResult>, nb::object>;

Found run(const std::vector<const Group*>& groups, const AnyLoss& loss, const HeldProblem& problem,
          const DualOptions& options, const HeldStart& start, const std::vector<double>& factors,
          nb::object watch) {
    check(groups);
    must_fit("the number of alpha, one per row,", start.held_alpha, problem.held_y.size());
    must_fit("the size of coef, of all groups,", start.held_coef, n_coefficients(groups));
    PythonMonitor monitor(std::move(watch));
    std::vector<DualResult> found;
    {
        nb::gil_scoped_release release;
        found = train(groups, loss, problem, options, start, factors, monitor);
    }
    return {std::move(found), monitor.error()};
}

// A member as an array, without a copy; the array keeps `self` alive.
template <std::vector<double> DualResult::* Member>
NumpyVector vector_of(DualResult& self) {
    return NumpyVector((self.*Member).data(), {(self.*Member).size()}, nb::find(self));
}

}  // namespace

void bind_train(nb::module_& m) {
    nb::class_<AnyLoss>(m, "Loss", "A loss of the margin y f(x), or of the residual f(x) - y.");
    m.def("hinge", []() -> AnyLoss { return Hinge{}; });
    m.def("squared_hinge", []() -> AnyLoss { return SquaredHinge{}; });
    m.def("logistic", []() -> AnyLoss { return Logistic{}; });
    m.def("squared_error", []() -> AnyLoss { return SquaredError{}; });
    m.def(
        "epsilon_insensitive",
        [](double epsilon) -> AnyLoss { return EpsilonInsensitive{epsilon}; }, nb::arg("epsilon"));

    m.def("instruction_sets", &simd::names,
          "Names for SPLINEAR_INSTRUCTIONS on this machine, fastest first.");

    nb::class_<HeldProblem>(m, "DualProblem", "The targets and costs of the rows, and the bias.")
        .def(nb::init<Labels, OptionalVector, OptionalVector, double, double, double,
                      OptionalNorms>(),
             nb::arg("y").noconvert(), nb::arg("targets").none(), nb::arg("weights").none(),
             nb::kw_only(), nb::arg("cost_negative"), nb::arg("cost_positive"), nb::arg("bias"),
             nb::arg("squared_norm").none() = nb::none());
    nb::class_<HeldStart>(m, "DualStart", "Where to begin: None stands for zeros.")
        .def(nb::init<OptionalVector, OptionalVector, double>(), nb::arg("alpha").none(),
             nb::arg("coef").none(), nb::arg("intercept"),
             "coef: an earlier model, all groups one after the other.");
    nb::class_<DualOptions>(m, "DualOptions", "When to stop, and how to go there.")
        .def("__init__", &make_options, nb::kw_only(), nb::arg("tol"), nb::arg("max_iter"),
             nb::arg("seed"), nb::arg("n_threads"), nb::arg("keep_alpha"));
    nb::class_<DualResult>(m, "DualResult", "What a fit found, and how close to the optimum it is.")
        .def_prop_ro("coef", &vector_of<&DualResult::coef>, nb::rv_policy::automatic)
        .def_prop_ro("alpha", &vector_of<&DualResult::alpha>, nb::rv_policy::automatic)
        .def_ro("intercept", &DualResult::intercept)
        .def_ro("primal", &DualResult::primal)
        .def_ro("dual", &DualResult::dual)
        .def_ro("gap", &DualResult::gap)
        .def_ro("n_iter", &DualResult::n_iter)
        .def_ro("converged", &DualResult::converged);

    m.def(
        "squared_norms",
        [](const std::vector<const Group*>& groups, std::int64_t n_threads) {
            check(groups);
            std::vector<float> found;
            {
                nb::gil_scoped_release release;
                found = squared_norms(groups, threads(n_threads));
            }
            const std::size_t n = found.size();
            return to_numpy<nb::ndarray<nb::numpy, float, nb::ndim<1>>>(std::move(found), n);
        },
        nb::arg("groups"), nb::arg("n_threads"),
        "Squared lengths of the rows' embeddings, for problems that have the rows in common.");

    m.def(
        "train", &run, nb::arg("groups"), nb::arg("loss"), nb::arg("problem"), nb::arg("options"),
        nb::arg("start"), nb::arg("factors"), nb::arg("watch"),
        "Dual coordinate descent for all costs times each factor in turn. `watch` has the methods "
        "poll() and on_pass(n_iter, gap, n_active); either stops the fit by returning True or "
        "raising. Return the results, and what was raised or None.");
}

}  // namespace splinear::bindings
