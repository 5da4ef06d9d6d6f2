"""Softmax probabilities on a GPU, by the kernels in `softmax.cu`; F is (n_classes, n_rows)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.objective.gpu.backend import DeviceArray
from splinear.objective.gpu.cuda_counts import NOWHERE
from splinear.objective.loss_sums import FARTHEST, LAST_SHIFT, MAX_SHIFTS

if TYPE_CHECKING:
    from splinear.objective.gpu.cuda import CudaBackend

__all__ = [
    "MOST_CLASSES",
    "cautious_costs",
    "class_bends",
    "class_diagonals",
    "class_divergence",
    "class_moments",
    "class_shift",
    "classes",
]

MOST_CLASSES = 8  # of all functions here
THREADS, WARPS = 256, 8  # per block
AT_ONCE, FAILED = 8, 2  # steps of `shift` between looks at its state, and the state of failure


def classes(
    backend: CudaBackend, F: DeviceArray, labels: DeviceArray, minus: bool
) -> tuple[DeviceArray, DeviceArray]:
    """Return the softmax of F, and the log-probabilities of the labels (n_rows,).

    If `minus`, 1 is subtracted from the probability of each row's label.
    """
    cp, (k, n) = backend.cupy, F.shape
    p, own = cp.empty((k, n)), cp.empty(n)
    given = (cp.ascontiguousarray(F), _numbers(labels), p, own)
    _by_rows(backend, "classes", (k, n), given, np.float64(minus))
    return p, own


def class_moments(backend: CudaBackend, F: DeviceArray, shift: Floats, cost: DeviceArray) -> Floats:
    """Return sum_i c_i p_i (p_i', 1) on the host, with p_i the softmax of F_i + shift."""
    cp, (k, n) = backend.cupy, F.shape
    blocks, found, room = _sums_of(backend, k, n)
    arrays = (cp.ascontiguousarray(F), cost, backend.array(shift), *room)
    _kernel(backend, "moments", k)((blocks,), (THREADS,), (*arrays, np.int64(n)))
    sums, out, upper = backend.numpy(found), np.empty((k, k + 1)), _upper(k)
    n_products = len(sums) - k
    out[upper] = out[upper[::-1]] = sums[:n_products]
    out[:, -1] = sums[n_products:]
    return out


def class_shift(
    backend: CudaBackend, F: DeviceArray, cost: DeviceArray, of_classes: Floats
) -> Floats | None:
    """Return the shift of scores that minimizes the loss, on the host; None if a step failed.

    The GPU itself decides when to stop, so that the host need not wait for it after every step.
    """
    cp, (k, n) = backend.cupy, F.shape
    blocks, _, room = _sums_of(backend, k, n)
    told, kernel = cp.zeros(k + 1), _kernel(backend, "shift", k)
    arrays = (cp.ascontiguousarray(F), cost, backend.array(of_classes), told, *room)
    given = (*arrays, np.int64(n), np.float64(LAST_SHIFT), np.float64(FARTHEST))
    for _ in range(0, MAX_SHIFTS, AT_ONCE):
        for _ in range(AT_ONCE):
            kernel((blocks,), (THREADS,), given)
        *shift, state = backend.numpy(told)
        if state:
            break
    return None if state == FAILED else np.array(shift)


def _sums_of(
    backend: CudaBackend, k: int, n: int
) -> tuple[int, DeviceArray, tuple[DeviceArray, DeviceArray, DeviceArray]]:
    """Return the number of blocks, the array of sums, and the arguments parts, n_done and out."""
    cp, n_sums = backend.cupy, k * (k + 1) // 2 + k
    blocks = max(1, min(backend.n_processors, ceil(n / THREADS)))
    parts, found = cp.empty((blocks * WARPS, n_sums)), cp.empty(n_sums)
    return blocks, found, (parts, cp.zeros(1, dtype=np.int32), found)


@cache
def _upper(k: int) -> tuple[AnyArray, AnyArray]:
    rows, columns = np.triu_indices(k)
    return rows, columns


def class_bends(
    backend: CudaBackend,
    p: DeviceArray,
    cost: DeviceArray,
    V: DeviceArray,
    extra: DeviceArray | None,
) -> DeviceArray:
    """Return c_i p_ki (V_ki - sum_m p_mi V_mi) + e_i V_ki, with e (`extra`) or 0."""
    cp, out = backend.cupy, backend.cupy.empty(V.shape, dtype=V.dtype)
    real = "float" if V.dtype.char == "f" else "double"
    given = (cp.ascontiguousarray(p), cost, _or_nowhere(extra), cp.ascontiguousarray(V), out)
    _by_rows(backend, "bends", V.shape, given, real=real)
    return out


def class_diagonals(
    backend: CudaBackend, p: DeviceArray, cost: DeviceArray, extra: DeviceArray | None
) -> DeviceArray:
    """Return c_i p_ki (1 - p_ki) + e_i, with e (`extra`) or 0."""
    out = backend.cupy.empty(p.shape)
    given = (backend.cupy.ascontiguousarray(p), cost, _or_nowhere(extra), out)
    _by_rows(backend, "bend_diagonals", p.shape, given)
    return out


def cautious_costs(
    backend: CudaBackend, p: DeviceArray, own: DeviceArray, cost: DeviceArray
) -> DeviceArray:
    """Return costs (n_rows,), raised where a label is unlikely."""
    out = backend.cupy.empty(p.shape[1])
    _by_rows(backend, "cautious", p.shape, (backend.cupy.ascontiguousarray(p), own, cost, out))
    return out


def class_divergence(
    backend: CudaBackend,
    F: DeviceArray,
    R: DeviceArray,
    labels: DeviceArray,
    cost: DeviceArray,
    rounding: float,
) -> float:
    """Return sum_i c_i KL(q_i, p_i) of q_i = indicator + R_i / c_i and the softmax p_i of F_i."""
    cp, out = backend.cupy, backend.cupy.empty(F.shape[1])
    arrays = (cp.ascontiguousarray(F), cp.ascontiguousarray(R), _numbers(labels), cost, out)
    _by_rows(backend, "divergences", F.shape, arrays, np.float64(rounding))
    return float(out.sum())


def _by_rows(
    backend: CudaBackend,
    name: str,
    shape: tuple[int, int],
    arrays: tuple[object, ...],
    *more: np.float64,
    real: str = "double",
) -> None:
    """Launch a kernel with one thread per row."""
    k, n = shape
    kernel = _kernel(backend, name, k, real)
    kernel((ceil(n / THREADS),), (THREADS,), (*arrays, np.int64(n), *more))


def _kernel(backend: CudaBackend, name: str, k: int, real: str = "double") -> Callable[..., None]:
    """Return a kernel for k classes."""
    defined = {"OUTPUTS": k, "REAL": real, f"ONLY_{name}": 1}
    found: Callable[..., None] = backend.kernel("softmax.cu", name, 0, defined)
    return found


def _numbers(labels: DeviceArray) -> DeviceArray:
    return labels.astype(np.int64, copy=False)


def _or_nowhere(extra: DeviceArray | None) -> DeviceArray:
    return NOWHERE if extra is None else extra
