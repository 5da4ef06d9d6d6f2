"""Coordinate descent on a GPU: what `descent.cu` is given."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from splinear.devices.backend import AT_A_TIME, LEAST, TURNS, DeviceArray
from splinear.devices.cuda_counts import batches
from splinear.solvers.hinge.box import Box

if TYPE_CHECKING:
    from splinear.devices.cuda import CudaBackend

__all__ = ["among", "descend"]

MOST_OUTPUTS = 16  # of one reading of K
COLUMNS, PARTS = 32, 8  # of K that a block of threads reads, and threads that share one
THREADS = 256  # of a block
ROOM = 4 * AT_A_TIME**2  # bytes of memory that the threads of `turns` share
FETCHING = 4  # threads per row that `turns` goes through


def descend(
    backend: CudaBackend,
    K: DeviceArray,
    box: Box,
    b: DeviceArray,
    gradient: DeviceArray,
    n_sweeps: int,
) -> tuple[DeviceArray, DeviceArray]:
    """Return b and the gradient after sweeps of coordinate descent, (n_outputs, n) each."""
    now = _Descent(backend, K, box, b, gradient)
    for _ in range(n_sweeps):
        violations = now.violations()
        rows = np.flatnonzero(violations > LEAST * violations.max()).astype(np.int32)
        for first in range(0, len(rows), AT_A_TIME):
            now.move(rows[first : first + AT_A_TIME])
    inside = np.minimum(np.maximum(now.b.astype(np.float64), box.low), box.high)
    return inside, now.gradient.astype(np.float64)


class _Descent:
    """Coordinate descent on the way: all arrays in single precision."""

    def __init__(
        self, backend: CudaBackend, K: DeviceArray, box: Box, b: DeviceArray, gradient: DeviceArray
    ) -> None:
        self.backend, self.n = backend, np.int64(b.shape[1])
        own = box.low, box.high, box.ridge, gradient, b
        low, high, ridge, self.gradient, self.b = (
            values.astype(np.float32, order="C") for values in own
        )
        self.bounds, self.shrinkage = (low, high), np.float32(box.shrinkage)
        moves = backend.cupy.zeros((len(b), AT_A_TIME), dtype=np.float32)
        self._arrays = (K, low, high, ridge, self.gradient, self.b, moves)
        self._turns = _kernel(backend, "turns", 1, ROOM, SHRINKS=int(box.shrinkage != 0.0))
        self._follow = []
        for some in batches(len(b), MOST_OUTPUTS):
            follow = _kernel(backend, "follow", some.stop - some.start, 0)
            self._follow.append((follow, (K, moves[some], self.gradient[some])))

    def violations(self) -> DeviceArray:
        """Return how much is to gain along every row, in the output where that is most, (n,)."""
        out = self.backend.cupy.empty(int(self.n), dtype=np.float32)
        arrays, n_outputs = (*self.bounds, self.gradient, self.b, out), np.int32(len(self.b))
        kernel = _kernel(self.backend, "violations", 1, 0)
        grid = (ceil(self.n / THREADS),)
        kernel(grid, (THREADS,), (*arrays, self.n, n_outputs, self.shrinkage))
        return out

    def move(self, rows: DeviceArray) -> None:
        """Move b along some rows, and let the gradient follow."""
        m, grid = np.int32(len(rows)), (ceil(self.n / COLUMNS),)
        given = (*self._arrays, rows, self.n, m, self.shrinkage)
        self._turns((len(self.b),), (AT_A_TIME, FETCHING), given, shared_mem=ROOM)
        for follow, own in self._follow:
            follow(grid, (COLUMNS, PARTS), (*own, rows, self.n, m))


def among(backend: CudaBackend, K: DeviceArray, rows: DeviceArray) -> DeviceArray:
    """Return what K has of some rows of every output, (n_outputs, m, m)."""
    cp, (n_outputs, m) = backend.cupy, rows.shape
    K, there = K.astype(np.float32, copy=False), cp.ascontiguousarray(rows.astype(np.int32))
    out, sizes = cp.empty((n_outputs, m, m), dtype=np.float32), (np.int64(len(K)), np.int32(m))
    _kernel(backend, "among", 1, 0)((m, n_outputs), (THREADS,), (K, there, out, *sizes))
    return out


def _kernel(
    backend: CudaBackend, name: str, n_outputs: int, n_bytes: int, **more: int
) -> Callable[..., None]:
    defined = {"ROWS": AT_A_TIME, "TURNS": TURNS, "OUTPUTS": n_outputs, f"ONLY_{name}": 1, **more}
    found: Callable[..., None] = backend.kernel("descent.cu", name, n_bytes, defined)
    return found
