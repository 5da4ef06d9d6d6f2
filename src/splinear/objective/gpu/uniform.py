"""Scores of float32 values on a GPU for uniform knots, by the kernel in `uniform.cu`."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from splinear._caching import cached_property
from splinear._types import Floats
from splinear.objective.gpu.backend import Backend, DeviceArray
from splinear.terms.basis import BSplineBasis
from splinear.terms.group import TermGroup

__all__ = ["SentTables", "UniformTables"]

AT_ONCE = 4  # features that a lane reads at once
COLUMNS = 16  # columns of a table: pairs of floats that shared memory can deliver at once
MOST_OUTPUTS = 4  # outputs per pass
THREADS = 512  # per block
ROWS = 4  # rows per lane at a time
PER_PROCESSOR = 2  # blocks per multiprocessor
KEPT = 1024  # bytes of shared memory that CUDA reserves per block
WIDTHS = (1e-30, 1e30)  # axes must be within these widths, for single precision
FARTHEST = 1e37  # axes must start below this, so that values minus it do not overflow


@dataclass(frozen=True, eq=False)
class UniformTables:
    """The curves of a group, all of degree 1.

    Step functions are excluded, because in single precision a value at a knot could be on the wrong
    side of it.
    """

    group: TermGroup
    tables: Floats  # (n_outputs, n_features, stride)
    has_gap: bool  # whether the last entry of a table is that of missing values
    room: int  # bytes of shared memory per block

    @classmethod
    def of(cls, group: TermGroup, tables: Floats, shared_bytes: int) -> UniformTables | None:
        """Return the curves if the kernel supports them and they fit in shared memory, or None."""
        basis, has_gap = group.embedding.basis, tables.shape[2] > group.size
        if not isinstance(basis, BSplineBasis) or basis.degree != 1 or not _is_straight(group):
            return None
        found = cls(group, tables, has_gap, shared_bytes // PER_PROCESSOR - KEPT)
        return found if found.bytes_per_step(COLUMNS, 1) <= found.room else None

    @property
    def n_entries(self) -> int:
        """Number of entries of a table in the kernel."""
        return int(self.group.size) + self.has_gap

    @property
    def gap(self) -> int:
        """The entry of missing values; -1 if there is none."""
        return self.n_entries - 1 if self.has_gap else -1

    @cached_property
    def lanes(self) -> int:
        """Number of lanes that share a row.

        The choice leaves as few lanes as possible idle, if all tables then fit in shared memory.
        Eight lanes read 128 bytes at once; four were slower, even if fewer of them were idle.
        """
        quads = ceil(self.group.n_features / AT_ONCE)
        n_outputs = min(len(self.tables), MOST_OUTPUTS)

        def waste(lanes: int) -> tuple[bool, int]:
            steps = ceil(quads / lanes)
            too_large = steps * self.bytes_per_step(lanes, n_outputs) > self.room
            return too_large, steps * lanes

        return min((8, 16) if quads > 4 else (4, 2, 1), key=waste)

    @property
    def n_outputs_at_once(self) -> int:
        """Number of outputs per pass."""
        most = min(len(self.tables), MOST_OUTPUTS)
        while self.bytes_per_step(self.lanes, most) > self.room:
            most -= 1
        return most

    def bytes_per_step(self, lanes: int, n_outputs: int) -> int:
        """Return the shared memory, in bytes, for four features per lane."""
        entries = n_outputs * self.n_entries * COLUMNS * 8
        return AT_ONCE * (entries + 16 * lanes)

    def axes(self) -> Floats:
        """Return the coefficients of axes, (n_steps, 4, lanes, 4); see `uniform.cu`."""
        axes = self.group.embedding.axes
        slope = _slopes(self.group)
        lo = np.where(slope != 0.0, axes.lo, 0.0)
        near = lo.astype(np.float32).astype(np.float64)
        rows = np.stack([near, slope, (near - lo) * slope - 0.5, axes.last - 0.5], axis=1)
        return self._laid(rows.astype(np.float32))

    def entries(self, outputs: slice) -> Floats:
        """Return the tables of some outputs, (n_steps, 4, n_outputs, n_entries, COLUMNS, 2)."""
        tables = self.tables[outputs].transpose(1, 0, 2)  # features first
        values = tables[:, :, : self.group.size]
        after = np.concatenate([values[:, :, 1:], values[:, :, -1:]], axis=2)
        values = np.stack([0.5 * (values + after), after - values], axis=-1)
        if self.has_gap:
            at_gap = np.zeros((*values.shape[:2], 1, 2))
            at_gap[:, :, 0, 0] = tables[:, :, -1]
            values = np.concatenate([values, at_gap], axis=2)
        laid = self._laid(values.astype(np.float32))  # (n_steps, 4, lanes, outputs, entries, ...)
        columns = np.tile(laid, (1, 1, COLUMNS // self.lanes, 1, 1, 1))
        return np.ascontiguousarray(columns.transpose(0, 1, 3, 4, 2, 5))

    def _laid(self, of_features: Floats) -> Floats:
        """Return values of features, (n_features, ...), as (n_steps, 4, lanes, ...)."""
        n, lanes = len(of_features), self.lanes
        n_steps = ceil(ceil(n / AT_ONCE) / lanes)
        padded = np.zeros((n_steps * lanes * AT_ONCE, *of_features.shape[1:]), of_features.dtype)
        padded[:n] = of_features
        by_lane = padded.reshape(n_steps, lanes, AT_ONCE, *of_features.shape[1:])
        return np.ascontiguousarray(np.swapaxes(by_lane, 1, 2))


@dataclass(frozen=True, eq=False)
class SentTables:
    """Curves on a device: the arguments of the kernel that do not depend on rows."""

    laid: UniformTables
    axes: DeviceArray
    entries: tuple[DeviceArray, ...]  # one per pass, for its outputs
    outputs: tuple[slice, ...]

    @classmethod
    def of(cls, laid: UniformTables, backend: Backend) -> SentTables:
        """Copy tables to the device."""
        n, most = len(laid.tables), laid.n_outputs_at_once
        outputs = tuple(slice(k, min(k + most, n)) for k in range(0, n, most))
        entries = tuple(backend.array(laid.entries(some)) for some in outputs)
        return cls(laid, backend.array(laid.axes()), entries, outputs)

    def write_to(self, out: DeviceArray, X: DeviceArray, backend: Any) -> None:
        """Write the sums of curves at the rows of X, a CuPy array, to out (n_outputs, n_rows)."""
        laid, axes = self.laid, self.axes
        group, lanes = laid.group, laid.lanes
        room = laid.room // laid.bytes_per_step(lanes, laid.n_outputs_at_once)
        steps = max(1, min(len(axes), room))
        columns = X[:, int(group.features[0]) :]
        blocks = backend.n_processors * PER_PROCESSOR
        for some, entries in zip(self.outputs, self.entries, strict=True):
            n_outputs = some.stop - some.start
            n_bytes = steps * laid.bytes_per_step(lanes, n_outputs)
            defined = {
                "OUTPUTS": n_outputs,
                "ROWS": max(1, ROWS // n_outputs),
                "GAP": laid.gap,
                "VECTOR": int(_is_in_quads(columns, group.n_features)),
            }
            for step in range(0, len(axes), steps):
                before, defined["ADD"] = step * lanes * AT_ONCE, int(step > 0)
                kernel = backend.kernel("uniform.cu", "uniform", n_bytes, defined)
                arguments = (
                    columns[:, before:],
                    *(np.int64(stride // X.dtype.itemsize) for stride in X.strides),
                    axes[step:],
                    entries[step:],
                    out[some],
                    np.int64(len(X)),
                    np.int32(group.n_features - before),
                    np.int32(lanes.bit_length() - 1),
                    np.int32(min(steps, len(axes) - step)),
                    np.int32(laid.n_entries),
                )
                kernel((blocks,), (THREADS,), arguments, shared_mem=n_bytes)


def _is_in_quads(X: Any, n_features: int) -> bool:
    """Return whether four values can be read at once: they are contiguous, and aligned."""
    rows, columns = (stride // X.dtype.itemsize for stride in X.strides)
    side_by_side = columns == 1 and rows % AT_ONCE == 0 and n_features % AT_ONCE == 0
    return bool(side_by_side and X.data.ptr % 16 == 0)


def _slopes(group: TermGroup) -> Floats:
    """Return the number of bins per unit of x, (n_features,); 0 if a feature is constant."""
    axes = group.embedding.axes
    varies = axes.hi > axes.lo
    width = np.where(varies, axes.hi - axes.lo, 1.0)
    return np.where(varies, (axes.last - axes.first) / width, 0.0)


def _is_straight(group: TermGroup) -> bool:
    """Return whether features are neighboring columns with axes that the kernel supports.

    These have uniform knots, and a range that single precision can handle.
    """
    axes, columns = group.embedding.axes, group.features
    if axes.knots is not None or np.any(axes.first != 0.0) or np.any(np.diff(columns) != 1):
        return False
    with np.errstate(over="ignore"):
        width = np.where(axes.hi > axes.lo, axes.hi - axes.lo, 1.0)
    fits = (width > WIDTHS[0]) & (width < WIDTHS[1])
    return bool(np.all(fits) and np.all(np.abs(axes.lo) < FARTHEST))
