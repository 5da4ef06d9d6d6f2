"""The rows of a group on a GPU, and passes over them by the kernels in `kernels.cu`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from splinear._caching import cached_property
from splinear._types import AnyArray, Floats
from splinear.objective.gpu.backend import DeviceArray, Grid
from splinear.objective.gpu.cuda_axes import CudaAxes
from splinear.objective.gpu.cuda_counts import (
    LANES,
    batches,
    fixed_scale,
    lanes_of,
    rows_at_once,
)
from splinear.terms.basis import BSplineBasis, FourierBasis
from splinear.terms.group import TermGroup

if TYPE_CHECKING:
    from splinear.objective.gpu.cuda import CudaBackend

__all__ = ["CudaCells"]

MOST_OUTPUTS = 16  # outputs per pass
MOST_ENTRIES = 2**31 - 1  # entries of a chunk's tables, which kernels index with 32 bits
ROWS_PER_WARP = 128  # at least
THREADS = 256  # threads per block of `lay`
TYPES = {"f4": "float", "f8": "double", "u2": "unsigned short", "u4": "unsigned int"}


@dataclass(frozen=True)
class SumTables:
    """How the kernel `add` divides its sums: tables for parts of the outputs, chunks of features.

    `fixed`: sums are integers in global memory, because tables are too large for shared memory.
    """

    n_parts: int
    n_chunks: int
    entries: int
    each: int  # outputs per part
    width: int  # lanes per entry and output
    fixed: bool

    @property
    def size(self) -> int:
        """Number of entries in one table."""
        return self.entries * self.each * self.width


@dataclass(frozen=True, eq=False)
class CudaCells:
    """The rows of one group on the GPU.

    Codes are (n_rows, pitch): the features, padded so that a warp reads whole rows. Values are
    those of X itself, with any strides.

    The kernels handle features in chunks of 32, one lane per feature. With fewer features, there is
    one chunk, and a warp takes several rows.
    """

    backend: CudaBackend
    group: TermGroup
    cells: DeviceArray
    n_rows: int
    is_coded: bool
    real: np.dtype[Any]
    axes: CudaAxes

    def fill(self, X: DeviceArray, places: DeviceArray) -> None:
        """Store row i of X, coded, at index places[i]; skip rows with a negative index."""
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
        """Return the rows at these indices."""
        at = self.backend.array(numbers)
        return replace(self, cells=self.cells[at], n_rows=len(at))

    def expanded(self, maps: Floats) -> DeviceArray:
        """Return the functions of all features times maps, (n_rows, n_features * n)."""
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
        """Return the scores (n_outputs, n_rows), added to `to` if it is given."""
        out = self.backend.zeros((len(tables), self.n_rows)) if to is None else to
        for some in batches(len(tables), self._most_outputs(self._entries(tables.shape[2]))):
            self._score(tables[some], out[some])
        return out

    def _score(self, tables: Floats, out: DeviceArray) -> None:
        """Add the curves of some outputs to out (n_outputs, n_rows)."""
        backend, (n_outputs, _, stride) = self.backend, tables.shape
        entries, lanes, n_chunks = self._entries(stride), *self._shape()
        bytes_per_chunk = entries * n_outputs * LANES * self.real.itemsize
        # Two blocks per multiprocessor, unless a single chunk takes more than half its memory.
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
        """Return tables in the order in which `score` reads them.

        The result is (n_chunks, entries, n_outputs, width).
        """
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
        """Return sums of functions over rows, (n_outputs, n_features, stride)."""
        return self._added(R, blocks=False)

    def blocks(self, H: DeviceArray) -> DeviceArray:
        """Return sums of products over rows as bands, (n_outputs, n_features, stride, support)."""
        shape = *self.group.shape, self.group.embedding.basis.support
        return self._added(H, blocks=True).reshape(len(H), *shape)

    def _added(self, R: DeviceArray, *, blocks: bool) -> DeviceArray:
        """Return sums over rows, (n_outputs, n_features, stride * n_bands)."""
        n_bands = self.group.embedding.basis.support if blocks else 1
        (n_features, stride), n_outputs = self.group.shape, len(R)
        out = self.backend.cupy.empty((n_outputs, n_features, stride * n_bands))
        if not n_outputs:
            return out
        tables = self._tables(n_bands * self._entries(stride), n_outputs)
        R = R.astype(self.real, order="F", copy=False)
        if tables.fixed:
            scale = fixed_scale(R)
            self._unscale(self._add(R, tables, blocks, scale), scale, tables, out)
        else:
            self._total(self._add(R, tables, blocks, 0.0), tables, out)
        return out

    def _tables(self, entries: int, n_outputs: int) -> SumTables:
        """Return the tables in which sums over rows are added up."""
        # At least four warps per multiprocessor at a time, if possible.
        parts = batches(n_outputs, self._most_outputs(4 * entries))
        each, (lanes, n_chunks) = parts[0].stop, self._shape()
        fixed = entries * each * LANES * self.real.itemsize > self.backend.shared_bytes
        width = lanes if fixed else LANES
        _check_entries(entries * each * width)
        return SumTables(len(parts), n_chunks, entries, each, width, fixed)

    def _add(self, R: DeviceArray, tables: SumTables, blocks: bool, scale: float) -> DeviceArray:
        """Return the sums of each warp, or integer sums of all of them in units of 1 / scale."""
        cp, n_tables = self.backend.cupy, (tables.n_parts, tables.n_chunks)
        n_bytes = 0 if tables.fixed else tables.size * self.real.itemsize
        warps, grid = self._warps_and_blocks(n_bytes, tables.n_parts * tables.n_chunks)
        if tables.fixed:
            sums = cp.zeros((*n_tables, tables.size), dtype=np.uint64)
        else:
            sums = cp.empty((*n_tables, grid * warps, tables.size), dtype=self.real)
        shared = warps * n_bytes
        kernel = self._kernel("add", tables.each, blocks=blocks, fixed=tables.fixed, n_bytes=shared)
        kernel(
            (grid, tables.n_chunks, tables.n_parts),
            (warps * LANES,),
            (
                *self._source(self.group.size if self.group.has_gaps else -1),
                R,
                sums,
                np.int64(self.n_rows),
                np.int32(len(R)),
                np.int32(self._shape()[0].bit_length() - 1),
                np.int32(tables.entries),
                np.int32(tables.width),
                np.float64(scale),
            ),
            shared_mem=shared,
        )
        return sums

    def _warps_and_blocks(self, n_bytes: int, n_tables: int) -> tuple[int, int]:
        """Return the warps per block of `add`, and the blocks per table.

        A warp takes n_bytes of shared memory.
        """
        room = self.backend.shared_bytes
        warps = per_processor = 8
        if n_bytes:
            warps = max(1, min(8, room // 2 // n_bytes))
            per_processor = max(1, min(32, room // (warps * n_bytes + 1024)))
        most = max(1, ceil(self.n_rows / (ROWS_PER_WARP * warps)))
        return warps, min(most, max(1, self.backend.n_processors * per_processor // n_tables))

    def _unscale(
        self, whole: DeviceArray, scale: float, tables: SumTables, to: DeviceArray
    ) -> None:
        """Write integer sums (n_parts, n_chunks, size) to `to`, divided by the scale."""
        n_outputs, n_features, kept = to.shape
        shape = (-1, tables.n_chunks, tables.entries, tables.each, tables.width)
        sums = (whole.view(np.int64).astype(np.float64) / scale).reshape(shape)
        sums = sums.transpose(0, 3, 1, 4, 2)
        sums = sums.reshape(-1, tables.n_chunks * tables.width, tables.entries)
        to[...] = sums[:n_outputs, :n_features, :kept]

    def _total(self, parts: DeviceArray, tables: SumTables, to: DeviceArray) -> None:
        """Write to `to` the sums over warps of parts (n_parts, n_chunks, n_warps, size)."""
        (n_outputs, n_features, kept), n_warps = to.shape, parts.shape[2]
        lanes_log2 = self._shape()[0].bit_length() - 1
        numbers = n_warps, tables.entries, kept, n_outputs, tables.each, n_features, lanes_log2
        grid = (kept * tables.each, tables.n_chunks, tables.n_parts)
        self._kernel("total", 1)(grid, (LANES, LANES), (parts, to, *map(np.int32, numbers)))

    def _shape(self) -> tuple[int, int]:
        """Return the number of lanes that share a row, and the number of chunks of features."""
        lanes = lanes_of(self.group.n_features)
        return lanes, ceil(self.group.n_features / lanes)

    def _entries(self, stride: int) -> int:
        """Return the entries of a table, with padding that functions of weight 0 may reach."""
        return stride + self.group.embedding.basis.support - 1

    def _most_outputs(self, entries: int) -> int:
        room = self.backend.shared_bytes // (entries * LANES * self.real.itemsize)
        return max(1, min(MOST_OUTPUTS, room))

    def _source(self, gap: int) -> tuple[Any, ...]:
        """Return the first arguments of kernels; `gap` is the entry of missing values, or -1."""
        before, code = self._same
        return (*before, np.int32(gap), code)

    @cached_property
    def _same(self) -> tuple[tuple[Any, ...], Any]:
        """The kernels' arguments before `gap` and the one after it."""
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
        """Return a kernel for this kind of rows and n_bytes of shared memory."""
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
        """Kernels used so far: finding one by its macros takes as long as a launch."""
        return {}

    @cached_property
    def _defined(self) -> dict[str, object]:
        """The macros of all kernels for this kind of rows."""
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
    """Raise an error if a chunk's tables have more entries than kernels can index."""
    if n > MOST_ENTRIES:
        raise ValueError(
            f"The tables of up to {LANES} features have {n:,} entries, and a GPU takes fewer than "
            "2**31: use fewer bins or levels, or device='cpu'."
        )
