"""The rows of a group on a GPU, and the passes over them: what `kernels.cu` is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from splinear._caching import cached_property
from splinear._types import AnyArray, Floats
from splinear.curves.basis import BSplineBasis, FourierBasis
from splinear.devices.backend import DeviceArray, Grid
from splinear.devices.cuda_axes import CudaAxes
from splinear.devices.cuda_counts import (
    LANES,
    batches,
    fixed_scale,
    lanes_of,
    rows_at_once,
)
from splinear.model.group import TermGroup

if TYPE_CHECKING:
    from splinear.devices.cuda import CudaBackend

__all__ = ["CudaCells"]

MOST_OUTPUTS = 16  # at a time
MOST_ENTRIES = 2**31 - 1  # of tables that lie side by side: kernels count them in 32 bits
ROWS_PER_WARP = 128  # at least
THREADS = 256  # of a block that lays tables
TYPES = {"f4": "float", "f8": "double", "u2": "unsigned short", "u4": "unsigned int"}


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

    def fill(self, X: DeviceArray, places: DeviceArray) -> None:
        """Code rows of X, row i as number places[i]; a negative number: not at all."""
        backend, group, grid = self.backend, self.group, Grid.of(self.group)
        values = replace(backend.valued(group, X), axes=self.axes)
        kernel = values._kernel("encode", 1, code=self.cells.dtype.str[1:])
        there = backend.array(places).astype(np.int64, copy=False)
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
        at = self.backend.array(numbers)
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

    def scores(self, tables: Floats, to: DeviceArray | None = None) -> DeviceArray:
        """Return the scores (n_outputs, n_rows), added to what there is."""
        out = self.backend.zeros((len(tables), self.n_rows)) if to is None else to
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
        _check_entries(entries * n_outputs * width)
        lanes, n_chunks = self._shape()
        laid = cp.empty((n_chunks, entries, n_outputs, width), dtype=self.real)
        numbers = entries, n_outputs, width, lanes.bit_length() - 1, n_features, stride
        size, kernel, grid = np.int64(laid.size), self._kernel("lay", 1), ceil(laid.size / THREADS)
        there = self.backend.array(tables)
        kernel((grid,), (THREADS,), (there, laid, size, *map(np.int32, numbers)))
        return laid

    def sums(self, R: DeviceArray) -> DeviceArray:
        """Return sums of functions, (n_outputs, n_features, stride)."""
        return self._added(R, blocks=False)

    def blocks(self, H: DeviceArray) -> DeviceArray:
        """Return sums of products by bands, (n_outputs, n_features, stride, support)."""
        shape = *self.group.shape, self.group.embedding.basis.support
        return self._added(H, blocks=True).reshape(len(H), *shape)

    def _added(self, R: DeviceArray, *, blocks: bool) -> DeviceArray:
        """Return sums of all entries, (n_outputs, n_features, stride times the bands)."""
        cp, n_outputs, (n_features, stride) = self.backend.cupy, len(R), self.group.shape
        lanes, n_chunks = self._shape()
        n_bands = self.group.embedding.basis.support if blocks else 1
        entries = n_bands * self._entries(stride)
        out = cp.empty((n_outputs, n_features, stride * n_bands))
        if not n_outputs:
            return out
        # At least four warps of a processor at a time, where that is possible.
        parts = batches(n_outputs, self._most_outputs(4 * entries))
        each, n_parts = parts[0].stop, len(parts)
        size = entries * each * LANES
        n_bytes = size * self.real.itemsize
        fixed = n_bytes > self.backend.shared_bytes
        width = lanes if fixed else LANES
        _check_entries(entries * each * width)
        R = R.astype(self.real, order="F", copy=False)
        scale = fixed_scale(R) if fixed else 0.0
        n_bytes = 0 if fixed else n_bytes
        warps, grid = self._warps_and_blocks(n_bytes, n_parts * n_chunks)
        if fixed:
            sums = cp.zeros((n_parts, n_chunks, entries * each * width), dtype=np.uint64)
        else:
            sums = cp.empty((n_parts, n_chunks, grid * warps, size), dtype=self.real)
        kernel = self._kernel("add", each, blocks=blocks, fixed=fixed, n_bytes=warps * n_bytes)
        kernel(
            (grid, n_chunks, n_parts),
            (warps * LANES,),
            (
                *self._source(self.group.size if self.group.has_gaps else -1),
                R,
                sums,
                np.int64(self.n_rows),
                np.int32(n_outputs),
                np.int32(lanes.bit_length() - 1),
                np.int32(entries),
                np.int32(width),
                np.float64(scale),
            ),
            shared_mem=warps * n_bytes,
        )
        if fixed:
            self._unscale(sums, scale, (entries, each), out)
        else:
            self._total(sums, (entries, each), out)
        return out

    def _warps_and_blocks(self, n_bytes: int, n_tables: int) -> tuple[int, int]:
        """Return the warps of a block that adds up, and the blocks per table.

        A warp takes so many bytes.
        """
        room = self.backend.shared_bytes
        warps = per_processor = 8
        if n_bytes:
            warps = max(1, min(8, room // 2 // n_bytes))
            per_processor = max(1, min(32, room // (warps * n_bytes + 1024)))
        most = max(1, ceil(self.n_rows / (ROWS_PER_WARP * warps)))
        return warps, min(most, max(1, self.backend.n_processors * per_processor // n_tables))

    def _unscale(
        self, whole: DeviceArray, scale: float, shape: tuple[int, int], to: DeviceArray
    ) -> None:
        """Write sums in whole numbers, (n_parts, n_chunks, size), to where they belong."""
        (lanes, n_chunks), (n_outputs, n_features, kept), (entries, each) = (
            self._shape(),
            to.shape,
            shape,
        )
        sums = whole.view(np.int64).astype(np.float64) / scale
        sums = sums.reshape(-1, n_chunks, entries, each, lanes).transpose(0, 3, 1, 4, 2)
        sums = sums.reshape(-1, n_chunks * lanes, entries)
        to[...] = sums[:n_outputs, :n_features, :kept]

    def _total(self, parts: DeviceArray, shape: tuple[int, int], to: DeviceArray) -> None:
        """Add up the parts of all warps, (n_parts, n_chunks, n_warps, size), in order."""
        (n_parts, n_chunks, n_warps, _), (n_outputs, n_features, kept) = parts.shape, to.shape
        lanes_log2, (entries, each) = self._shape()[0].bit_length() - 1, shape
        numbers = n_warps, entries, kept, n_outputs, each, n_features, lanes_log2
        grid = (kept * each, n_chunks, n_parts)
        self._kernel("total", 1)(grid, (LANES, LANES), (parts, to, *map(np.int32, numbers)))

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
        key = name, n_outputs, blocks, fixed, n_bytes, code
        found = self._kernels.get(key)
        if found is None:
            defined = self._defined | {
                f"ONLY_{name}": 1,
                "OUTPUTS": n_outputs,
                "ROWS": rows_at_once(n_outputs),
                "BLOCKS": int(blocks),
                "FIXED": int(fixed),
            }
            if not self.is_coded:
                defined["CODE"] = TYPES[code]
            found = self.backend.kernel("kernels.cu", name, n_bytes, defined)
            self._kernels[key] = found
        return found

    @cached_property
    def _kernels(self) -> dict[tuple[object, ...], Callable[..., None]]:
        """Those that were asked for: to find one by its macros takes as long as to call it."""
        return {}

    @cached_property
    def _defined(self) -> dict[str, object]:
        """The macros of all kernels for this shape of rows."""
        basis, kind = self.group.embedding.basis, TYPES[self.cells.dtype.str[1:]]
        number = (
            0 if isinstance(basis, BSplineBasis) else 1 if isinstance(basis, FourierBasis) else 2
        )
        return {
            "REAL": TYPES[self.real.str[1:]],
            "CODES": int(self.is_coded),
            "CODE": kind,
            "VALUE": "float" if self.is_coded else kind,
            "KIND": number,
            "SUPPORT": basis.support,
        }


def _check_entries(n: int) -> None:
    """Refuse tables of more entries than kernels can count."""
    if n > MOST_ENTRIES:
        raise ValueError(
            f"The tables of up to {LANES} features have {n:,} entries, and a GPU takes fewer than "
            "2**31: use fewer bins or levels, or device='cpu'."
        )
