"""The backend of GPUs: CuPy arrays, and the kernels in `*.cu`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cache, partial
from importlib.resources import files
from typing import Any

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.objective.gpu.backend import DeviceArray, Grid
from splinear.objective.gpu.cuda_axes import CudaAxes
from splinear.objective.gpu.cuda_cells import CudaCells
from splinear.objective.gpu.cuda_counts import padded
from splinear.objective.gpu.cuda_curves import CudaCurves
from splinear.objective.gpu.cuda_matrices import inverse_factors, twice, weighted_grams
from splinear.objective.gpu.cuda_pairs import evidence_on, surfaces_on
from splinear.objective.gpu.cuda_softmax import (
    MOST_CLASSES,
    cautious_costs,
    class_bends,
    class_diagonals,
    class_divergence,
    class_moments,
    class_shift,
    classes,
)
from splinear.objective.gpu.plain_classes import (
    bent_classes,
    bent_diagonals,
    diverging_classes,
    raised_costs,
    shifted_classes,
    soft_classes,
    summed_moments,
)
from splinear.terms.group import TermGroup

__all__ = ["CudaBackend", "CudaCells"]

FREE_BYTES = 48 * 1024  # shared memory that a kernel may use without opting in
SMALL = 2**16  # largest array, in bytes, that is not copied through pinned memory


class CudaBackend:
    """The GPU that CuPy uses."""

    name = "cuda"
    surfaces, pair_evidence = surfaces_on, evidence_on

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        of_device = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
        self.n_processors = int(of_device["multiProcessorCount"])
        self.shared_bytes = int(of_device["sharedMemPerBlockOptin"])

    @property
    def place(self) -> Hashable:
        """The number of CuPy's current GPU."""
        return int(self.cupy.cuda.Device().id)

    def array(self, values: AnyArray) -> DeviceArray:
        """Move an array to the device."""
        cp, is_here = self.cupy, isinstance(values, np.ndarray) and values.flags.c_contiguous
        if not is_here or not 0 < values.nbytes <= SMALL:
            return cp.asarray(values)
        # CuPy would copy it to pinned memory first. From pageable memory, the driver has copied the
        # values when this call returns, and does not wait for the GPU.
        out = cp.empty(values.shape, dtype=values.dtype)
        stream = cp.cuda.get_current_stream()
        out.data.copy_from_host_async(values.ctypes.data, values.nbytes, stream)
        return out

    def numpy(self, array: DeviceArray) -> AnyArray:
        """Move an array to the host."""
        found: AnyArray = self.cupy.asnumpy(array)
        return found

    def zeros(self, shape: tuple[int, ...]) -> DeviceArray:
        """Return an array of zeros in double precision, on the device."""
        return self.cupy.zeros(shape)

    def coded(self, group: TermGroup, n_rows: int) -> CudaCells:
        """Return an array for the codes of n_rows rows, to be set by `fill`."""
        dtype = np.dtype(np.uint32 if Grid.of(group).is_wide else np.uint16)
        pitch = padded(group.n_features)
        codes = self.cupy.zeros((n_rows, pitch), dtype=dtype)
        return CudaCells(
            self, group, codes, n_rows, True, np.dtype(np.float32), CudaAxes(self.cupy, group)
        )

    def valued(self, group: TermGroup, X: DeviceArray) -> CudaCells:
        """Return the rows of X (n_rows, n_columns) as values, without rounding."""
        if X.dtype.char not in "fd":
            X = X.astype(np.float64)
        real = np.dtype(np.float64)
        return CudaCells(self, group, X, len(X), False, real, CudaAxes(self.cupy, group))

    def curves(self, group: TermGroup, tables: Floats) -> CudaCurves:
        """Copy curves to the GPU."""
        return CudaCurves.sent(self, group, tables)

    def grams(self, A: DeviceArray, weights: DeviceArray) -> DeviceArray:
        """Return A' diag(w) A for each row w of the weights, rounded to half precision first."""
        return weighted_grams(self.cupy, A, weights)

    def inverse_factors(self, H: DeviceArray) -> DeviceArray:
        """Return L^{-1} of matrices H = L L'; H is overwritten."""
        return inverse_factors(self, H)

    def twice(self, factors: DeviceArray, vectors: DeviceArray) -> DeviceArray:
        """Return M'M v for lower triangular M (n, m, m) and vectors v (n, m)."""
        return twice(self, factors, vectors)

    def classes(
        self, F: DeviceArray, labels: DeviceArray, *, minus: bool = False
    ) -> tuple[DeviceArray, DeviceArray]:
        """Return the softmax of F, and the log-probabilities of the labels."""
        if len(F) <= MOST_CLASSES:
            return classes(self, F, labels, minus)
        return soft_classes(F, labels, self.cupy.arange(len(labels)), minus)

    def class_moments(self, F: DeviceArray, shift: Floats, cost: DeviceArray) -> Floats:
        """Return sums over rows of probabilities and of their products."""
        if len(F) <= MOST_CLASSES:
            return class_moments(self, F, shift, cost)
        found: Floats = self.numpy(summed_moments(F, self.array(shift), cost))
        return found

    def class_shift(self, F: DeviceArray, cost: DeviceArray, of_classes: Floats) -> Floats:
        """Return the shift of all classes' scores that minimizes the loss."""
        found = class_shift(self, F, cost, of_classes) if len(F) <= MOST_CLASSES else None
        if found is None:
            found = shifted_classes(partial(self.class_moments, F, cost=cost), of_classes)
        return found

    def class_bends(
        self, p: DeviceArray, cost: DeviceArray, V: DeviceArray, extra: DeviceArray | None = None
    ) -> DeviceArray:
        """Return the product of the softmax loss's second derivatives and V."""
        if len(p) <= MOST_CLASSES and V.dtype.char in "fd":
            return class_bends(self, p, cost, V, extra)
        return bent_classes(p, cost, V, extra)

    def class_diagonals(
        self, p: DeviceArray, cost: DeviceArray, extra: DeviceArray | None = None
    ) -> DeviceArray:
        """Return the diagonal of the softmax loss's second derivatives."""
        if len(p) <= MOST_CLASSES:
            return class_diagonals(self, p, cost, extra)
        return bent_diagonals(p, cost, extra)

    def cautious_costs(self, p: DeviceArray, own: DeviceArray, cost: DeviceArray) -> DeviceArray:
        """Return costs, raised where a label is unlikely."""
        few = len(p) <= MOST_CLASSES
        return cautious_costs(self, p, own, cost) if few else raised_costs(p, own, cost)

    def class_divergence(
        self,
        F: DeviceArray,
        R: DeviceArray,
        labels: DeviceArray,
        cost: DeviceArray,
        rounding: float,
    ) -> float:
        """Return the divergence between the probabilities given by R and those of scores F."""
        if len(F) <= MOST_CLASSES:
            return class_divergence(self, F, R, labels, cost, rounding)
        numbers = self.cupy.arange(len(labels))
        return diverging_classes(F, R, labels, numbers, cost, rounding)

    def free_bytes(self) -> int | None:
        """Return the free memory in bytes, including what CuPy's pool can reuse."""
        pool = self.cupy.get_default_memory_pool()
        return int(self.cupy.cuda.Device().mem_info[0] + pool.free_bytes())

    def kernel(
        self,
        file: str,
        name: str,
        n_bytes: int,
        defined: Mapping[str, object],
    ) -> Any:
        """Return a kernel of a file, compiled with these macros, for n_bytes of shared memory."""
        kernel = self._compiled(self.place, file, name, *defined.items())
        # Reading the current limit is a call of the driver, so skip it if the default is enough.
        if n_bytes > FREE_BYTES and n_bytes > kernel.max_dynamic_shared_size_bytes:
            kernel.max_dynamic_shared_size_bytes = n_bytes
        return kernel

    @cache  # noqa: B019 (there is a single backend, which is never freed)
    def _compiled(self, place: Hashable, file: str, name: str, *defined: tuple[str, object]) -> Any:
        del place  # part of the key only: each device needs its own module
        source = files("splinear.objective.gpu").joinpath(file).read_text()
        options = ("--std=c++17", *(f"-D{key}={value}" for key, value in defined))
        module = self.cupy.RawModule(code=source, options=options)
        return module.get_function(name)
