// A Monitor that asks Python whether to stop a fit.
#pragma once

#include <nanobind/nanobind.h>

#include "solve/problem.hpp"

namespace splinear::bindings {

namespace nb = nanobind;

// Calls the methods poll() and on_pass(n_iter, gap, n_active) of a Python object; both return
// whether to stop. An exception, including Ctrl-C, stops the fit as well and is kept, so that the
// caller can raise it afterward. Acquires the GIL, which fits run without.
class PythonMonitor final : public Monitor {
public:
    explicit PythonMonitor(nb::object watch)
        : poll_(watch.attr("poll")), on_pass_(watch.attr("on_pass")) {}

    bool poll() override {
        return ask([&] { return PyErr_CheckSignals() != 0 ? throw nb::python_error() : poll_(); });
    }

    bool pass(const Progress& progress) override {
        return ask([&] { return on_pass_(progress.n_iter, progress.gap, progress.n_active); });
    }

    // The exception that stopped the fit, or None.
    nb::object error() const { return error_; }

private:
    template <class Question>
    bool ask(const Question& question) {
        nb::gil_scoped_acquire gil;
        try {
            return nb::cast<bool>(question());
        } catch (nb::python_error& error) {
            error_ = nb::borrow(error.value());
            return true;
        }
    }

    nb::object poll_;
    nb::object on_pass_;
    nb::object error_ = nb::none();
};

}  // namespace splinear::bindings
