// Python bindings of groups of features: rows/group.hpp.
#include "bindings/arrays.hpp"
#include "rows/group.hpp"

namespace splinear::bindings {
namespace {

template <class Array>
std::vector<double> copied(const Array& array) {
    return {array.data(), array.data() + array.size()};
}

void make_group(Group* self, const AnyRows& rows, const AnyBasis& basis, const AnyPenalty& penalty,
                const Vector<double>& variance, const Table<double>& mean,
                const Vector<double>& missing_variance) {
    if (mean.size() > 0)
        must_be("the number of rows of mean, one per feature,", mean.shape(0), variance.size());
    Group group{{basis, penalty, copied(variance), copied(mean), copied(missing_variance)}, rows};
    check(group);
    new (self) Group(std::move(group));
}

}  // namespace

void bind_group(nb::module_& m) {
    nb::class_<Group>(m, "Group",
                      "Features of one basis, one penalty and one size; and their rows.")
        .def("__init__", &make_group, nb::arg("rows"), nb::arg("basis"), nb::arg("penalty"),
             nb::arg("variance").noconvert(), nb::arg("mean").noconvert(),
             nb::arg("missing_variance").noconvert(), nb::keep_alive<1, 2>(),
             "variance (n_features,); mean (n_features, size) and missing_variance (n_features,), "
             "or "
             "(0, 0) and (0,) for a group without missing values.")
        .def_prop_ro("n_features", &Group::n_features)
        .def_prop_ro("stride", &Group::stride, "Numbers per feature in coef and in the passes.");
}

}  // namespace splinear::bindings
