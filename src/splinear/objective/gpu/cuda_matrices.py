"""Matrix products by cuBLAS on a GPU, and inverse factors by the kernels of `factors.cu`."""

from __future__ import annotations

from math import ceil
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from splinear.objective.gpu.backend import DeviceArray
from splinear.objective.gpu.cuda_counts import LANES, batches

if TYPE_CHECKING:
    from splinear.objective.gpu.cuda import CudaBackend

__all__ = ["inverse_factors", "twice", "weighted_grams"]

PLAIN, TRANSPOSED = 0, 1  # operations of cuBLAS
HALF, SINGLE = 2, 0  # data types of cuBLAS
ALIGNED = 8  # rows of half-precision matrices are padded to multiples of this
AT_ONCE = 2**28  # half-precision numbers that are multiplied by weights at a time
IN_SINGLE, BY_DEFAULT = 68, -1  # precision of sums, and choice of the algorithm, in cuBLAS
TILE, THREADS = 64, 256  # as in `factors.cu`
_STEPS = ("update", "panel")


def weighted_grams(cp: ModuleType, A: DeviceArray, weights: DeviceArray) -> DeviceArray:
    """Return A' diag(w) A (n, m, m) in double precision, for A (n_rows, m) and each row w >= 0.

    A, times the square root of w, is rounded to half precision. The products of these numbers are
    exact and are summed in single precision, so that eigenvalues are negative only by the rounding
    of these sums.
    """
    (n_rows, m), n = A.shape, len(weights)
    largest = cp.maximum(weights.max(axis=1), np.finfo(np.float32).tiny)
    unit = cp.maximum(abs(A).max(), np.float32(1e-30))
    roots = cp.sqrt(weights / largest[:, None]).astype(np.float32) / unit
    width = ALIGNED * ceil(m / ALIGNED)
    out = cp.empty((n, width, width), dtype=np.float32)
    for some in batches(n, max(1, AT_ONCE // (n_rows * width))):
        to = out[some]
        half = cp.zeros((len(to), n_rows, width), dtype=np.float16)
        cp.multiply(A, roots[some][:, :, None], out=half[:, :, :m], casting="same_kind")
        sizes = (width, width, n_rows)
        _multiply(cp, (PLAIN, TRANSPOSED), sizes, (half, width), (half, width), (to, width))
    return out[:, :m, :m] * (largest * unit.astype(np.float64) ** 2)[:, None, None]


def _multiply(
    cp: ModuleType,
    how: tuple[int, int],
    sizes: tuple[int, int, int],
    *matrices: tuple[DeviceArray, int],
) -> None:
    """Multiply n pairs of half-precision matrices by cuBLAS; the last of `matrices` is the result.

    cuBLAS stores matrices by columns, so each comes with the length of its rows here.
    """
    cublas, ((A, a), (B, b), (out, c)) = cp.cuda.cublas, matrices
    handle = cp.cuda.device.get_cublas_handle()
    one, zero = np.array(1.0, dtype=np.float32), np.array(0.0, dtype=np.float32)
    cublas.setStream(handle, cp.cuda.get_current_stream().ptr)
    strides = [own.size // len(own) for own in (A, B, out)]
    cublas.gemmStridedBatchedEx(
        handle, *how, *sizes,
        one.ctypes.data, A.data.ptr, HALF, a, strides[0], B.data.ptr, HALF, b, strides[1],
        zero.ctypes.data, out.data.ptr, SINGLE, c, strides[2], len(out), IN_SINGLE, BY_DEFAULT,
    )  # fmt: skip


def inverse_factors(backend: CudaBackend, H: DeviceArray) -> DeviceArray:
    """Return L^{-1} of matrices H = L L', (n, m, m), all at once, tile by tile; see `factors.cu`.

    The result has the type of H, which is overwritten. If a matrix has no such L, some of its
    entries are not finite.
    """
    cp, (n, m, _) = backend.cupy, H.shape
    real = {"REAL": "float" if H.dtype.char == "f" else "double"}
    update, panel = (backend.kernel("factors.cu", k, 0, {f"ONLY_{k}": 1, **real}) for k in _STEPS)
    A, out = cp.ascontiguousarray(H), cp.zeros(H.shape, dtype=H.dtype)
    same, n_tiles = (A, out, np.int32(m)), ceil(m / TILE)
    update((1, n), (THREADS,), (*same, np.int32(-1)))
    for k in range(n_tiles):
        given, left = (*same, np.int32(k)), n_tiles - k - 1
        if n_tiles > 1:
            panel((n_tiles - 1, n), (THREADS,), given)
        if left:
            update((left * (left + 1) // 2 + left * (k + 1), n), (THREADS,), given)
    return out


def twice(backend: CudaBackend, factors: DeviceArray, vectors: DeviceArray) -> DeviceArray:
    """Return M'M v for lower triangular M (n, m, m) and vectors v (n, m)."""
    cp, (n, m) = backend.cupy, vectors.shape
    real = {"REAL": "float" if factors.dtype.char == "f" else "double"}
    v = cp.ascontiguousarray(vectors)
    for name, at_once in (("multiply", THREADS // LANES), ("multiply_transposed", LANES)):
        out = cp.empty((n, m), dtype=factors.dtype)
        kernel = backend.kernel("factors.cu", name, 0, {f"ONLY_{name}": 1, **real})
        kernel((ceil(m / at_once), n), (THREADS,), (factors, v, out, np.int32(m)))
        v = out
    return v
