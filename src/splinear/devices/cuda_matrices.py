"""Products and factors of matrices on a GPU: by the libraries of CUDA, and small ones by ours."""

from __future__ import annotations

from math import ceil
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from splinear.devices.backend import DeviceArray
from splinear.devices.cuda_counts import LANES, batches

if TYPE_CHECKING:
    from splinear.devices.cuda import CudaBackend

__all__ = ["inner", "inverse_factors", "rounded", "twice", "weighted_grams"]

PLAIN, TRANSPOSED = 0, 1  # of cuBLAS
HALF, SINGLE = 2, 0  # types of numbers
ALIGNED = 8  # numbers of half precision
AT_ONCE = 2**28  # of them that are multiplied by weights at a time
IN_SINGLE, BY_DEFAULT = 68, -1  # how it is added up, and by which algorithm
TILE, THREADS = 64, 256  # of `factors.cu`
_STEPS = ("update", "panel")


def weighted_grams(cp: ModuleType, A: DeviceArray, weights: DeviceArray) -> DeviceArray:
    """Return A' diag(w) A (n, m, m) for rows w of the weights, A being (n_rows, m), in doubles.

    Numbers are rounded to half precision, their products are not, and are added up in single
    precision: so the result has no negative eigenvalues but for that.
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


def rounded(cp: ModuleType, A: DeviceArray) -> DeviceArray:
    """Return a matrix in half precision, with as many columns as fast products ask for."""
    n_rows, n_columns = A.shape
    out = cp.zeros((n_rows, ALIGNED * ceil(n_columns / ALIGNED)), dtype=np.float16)
    out[:, :n_columns] = A
    return out


def inner(cp: ModuleType, A: DeviceArray, B: DeviceArray) -> DeviceArray:
    """Return A B' of matrices in half precision, added up in single precision."""
    out = cp.empty((len(A), len(B)), dtype=np.float32)
    (p, m), q = A.shape, len(B)
    _multiply(cp, (TRANSPOSED, PLAIN), (q, p, m), (B[None], m), (A[None], m), (out[None], q))
    return out


def _multiply(
    cp: ModuleType,
    how: tuple[int, int],
    sizes: tuple[int, int, int],
    *matrices: tuple[DeviceArray, int],
) -> None:
    """Multiply matrices (n, ...) of half precision, pair by pair, by cuBLAS.

    It takes them by columns: each comes with the length of what is a row here.
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


def inverse_factors(
    backend: CudaBackend, H: DeviceArray, sizes: DeviceArray | None = None
) -> DeviceArray:
    """Return L^{-1} of matrices H = L L', (n, m, m), all at once, tile by tile; see `factors.cu`.

    Rows from sizes (n,) on are those of the unit matrix, if they are given. The result is in the
    type of H, which is overwritten. Where one has no such L, some of its numbers are not finite.
    """
    cp, (n, m, _) = backend.cupy, H.shape
    real = {"REAL": "float" if H.dtype.char == "f" else "double"}
    update, panel = (backend.kernel("factors.cu", k, 0, {f"ONLY_{k}": 1, **real}) for k in _STEPS)
    A, out = cp.ascontiguousarray(H), cp.zeros(H.shape, dtype=H.dtype)
    own = backend.array(np.full(n, m, np.int32)) if sizes is None else sizes.astype(np.int32)
    same, n_tiles = (A, out, own, np.int32(m)), ceil(m / TILE)
    update((1, n), (THREADS,), (*same, np.int32(-1)))
    for k in range(n_tiles):
        given, left = (*same, np.int32(k)), n_tiles - k - 1
        if n_tiles > 1:
            panel((n_tiles - 1, n), (THREADS,), given)
        if left:
            update((left * (left + 1) // 2 + left * (k + 1), n), (THREADS,), given)
    return out


def twice(backend: CudaBackend, factors: DeviceArray, vectors: DeviceArray) -> DeviceArray:
    """Return M'M v of lower triangular matrices M (n, m, m) and vectors v (n, m)."""
    cp, (n, m) = backend.cupy, vectors.shape
    real = {"REAL": "float" if factors.dtype.char == "f" else "double"}
    v = cp.ascontiguousarray(vectors)
    for name, at_once in (("multiply", THREADS // LANES), ("multiply_transposed", LANES)):
        out = cp.empty((n, m), dtype=factors.dtype)
        kernel = backend.kernel("factors.cu", name, 0, {f"ONLY_{name}": 1, **real})
        kernel((ceil(m / at_once), n), (THREADS,), (factors, v, out, np.int32(m)))
        v = out
    return v
