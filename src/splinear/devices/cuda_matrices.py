"""Products and factors of matrices on a GPU, by the libraries that come with CUDA."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["inverse_factors", "weighted_grams"]

PLAIN, TRANSPOSED = 0, 1  # of cuBLAS
HALF, SINGLE = 2, 0  # types of numbers
IN_SINGLE, BY_DEFAULT = 68, -1  # how it is added up, and by which algorithm


def weighted_grams(cp: Any, A: Any, weights: Any) -> Any:
    """Return A' diag(w) A (n, m, m) for rows w of the weights, A being (n_rows, m), in doubles.

    Numbers are rounded to half precision, their products are not, and are added up in single
    precision: so the result has no negative eigenvalues but for that.
    """
    m = A.shape[1]
    largest = cp.maximum(weights.max(axis=1), np.finfo(np.float32).tiny)
    roots = cp.sqrt(weights / largest[:, None]).astype(np.float32)
    unit = cp.maximum(abs(A).max(), np.float32(1e-30))
    out = cp.empty((len(weights), m, m), dtype=np.float32)
    for root, to in zip(roots, out, strict=True):
        _gram(cp, (A * (root / unit)[:, None]).astype(np.float16), to)
    return out * (largest * unit.astype(np.float64) ** 2)[:, None, None]


def _gram(cp: Any, A: Any, out: Any) -> None:
    """Write A'A to out."""
    cublas, (n_rows, m) = cp.cuda.cublas, A.shape
    handle = cp.cuda.device.get_cublas_handle()
    one, zero = np.array(1.0, dtype=np.float32), np.array(0.0, dtype=np.float32)
    cublas.setStream(handle, cp.cuda.get_current_stream().ptr)
    cublas.gemmEx(
        handle, PLAIN, TRANSPOSED, m, m, n_rows,
        one.ctypes.data, A.data.ptr, HALF, m, A.data.ptr, HALF, m,
        zero.ctypes.data, out.data.ptr, SINGLE, m, IN_SINGLE, BY_DEFAULT,
    )  # fmt: skip


def inverse_factors(cp: Any, H: Any) -> Any:
    """Return L^{-1} of matrices H = L L', (n, m, m).

    Where one has no such L, some of its numbers are not finite. One after the other: on several
    streams at the same time they took as long, and bits differed.
    """
    from cupyx import errstate
    from cupyx.scipy.linalg import solve_triangular

    out, unit = cp.empty_like(H), cp.eye(H.shape[1])
    with errstate(linalg="ignore"):
        for own, to in zip(H, out, strict=True):
            L = cp.linalg.cholesky(own)
            to[...] = solve_triangular(L, unit, lower=True, check_finite=False)
            failed = (cp.diagonal(L) <= 0.0).any() | cp.isnan(L).any()
            to[0, 0] = cp.where(failed, np.nan, to[0, 0])
    return out
