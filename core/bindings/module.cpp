// The Python extension module splinear._core.
#include "bindings/arrays.hpp"

NB_MODULE(_core, m) {
    m.doc() = "The compiled core of splinear. Sizes are checked here, the rest by the layer above.";
    // Fitted models keep objects of the core, and programs may keep models until the interpreter
    // exits, which nanobind would report as leaks.
    nanobind::set_leak_warnings(false);
    splinear::bindings::bind_basis(m);
    splinear::bindings::bind_penalty(m);
    splinear::bindings::bind_data(m);
    splinear::bindings::bind_decision(m);
    splinear::bindings::bind_group(m);
    splinear::bindings::bind_passes(m);
    splinear::bindings::bind_pairs(m);
    splinear::bindings::bind_kernel(m);
    splinear::bindings::bind_knots(m);
    splinear::bindings::bind_train(m);
    splinear::bindings::bind_losses(m);
    splinear::bindings::bind_arrow(m);
    splinear::bindings::bind_step(m);
}
