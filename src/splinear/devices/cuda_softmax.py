"""Sums of probabilities on a GPU: what `softmax.cu` is given."""

from __future__ import annotations

from functools import cache
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.devices.backend import DeviceArray

if TYPE_CHECKING:
    from splinear.devices.cuda import CudaBackend

__all__ = ["MOST_CLASSES", "class_bends", "class_moments", "classes"]

MOST_CLASSES = 8
THREADS, WARPS = 256, 8  # of a block


def classes(
    backend: CudaBackend, F: DeviceArray, labels: DeviceArray, minus: bool
) -> tuple[DeviceArray, DeviceArray]:
    """Return probabilities of at most MOST_CLASSES classes, and the logarithms of the labels'."""
    cp, (k, n) = backend.cupy, F.shape
    p, own = cp.empty((k, n)), cp.empty(n)
    kernel = backend.kernel("softmax.cu", "classes", 0, {"OUTPUTS": k, "REAL": "double"})
    arrays = (cp.ascontiguousarray(F), labels.astype(np.int64, copy=False), p, own)
    kernel((ceil(n / THREADS),), (THREADS,), (*arrays, np.int64(n), np.float64(minus)))
    return p, own


def class_moments(backend: CudaBackend, F: DeviceArray, shift: Floats, cost: DeviceArray) -> Floats:
    """Return sum_i c_i p_i (p_i', 1) of at most MOST_CLASSES classes, on the host."""
    cp, (k, n) = backend.cupy, F.shape
    blocks = max(1, min(backend.n_processors, ceil(n / THREADS)))
    n_products = k * (k + 1) // 2
    parts, found = cp.empty((blocks * WARPS, n_products + k)), cp.empty(n_products + k)
    kernel = backend.kernel("softmax.cu", "moments", 0, {"OUTPUTS": k, "REAL": "double"})
    arrays = (cp.ascontiguousarray(F), cost, parts, cp.zeros(1, dtype=np.int32), found)
    shifts = [np.float64(own) for own in shift] + [np.float64(0.0)] * (MOST_CLASSES - k)
    kernel((blocks,), (THREADS,), (*arrays, np.int64(n), *shifts))
    sums, out = backend.numpy(found), np.empty((k, k + 1))
    upper = _upper(k)
    out[upper] = out[upper[::-1]] = sums[:n_products]
    out[:, -1] = sums[n_products:]
    return out


@cache
def _upper(k: int) -> tuple[AnyArray, AnyArray]:
    rows, columns = np.triu_indices(k)
    return rows, columns


def class_bends(
    backend: CudaBackend, p: DeviceArray, cost: DeviceArray, V: DeviceArray
) -> DeviceArray:
    """Return c_i p_ki (V_ki - sum_m p_mi V_mi), of at most MOST_CLASSES classes."""
    cp, (k, n) = backend.cupy, V.shape
    out, real = cp.empty(V.shape, dtype=V.dtype), "float" if V.dtype.char == "f" else "double"
    kernel = backend.kernel("softmax.cu", "bends", 0, {"OUTPUTS": k, "REAL": real})
    arrays = (cp.ascontiguousarray(p), cost, cp.ascontiguousarray(V), out)
    kernel((ceil(n / THREADS),), (THREADS,), (*arrays, np.int64(n)))
    return out
