#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "arrays.hpp"
#include "train.hpp"

namespace splinear::bindings {
namespace {

// Passes progress on to Python, and lets Ctrl-C through.
class PythonMonitor final : public Monitor {
public:
    explicit PythonMonitor(nb::object on_pass) : on_pass_(std::move(on_pass)) {}

    void poll() override {
        nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }

    void pass(const Progress& progress) override {
        if (on_pass_.is_none()) return;
        nb::gil_scoped_acquire gil;
        on_pass_(progress.n_iter, progress.gap, progress.n_active);
    }

private:
    nb::object on_pass_;
};

DualResult run(const AnyRows& rows, const AnyBasis& basis, const AnyPenalty& penalty,
               const Vector<double>& scale, const AnyLoss& loss, const Vector<std::int8_t>& y,
               const std::optional<Vector<double>>& weights, double cost_negative,
               double cost_positive, double bias, double tol, int max_iter, std::uint64_t seed,
               int n_threads, nb::object on_pass) {
    const ModelSpec model{basis, penalty, as_span(scale)};
    const DualProblem problem{as_span(y), weights ? as_span(*weights) : std::span<const double>{},
                              cost_negative, cost_positive, bias};
    const DualOptions options{tol, max_iter, seed, n_threads};
    PythonMonitor monitor(std::move(on_pass));
    nb::gil_scoped_release release;
    return train(rows, model, loss, problem, options, monitor);
}

}  // namespace

void bind_train(nb::module_& m) {
    nb::class_<AnyLoss>(m, "Loss", "A loss of the margin y f(x).");
    m.def("hinge", []() -> AnyLoss { return Hinge{}; });
    m.def("squared_hinge", []() -> AnyLoss { return SquaredHinge{}; });

    m.def("paths", &paths, "Names for SPLINEAR_PATH on this machine, fastest first.");

    nb::class_<DualResult>(m, "DualResult", "What a fit found, and how close to the optimum it is.")
        .def_prop_ro(
            "coef",
            [](const DualResult& self) {
                return to_numpy<NumpyVector>(self.coef, self.coef.size());
            },
            nb::rv_policy::automatic)
        .def_ro("intercept", &DualResult::intercept)
        .def_ro("primal", &DualResult::primal)
        .def_ro("dual", &DualResult::dual)
        .def_ro("gap", &DualResult::gap)
        .def_ro("n_iter", &DualResult::n_iter)
        .def_ro("converged", &DualResult::converged);

    m.def("train", &run, nb::arg("rows"), nb::arg("basis"), nb::arg("penalty"),
          nb::arg("scale").noconvert(), nb::arg("loss"), nb::arg("y").noconvert(),
          nb::arg("weights").none(), nb::kw_only(), nb::arg("cost_negative"),
          nb::arg("cost_positive"), nb::arg("bias"), nb::arg("tol"), nb::arg("max_iter"),
          nb::arg("seed"), nb::arg("n_threads"), nb::arg("on_pass").none(),
          "Dual coordinate descent; on_pass(n_iter, gap, n_active) is called after every pass.");
}

}  // namespace splinear::bindings
