#include "arrays.hpp"

NB_MODULE(_core, m) {
    m.doc() = "The compiled core of splinear. Arguments are checked by the Python layer above.";
    splinear::bindings::bind_basis(m);
    splinear::bindings::bind_penalty(m);
    splinear::bindings::bind_data(m);
    splinear::bindings::bind_passes(m);
    splinear::bindings::bind_kernel(m);
    splinear::bindings::bind_train(m);
}
