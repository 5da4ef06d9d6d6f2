// Array types of the bindings. Arrays are neither converted nor copied; strides are arbitrary where
// the core supports them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "rows/matrix_view.hpp"
#include "support/buffer.hpp"
#include "support/checks.hpp"
#include "support/parallel.hpp"

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

// Converts a number of threads from Python. Numbers above most_threads are reduced to it, because
// the core allocates memory per thread.
inline int threads(std::int64_t n) {
    must(n > 0, "n_threads must be positive");
    return static_cast<int>(std::min<std::int64_t>(n, most_threads));
}

// The largest number of basis functions, so that it fits in an int.
inline constexpr int most_functions = 1 << 30;

using NumpyVector = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
using NumpyNumbers = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>;
using NumpyTable = nb::ndarray<nb::numpy, double, nb::ndim<2>>;

// Passes a vector or buffer to NumPy without a copy; the array owns it.
template <class Array, class Number, class... Shape>
Array to_numpy(std::vector<Number> values, Shape... shape) {
    auto owner = std::make_unique<std::vector<Number>>(std::move(values));
    Number* data = owner->data();
    nb::capsule keeper(owner.release(),
                       [](void* p) noexcept { delete static_cast<std::vector<Number>*>(p); });
    return Array(data, {static_cast<std::size_t>(shape)...}, keeper);
}

template <class Array, class Number, class... Shape>
Array to_numpy(Buffer<Number> values, Shape... shape) {
    Number* data = values.release();
    nb::capsule keeper(data, [](void* p) noexcept { delete[] static_cast<Number*>(p); });
    return Array(data, {static_cast<std::size_t>(shape)...}, keeper);
}

void bind_arrow(nb::module_& m);
void bind_basis(nb::module_& m);
void bind_penalty(nb::module_& m);
void bind_data(nb::module_& m);
void bind_decision(nb::module_& m);
void bind_group(nb::module_& m);
void bind_passes(nb::module_& m);
void bind_pairs(nb::module_& m);
void bind_kernel(nb::module_& m);
void bind_knots(nb::module_& m);
void bind_losses(nb::module_& m);
void bind_step(nb::module_& m);
void bind_train(nb::module_& m);

}  // namespace splinear::bindings
