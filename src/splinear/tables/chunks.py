"""Chunks of a table in the form that the core reads: arrays of floats, or CSR matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.sparsefuncs import min_max_axis

from splinear import _core
from splinear._types import AnyArray, Floats, Input

__all__ = [
    "Chunk",
    "as_csr",
    "as_dense",
    "as_floats",
    "as_sparse",
    "csr_parts",
    "dense_columns",
    "float_type",
    "least_nonzero",
    "ranges",
    "sorted_columns",
    "window",
]

Chunk: TypeAlias = AnyArray | sparse.csr_array

DOUBLE = np.dtype(np.float64)


def float_type(*dtypes: np.dtype[np.generic]) -> np.dtype[np.floating]:
    """Return the data type in which numbers of these types are read.

    It is float32 if all have this type, so that they need no copy, and float64 otherwise.
    """
    if len(dtypes) == 1 and dtypes[0] == DOUBLE:
        return DOUBLE
    single = all(dtype.newbyteorder("=") == np.float32 for dtype in dtypes)
    return np.dtype(np.float32) if dtypes and single else DOUBLE


def as_floats(X: AnyArray) -> AnyArray:
    """Return X as an aligned array of floats; X itself if it is one."""
    wanted = float_type(X.dtype)
    return X if X.dtype == wanted and X.flags.aligned else X.astype(wanted)


def sorted_columns(
    X: AnyArray, rows: NDArray[np.integer], columns: NDArray[np.integer], n_threads: int
) -> AnyArray:
    """Return X[rows][:, columns].T with each row sorted in ascending order, NaN last."""
    if X.dtype == float_type(X.dtype) and X.flags.aligned:
        rows, columns = (np.ascontiguousarray(some, dtype=np.int64) for some in (rows, columns))
        found: AnyArray = _core.sorted_columns(X, rows, columns, n_threads)
        return found
    values = X[np.ix_(rows, columns)].T
    out = np.empty(values.shape, dtype=values.dtype)
    for start in range(0, len(out), 8):  # neighboring columns share cache lines
        some = slice(start, start + 8)
        out[some] = values[some]
        out[some].sort(axis=1)
    return out


def window(
    X: AnyArray, rows: NDArray[np.integer], columns: NDArray[np.integer]
) -> tuple[AnyArray, NDArray[np.int64], NDArray[np.int64]]:
    """Return an array for the core, and the indices in it of these rows and columns of X.

    The array is X itself if the core can read it.
    """
    if X.dtype != float_type(X.dtype) or not X.flags.aligned:
        X = as_floats(X[np.ix_(rows, columns)])
        rows, columns = (np.arange(n) for n in X.shape)

    def numbers(some: NDArray[np.integer]) -> NDArray[np.int64]:
        return np.ascontiguousarray(some, dtype=np.int64)

    return X, numbers(rows), numbers(columns)


def as_dense(chunk: Chunk) -> AnyArray:
    """Return a chunk as an array."""
    return chunk.toarray() if isinstance(chunk, sparse.csr_array) else chunk


def as_sparse(chunk: Chunk) -> sparse.csr_array:
    """Return a chunk as a CSR matrix."""
    return chunk if isinstance(chunk, sparse.csr_array) else as_csr(sparse.csr_array(chunk))


def dense_columns(chunk: Chunk) -> Iterator[AnyArray]:
    """Yield the columns of a chunk as dense arrays."""
    if not isinstance(chunk, sparse.csr_array):
        yield from chunk.T
        return
    by_column = chunk.tocsc()
    for k in range(chunk.shape[1]):
        yield by_column[:, [k]].toarray()[:, 0]


def as_csr(given: Input) -> sparse.csr_array:
    """Return a sparse matrix as canonical CSR in floats, without stored zeros."""
    if hasattr(given, "check_format"):  # the core does not check indices itself
        given.check_format(full_check=True)
    X = sparse.csr_array(given)
    if not X.has_canonical_format or not X.data.all():
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    floats: sparse.csr_array = X.astype(float_type(X.dtype), copy=False)
    return floats


def csr_parts(X: sparse.csr_array) -> tuple[NDArray[np.int64], NDArray[np.int32], AnyArray]:
    """Return the row starts, column indices and values in the types that the core reads."""
    return (
        X.indptr.astype(np.int64, copy=False),
        X.indices.astype(np.int32, copy=False),
        np.ascontiguousarray(X.data),
    )


def ranges(chunk: Chunk, n_threads: int = 1) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return the lowest and highest value of every column, and whether it has NaN.

    Zeros of sparse columns count. NaN is ignored; the range of a column with NaN only is NaN.
    """
    if isinstance(chunk, sparse.csr_array):
        lo, hi = min_max_axis(chunk, axis=0, ignore_nan=True)
        has_nan = np.zeros(chunk.shape[1], dtype=bool)
        has_nan[chunk.indices[np.isnan(chunk.data)]] = True
        return lo.astype(np.float64), hi.astype(np.float64), has_nan
    lo, hi, missing = _core.column_ranges(chunk, n_threads)
    empty = lo > hi
    lo[empty], hi[empty] = np.nan, np.nan
    return lo, hi, missing > 0.0


def least_nonzero(chunk: Chunk) -> Floats:
    """Return the lowest non-zero of every column; infinity if there is none."""
    if not isinstance(chunk, sparse.csr_array):
        return np.asarray(np.where(chunk != 0, chunk, np.inf).min(axis=0), dtype=np.float64)
    columns = chunk.tocsc()
    out = np.full(columns.shape[1], np.inf)
    some = np.flatnonzero(np.diff(columns.indptr))
    if len(some):
        out[some] = np.minimum.reduceat(columns.data, columns.indptr[some])
    return out
