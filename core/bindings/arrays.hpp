// Array types of the bindings: no conversion, no copy, any strides where the core allows them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "rows/matrix_view.hpp"

namespace splinear::bindings {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Table = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Cube = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;

template <class Array>
auto as_span(const Array& array) {
    return std::span(array.data(), array.size());
}

template <class T>
MatrixView<T> as_view(const Matrix<T>& X) {
    return {X.data(), static_cast<std::ptrdiff_t>(X.shape(0)),
            static_cast<std::ptrdiff_t>(X.shape(1)), static_cast<std::ptrdiff_t>(X.stride(0)),
            static_cast<std::ptrdiff_t>(X.stride(1))};
}

// Throws std::invalid_argument, a ValueError in Python.
inline void must(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

using NumpyVector = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
using NumpyTable = nb::ndarray<nb::numpy, double, nb::ndim<2>>;

// Hands a vector over to NumPy without a copy.
template <class Array, class... Shape>
Array to_numpy(std::vector<double> values, Shape... shape) {
    auto owner = std::make_unique<std::vector<double>>(std::move(values));
    double* data = owner->data();
    nb::capsule keeper(owner.release(),
                       [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
    return Array(data, {static_cast<std::size_t>(shape)...}, keeper);
}

void bind_basis(nb::module_& m);
void bind_penalty(nb::module_& m);
void bind_data(nb::module_& m);
void bind_decision(nb::module_& m);
void bind_group(nb::module_& m);
void bind_passes(nb::module_& m);
void bind_kernel(nb::module_& m);
void bind_train(nb::module_& m);

}  // namespace splinear::bindings
