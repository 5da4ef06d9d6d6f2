"""Passes on a GPU: arrays of CuPy, and the kernels of `kernels.cu`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files
from math import ceil
from typing import Any

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.curves.basis import BSplineBasis, FourierBasis
from splinear.devices.backend import DeviceArray, Grid, bent_classes, soft_classes, summed_moments
from splinear.devices.cuda_axes import CudaAxes
from splinear.devices.cuda_counts import (
    LANES,
    batches,
    fixed_scale,
    lanes_of,
    padded,
    rows_at_once,
)
from splinear.devices.cuda_curves import CudaCurves
from splinear.devices.cuda_descent import among, descend, slopes
from splinear.devices.cuda_matrices import inner, inverse_factors, rounded, weighted_grams
from splinear.devices.cuda_pairs import evidence_on, surfaces_on
from splinear.devices.cuda_softmax import MOST_CLASSES, class_bends, class_moments, classes
from splinear.model.group import TermGroup
from splinear.solvers.box import Box

__all__ = ["CudaBackend", "CudaCells"]

MOST_OUTPUTS = 16  # at a time
FREE_BYTES = 48 * 1024  # of shared memory that a kernel has without asking
ROWS_PER_WARP = 128  # at least
TYPES = {"f4": "float", "f8": "double", "u2": "unsigned short", "u4": "unsigned int"}


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
        """The number of the GPU that takes arrays now."""
        return int(self.cupy.cuda.Device().id)

    def array(self, values: AnyArray) -> DeviceArray:
        """Move an array to the device."""
        return self.cupy.asarray(values)

    def numpy(self, array: DeviceArray) -> AnyArray:
        """Move an array to the host."""
        found: AnyArray = self.cupy.asnumpy(array)
        return found

    def zeros(self, shape: tuple[int, ...]) -> DeviceArray:
        """Return doubles that are 0, on the device."""
        return self.cupy.zeros(shape)

    def coded(self, group: TermGroup, n_rows: int) -> CudaCells:
        """Return room for the codes of rows."""
        dtype = np.dtype(np.uint32 if Grid.of(group).is_wide else np.uint16)
        pitch = padded(group.n_features)
        codes = self.cupy.zeros((n_rows, pitch), dtype=dtype)
        return CudaCells(
            self, group, codes, n_rows, True, np.dtype(np.float32), CudaAxes(self.cupy, group)
        )

    def valued(self, group: TermGroup, X: DeviceArray) -> CudaCells:
        """Return rows of X (n_rows, n_columns) as they are."""
        if X.dtype.char not in "fd":
            X = X.astype(np.float64)
        real = np.dtype(np.float64)
        return CudaCells(self, group, X, len(X), False, real, CudaAxes(self.cupy, group))

    def curves(self, group: TermGroup, tables: Floats) -> CudaCurves:
        """Send curves."""
        return CudaCurves.sent(self, group, tables)

    def grams(self, A: DeviceArray, weights: DeviceArray) -> DeviceArray:
        """Return A' diag(w) A for each row w of the weights: products of half precision."""
        return weighted_grams(self.cupy, A, weights)

    def inverse_factors(self, H: DeviceArray) -> DeviceArray:
        """Return L^{-1} of matrices H = L L'; not finite where one has no such L."""
        return inverse_factors(self, H)

    def rounded(self, A: DeviceArray) -> DeviceArray:
        """Return a matrix in half precision."""
        return rounded(self.cupy, A)

    def inner(self, A: DeviceArray, B: DeviceArray) -> DeviceArray:
        """Return A B' of two such matrices."""
        return inner(self.cupy, A, B)

    def descend(
        self, K: DeviceArray, box: Box, b: DeviceArray, gradient: DeviceArray, n_sweeps: int
    ) -> tuple[DeviceArray, DeviceArray]:
        """Return b and the gradient after sweeps of coordinate descent."""
        return descend(self, K, box, b, gradient, n_sweeps)

    def among(self, K: DeviceArray, rows: DeviceArray) -> DeviceArray:
        """Return what K has of some rows of every output."""
        return among(self, K, rows)

    def slopes(
        self,
        box: Box,
        w: DeviceArray,
        along: tuple[DeviceArray, DeviceArray],
        scores: tuple[DeviceArray, DeviceArray],
        shares: Floats,
    ) -> Floats:
        """Return the slopes of a smooth function along a step."""
        return slopes(self, box, w, (*along, *scores), shares)

    def classes(
        self, F: DeviceArray, labels: DeviceArray, *, minus: bool = False
    ) -> tuple[DeviceArray, DeviceArray]:
        """Return probabilities, and the logarithms of the labels' own."""
        if len(F) <= MOST_CLASSES:
            return classes(self, F, labels, minus)
        return soft_classes(F, labels, self.cupy.arange(len(labels)), minus)

    def class_moments(self, F: DeviceArray, shift: Floats, cost: DeviceArray) -> Floats:
        """Return sums of probabilities, and of their products."""
        if len(F) <= MOST_CLASSES:
            return class_moments(self, F, shift, cost)
        found: Floats = self.numpy(summed_moments(F, self.array(shift), cost))
        return found

    def class_bends(self, p: DeviceArray, cost: DeviceArray, V: DeviceArray) -> DeviceArray:
        """Return the second derivatives of classes times V."""
        few = len(p) <= MOST_CLASSES and V.dtype.char in "fd"
        return class_bends(self, p, cost, V) if few else bent_classes(p, cost, V)

    def free_bytes(self) -> int | None:
        """Return how much memory is free."""
        pool = self.cupy.get_default_memory_pool()
        return int(self.cupy.cuda.Device().mem_info[0] + pool.free_bytes())

    def kernel(self, file: str, name: str, n_bytes: int, defined: Mapping[str, object]) -> Any:
        """Return a kernel of a file, compiled with these macros, and with so much shared memory."""
        kernel = self._compiled(self.place, file, name, *defined.items())
        if n_bytes > max(FREE_BYTES, kernel.max_dynamic_shared_size_bytes):
            kernel.max_dynamic_shared_size_bytes = n_bytes
        return kernel

    @cache  # noqa: B019 (there is one backend, and it stays)
    def _compiled(self, place: Hashable, file: str, name: str, *defined: tuple[str, object]) -> Any:
        del place  # on every device there is another
        source = files("splinear.devices").joinpath(file).read_text()
        options = ("--std=c++17", *(f"-D{key}={value}" for key, value in defined))
        return self.cupy.RawModule(code=source, options=options).get_function(name)


