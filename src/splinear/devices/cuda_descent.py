"""Coordinate descent on a GPU: what `descent.cu` is given."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from splinear._types import Floats
from splinear.devices.backend import AT_A_TIME, LEAST, TURNS, DeviceArray
from splinear.devices.cuda_counts import batches
from splinear.solvers.box import Box

if TYPE_CHECKING:
    from splinear.devices.cuda import CudaBackend

__all__ = ["among", "descend", "slopes"]

MOST_OUTPUTS = 16  # of one reading of K
COLUMNS, PARTS = 32, 8  # of K that a block of threads reads, and threads that share one
THREADS = 256  # of a block that copies a row, or adds up
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
    own = box.mapped(lambda values: _in_single(backend, values))
    at, g = _in_single(backend, b), _in_single(backend, gradient)
    go = _moving(backend, K, own, at, g)
    for _ in range(n_sweeps):
        violation = own.violation(at, g).max(axis=0)
        rows = np.flatnonzero(violation > LEAST * violation.max()).astype(np.int32)
        for first in range(0, len(rows), AT_A_TIME):
            go(rows[first : first + AT_A_TIME])
    inside = np.minimum(np.maximum(at.astype(np.float64), box.low), box.high)
    return inside, g.astype(np.float64)


def _moving(
    backend: CudaBackend, K: DeviceArray, box: Box, b: DeviceArray, gradient: DeviceArray
) -> Callable[[DeviceArray], None]:
    """Return what moves b along some rows, and lets the gradient follow."""
    n_outputs, n = b.shape
    moves = backend.cupy.zeros((n_outputs, AT_A_TIME), dtype=np.float32)
    n_bytes, size, shrinkage = 4 * AT_A_TIME**2, np.int64(n), np.float32(box.shrinkage)
    turns, parts = _kernel(backend, "turns", 1, n_bytes), []
    for some in batches(n_outputs, MOST_OUTPUTS):
        follow = _kernel(backend, "follow", some.stop - some.start, 0)
        parts.append((follow, (K, moves[some], gradient[some])))
    arrays, grid = (K, box.low, box.high, box.ridge, gradient, b, moves), (ceil(n / COLUMNS),)

    def go(rows: DeviceArray) -> None:
        m = np.int32(len(rows))
        given = (*arrays, rows, size, m, shrinkage)
        turns((n_outputs,), (AT_A_TIME, FETCHING), given, shared_mem=n_bytes)
        for follow, own in parts:
            follow(grid, (COLUMNS, PARTS), (*own, rows, size, m))

    return go


def among(backend: CudaBackend, K: DeviceArray, rows: DeviceArray) -> DeviceArray:
    """Return what K has of some rows of every output, (n_outputs, m, m)."""
    cp, (n_outputs, m) = backend.cupy, rows.shape
    K, there = K.astype(np.float32, copy=False), cp.ascontiguousarray(rows.astype(np.int32))
    out, sizes = cp.empty((n_outputs, m, m), dtype=np.float32), (np.int64(len(K)), np.int32(m))
    _kernel(backend, "among", 1, 0)((m, n_outputs), (THREADS,), (K, there, out, *sizes))
    return out


def slopes(
    backend: CudaBackend,
    box: Box,
    w: DeviceArray,
    vectors: tuple[DeviceArray, ...],
    shares: Floats,
) -> Floats:
    """Return the slopes of a smooth function along a step, (n_outputs, n_shares)."""
    cp, (n_outputs, n) = backend.cupy, w.shape
    out = cp.empty((n_outputs, len(shares)))
    arrays = map(cp.ascontiguousarray, (box.targets, box.low, box.high, w, *vectors))
    given = (*arrays, backend.array(shares), out, np.int64(n), np.float64(box.shrinkage))
    _kernel(backend, "slopes", 1, 0)((n_outputs, len(shares)), (THREADS,), given)
    found: Floats = backend.numpy(out)
    return found


def _kernel(backend: CudaBackend, name: str, n_outputs: int, n_bytes: int) -> Callable[..., None]:
    defined = {"ROWS": AT_A_TIME, "TURNS": TURNS, "OUTPUTS": n_outputs, f"ONLY_{name}": 1}
    found: Callable[..., None] = backend.kernel("descent.cu", name, n_bytes, defined)
    return found


def _in_single(backend: CudaBackend, values: DeviceArray) -> DeviceArray:
    """Return a copy, row by row."""
    copied: DeviceArray = backend.cupy.ascontiguousarray(values.astype(np.float32))
    return copied
