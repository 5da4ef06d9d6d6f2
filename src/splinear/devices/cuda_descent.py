"""Coordinate descent on a GPU: what `descent.cu` is given."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from splinear.devices.backend import AT_A_TIME, TURNS, DeviceArray
from splinear.devices.cuda_counts import batches
from splinear.solvers.box import Box

if TYPE_CHECKING:
    from splinear.devices.cuda import CudaBackend

__all__ = ["descend"]

MOST_OUTPUTS = 16  # of one reading of K
COLUMNS, PARTS = 32, 8  # of K that a block of threads reads, and threads that share one


def descend(
    backend: CudaBackend,
    K: DeviceArray,
    box: Box,
    b: DeviceArray,
    gradient: DeviceArray,
    n_sweeps: int,
) -> DeviceArray:
    """Return b after sweeps of coordinate descent, (n_outputs, n) in doubles, inside the box."""
    cp, (n_outputs, n) = backend.cupy, b.shape
    arrays = (box.low, box.high, box.ridge, gradient, b)
    low, high, ridge, g, at = (_in_single(backend, own) for own in arrays)
    moves = cp.zeros((n_outputs, AT_A_TIME), dtype=np.float32)
    defined = {"ROWS": AT_A_TIME, "TURNS": TURNS}
    n_bytes = 4 * AT_A_TIME**2
    go = backend.kernel("descent.cu", "turns", n_bytes, {**defined, "OUTPUTS": 1, "ONLY_turns": 1})
    parts = batches(n_outputs, MOST_OUTPUTS)
    follows = [
        backend.kernel(
            "descent.cu", "follow", 0, {**defined, "OUTPUTS": p.stop - p.start, "ONLY_follow": 1}
        )
        for p in parts
    ]
    size, shrinkage = np.int64(n), np.float32(box.shrinkage)
    for _ in range(n_sweeps):
        for row in range(0, n, AT_A_TIME):
            first = np.int64(row)
            arguments = (K, low, high, ridge, g, at, moves, size, first, shrinkage)
            go((n_outputs,), (AT_A_TIME,), arguments, shared_mem=n_bytes)
            for follow, some in zip(follows, parts, strict=True):
                arguments = (K, ridge[some], moves[some], g[some], size, first)
                follow((ceil(n / COLUMNS),), (COLUMNS, PARTS), arguments)
    return np.minimum(np.maximum(at.astype(np.float64), box.low), box.high)


def _in_single(backend: CudaBackend, values: DeviceArray) -> DeviceArray:
    """Return a copy, row by row."""
    copied: DeviceArray = backend.cupy.ascontiguousarray(values.astype(np.float32))
    return copied