@dataclass(frozen=True, eq=False)
class CudaCells:
    """The rows of one group on the GPU.

    Codes lie row by row, `pitch` of them per row: the features, padded so that a warp reads whole
    rows. Values are those of X itself, wherever its columns are.
    """

    backend: CudaBackend
    group: TermGroup
    cells: DeviceArray
    n_rows: int
    is_coded: bool
    real: np.dtype[Any]
    axes: CudaAxes

    def fill(self, X: DeviceArray, places: AnyArray) -> None:
        """Code rows of X, row i as number places[i]; a negative number: not at all."""
        backend, group, grid = self.backend, self.group, Grid.of(self.group)
        values = replace(backend.valued(group, X), axes=self.axes)
        kernel = values._kernel("encode", 1, code=self.cells.dtype.str[1:])
        there = backend.array(places.astype(np.int64))
        grid_of_rows = min(max(1, ceil(len(X) / 8)), 32 * backend.n_processors)
        kernel(
            (grid_of_rows, ceil(group.n_features / LANES)),
            (LANES, 8),
            (
                *values._source(group.size if group.has_gaps else -1),
                self.cells,
                there,
                np.int64(len(X)),
                np.int64(self.cells.shape[1]),
                backend.array(grid.density(group)),
                np.float64(grid.rounding),
                np.float64(grid.last),
            ),
        )

    def codes(self) -> AnyArray:
        """Return the codes, (n_rows, n_features), on the host."""
        found = self.cells[: self.n_rows, : self.group.n_features]
        return np.ascontiguousarray(self.backend.numpy(found))

    def first(self, n: int) -> CudaCells:
        """Return the first n rows."""
        return replace(self, cells=self.cells[:n], n_rows=n)

    def some(self, numbers: AnyArray) -> CudaCells:
        """Return the rows of these numbers."""
        at = self.backend.array(np.asarray(numbers))
        return replace(self, cells=self.cells[at], n_rows=len(at))

    def expanded(self, maps: Floats) -> DeviceArray:
        """Return what maps (n_features, stride, n) make of the functions of all features."""
        cp, (n_features, stride, width) = self.backend.cupy, maps.shape
        entries = self._entries(stride)
        whole = np.zeros((n_features, entries, width), dtype=np.float32)
        whole[:, :stride] = maps
        out = cp.empty((self.n_rows, n_features * width), dtype=np.float32)
        self._kernel("expand", 1)(
            (32 * self.backend.n_processors,),
            (8 * LANES,),
            (
                *self._source(self.group.size if self.group.has_gaps else -1),
                cp.asarray(whole),
                out,
                np.int64(self.n_rows),
                np.int32(entries),
                np.int32(width),
            ),
        )
        return out

    def scores(self, tables: Floats) -> DeviceArray:
        """Return the scores (n_outputs, n_rows)."""
        out = self.backend.zeros((len(tables), self.n_rows))
        for some in batches(len(tables), self._most_outputs(self._entries(tables.shape[2]))):
            self._score(tables[some], out[some])
        return out

    def _score(self, tables: Floats, out: DeviceArray) -> None:
        """Add the curves of some outputs."""
        backend, (n_outputs, _, stride) = self.backend, tables.shape
        entries, lanes, n_chunks = self._entries(stride), *self._shape()
        bytes_per_chunk = entries * n_outputs * LANES * self.real.itemsize
        # Two blocks per processor, unless one chunk takes more.
        at_once = max(
            backend.shared_bytes // 2 // bytes_per_chunk,
            min(1, backend.shared_bytes // bytes_per_chunk),
        )
        shared, width = (True, LANES) if at_once else (False, lanes)
        at_once = min(at_once or n_chunks, n_chunks)
        laid = self._laid(tables, entries, width)
        n_bytes = at_once * bytes_per_chunk if shared else 0
        kernel = self._kernel("score", n_outputs, n_bytes=n_bytes)
        per_processor = max(1, min(8, backend.shared_bytes // (n_bytes + 1024)))
        threads = min(512, 2048 // per_processor // LANES * LANES)
        grid = min(
            backend.n_processors * per_processor,
            ceil(self.n_rows * lanes / (rows_at_once(n_outputs) * threads)),
        )
        has_gap = stride > self.group.size
        for chunk in range(0, n_chunks, at_once):
            kernel(
                (max(1, grid),),
                (threads,),
                (
                    *self._source(self.group.size if has_gap else -1),
                    laid[chunk:],
                    out,
                    np.int64(self.n_rows),
                    np.int32(lanes.bit_length() - 1),
                    np.int32(chunk),
                    np.int32(min(at_once, n_chunks - chunk)),
                    np.int32(entries),
                    np.int32(width),
                    np.int32(shared),
                ),
                shared_mem=n_bytes,
            )

    def _laid(self, tables: Floats, entries: int, width: int) -> DeviceArray:
        """Return tables as `score` reads them, (n_chunks, entries, n_outputs, width)."""
        cp, (n_outputs, n_features, stride) = self.backend.cupy, tables.shape
        lanes, n_chunks = self._shape()
        whole = cp.zeros((n_chunks * lanes, entries, n_outputs), dtype=self.real)
        whole[:n_features, :stride] = cp.asarray(tables).transpose(1, 2, 0)
        laid = whole.reshape(n_chunks, lanes, entries, n_outputs).transpose(0, 2, 3, 1)
        return cp.ascontiguousarray(cp.tile(laid, width // lanes))

    def sums(self, R: DeviceArray) -> Floats:
        """Return sums of functions, (n_outputs, n_features, stride)."""
        found = self._added(R, blocks=False)
        return self.backend.numpy(found[:, :, : self.group.stride])

    def blocks(self, H: DeviceArray) -> Floats:
        """Return sums of products by bands, (n_outputs, n_features, stride, support)."""
        found = self._added(H, blocks=True)
        support = self.group.embedding.basis.support
        found = found.reshape(*found.shape[:2], -1, support)
        return self.backend.numpy(found[:, :, : self.group.stride])

    def _added(self, R: DeviceArray, *, blocks: bool) -> DeviceArray:
        """Return sums of all entries, (n_outputs, n_features, entries)."""
        cp, entries = self.backend.cupy, self._entries(self.group.stride)
        entries *= self.group.embedding.basis.support if blocks else 1
        # At least four warps of a processor at a time, where that is possible.
        most = self._most_outputs(4 * entries)
        parts = [
            self._add(cp.ascontiguousarray(R[some].T.astype(self.real)), entries, blocks)
            for some in batches(len(R), most)
        ]
        return cp.concatenate(parts) if len(parts) > 1 else parts[0]

    def _add(self, R: DeviceArray, entries: int, blocks: bool) -> DeviceArray:
        cp, backend, n_outputs = self.backend.cupy, self.backend, R.shape[1]
        lanes, n_chunks = self._shape()
        size = entries * n_outputs * LANES
        n_bytes = size * self.real.itemsize
        fixed = n_bytes > backend.shared_bytes
        width, scale = (lanes, fixed_scale(R)) if fixed else (LANES, 0.0)
        n_bytes = 0 if fixed else n_bytes
        warps = 8 if fixed else max(1, min(8, backend.shared_bytes // 2 // n_bytes))
        per_processor = (
            8 if fixed else max(1, min(32, backend.shared_bytes // (warps * n_bytes + 1024)))
        )
        most = max(1, ceil(self.n_rows / (ROWS_PER_WARP * warps)))
        grid = min(most, max(1, backend.n_processors * per_processor // n_chunks))
        if fixed:
            out = cp.zeros((n_chunks, entries * n_outputs * width), dtype=np.uint64)
        else:
            out = cp.empty((n_chunks, grid * warps, size), dtype=self.real)
        kernel = self._kernel("add", n_outputs, blocks=blocks, fixed=fixed, n_bytes=warps * n_bytes)
        kernel(
            (grid, n_chunks),
            (warps * LANES,),
            (
                *self._source(self.group.size if self.group.has_gaps else -1),
                R,
                out,
                np.int64(self.n_rows),
                np.int32(lanes.bit_length() - 1),
                np.int32(entries),
                np.int32(width),
                np.float64(scale),
            ),
            shared_mem=warps * n_bytes,
        )
        whole = out.view(np.int64).astype(np.float64) / scale if fixed else self._total(out, blocks)
        whole = whole.reshape(n_chunks, entries, n_outputs, width // lanes, lanes)
        whole = whole[:, :, :, 0] if width == lanes else whole.sum(axis=3)
        flat = whole.transpose(2, 0, 3, 1).reshape(n_outputs, n_chunks * lanes, entries)
        return flat[:, : self.group.n_features]

    def _total(self, parts: DeviceArray, blocks: bool) -> DeviceArray:
        """Add up the parts of all warps, (n_chunks, n_parts, size), in order."""
        n_chunks, n_parts, size = parts.shape
        whole = self.backend.cupy.empty((n_chunks, size))
        add_up = self._kernel("total", 1, blocks=blocks)
        arguments = (parts, whole, np.int32(n_parts), np.int32(size))
        add_up((ceil(size / 32), n_chunks), (32, 32), arguments)
        return whole

    def _shape(self) -> tuple[int, int]:
        """Return the lanes that are features, and how many times so many there are."""
        lanes = lanes_of(self.group.n_features)
        return lanes, ceil(self.group.n_features / lanes)

    def _entries(self, stride: int) -> int:
        """Return the entries of a table: functions that a row adds 0 to may lie behind the last."""
        return stride + self.group.embedding.basis.support - 1

    def _most_outputs(self, entries: int) -> int:
        room = self.backend.shared_bytes // (entries * LANES * self.real.itemsize)
        return max(1, min(MOST_OUTPUTS, room))

    def _source(self, gap: int) -> tuple[Any, ...]:
        """Return the first arguments of the kernels."""
        before, code = self._same
        return (*before, np.int32(gap), code)

    @cached_property
    def _same(self) -> tuple[tuple[Any, ...], Any]:
        """What all kernels get before the gap, and after it."""
        cells, axes, basis = self.cells, self.axes, self.group.embedding.basis
        grid, item = Grid.of(self.group), cells.dtype.itemsize
        before = (
            cells,
            np.int64(cells.strides[0] // item),
            np.int64(cells.strides[1] // item),
            *axes.arguments,
            np.int32(self.group.n_features),
            np.int32(basis.n_bins if isinstance(basis, BSplineBasis) else 1),
            np.int32(grid.bits),
        )
        return before, np.uint32(max(grid.gap_code, 0))

    def _kernel(
        self,
        name: str,
        n_outputs: int,
        *,
        blocks: bool = False,
        fixed: bool = False,
        n_bytes: int = 0,
        code: str = "u2",
    ) -> Any:
        """Return a kernel for this shape of rows, with so much shared memory."""
        basis, kind = self.group.embedding.basis, self.cells.dtype.str[1:]
        number = (
            0 if isinstance(basis, BSplineBasis) else 1 if isinstance(basis, FourierBasis) else 2
        )
        defined = {
            f"ONLY_{name}": 1,
            "REAL": TYPES[self.real.str[1:]],
            "CODES": int(self.is_coded),
            "CODE": TYPES[kind if self.is_coded else code],
            "VALUE": "float" if self.is_coded else TYPES[kind],
            "KIND": number,
            "SUPPORT": basis.support,
            "OUTPUTS": n_outputs,
            "ROWS": rows_at_once(n_outputs),
            "BLOCKS": int(blocks),
            "FIXED": int(fixed),
        }
        return self.backend.kernel("kernels.cu", name, n_bytes, defined)
