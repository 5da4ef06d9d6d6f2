"""Pieces of a table as the core reads them: arrays of floats, or CSR matrices."""

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
    "in_order",
    "least_nonzero",
    "ranges",
    "window",
]

Chunk: TypeAlias = AnyArray | sparse.csr_array

DOUBLE = np.dtype(np.float64)


def float_type(*dtypes: np.dtype[np.generic]) -> np.dtype[np.floating]:
    """Return the type in which numbers of these types are read.

    float32 if all are of that type, so that they need no copy; else float64.
    """
    if len(dtypes) == 1 and dtypes[0] == DOUBLE:
        return DOUBLE
    single = all(dtype.newbyteorder("=") == np.float32 for dtype in dtypes)
    return np.dtype(np.float32) if dtypes and single else DOUBLE


def as_floats(X: AnyArray) -> AnyArray:
    """Return an array as the core reads it; X itself if it is so."""
    wanted = float_type(X.dtype)
    return X if X.dtype == wanted and X.flags.aligned else X.astype(wanted)


def in_order(
    X: AnyArray, rows: NDArray[np.integer], columns: NDArray[np.integer], n_threads: int
) -> AnyArray:
    """Return X[rows][:, columns].T, each column of X in ascending order, NaN last."""
    if X.dtype == float_type(X.dtype) and X.flags.aligned:
        rows, columns = (np.ascontiguousarray(some, dtype=np.int64) for some in (rows, columns))
        found: AnyArray = _core.sorted_columns(X, rows, columns, n_threads)
        return found
    values = X[np.ix_(rows, columns)].T
    out = np.empty(values.shape, dtype=values.dtype)
    for start in range(0, len(out), 8):  # neighbors lie in the same lines of memory
        some = slice(start, start + 8)
        out[some] = values[some]
        out[some].sort(axis=1)
    return out


def window(
    X: AnyArray, rows: NDArray[np.integer], columns: NDArray[np.integer]
) -> tuple[AnyArray, NDArray[np.int64], NDArray[np.int64]]:
    """Return an array that the core reads, and which of its rows and columns are these of X.

    It is X itself, if the core reads that.
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
    """Yield the columns of a chunk, zeros written out, one at a time."""
    if not isinstance(chunk, sparse.csr_array):
        yield from chunk.T
        return
    by_column = chunk.tocsc()
    for k in range(chunk.shape[1]):
        yield by_column[:, [k]].toarray()[:, 0]


def as_csr(given: Input) -> sparse.csr_array:
    """Return a sparse matrix by rows, in floats, columns ascending, without zeros."""
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
    """Return where the rows start, columns and values: as the core reads them."""
    return (
        X.indptr.astype(np.int64, copy=False),
        X.indices.astype(np.int32, copy=False),
        np.ascontiguousarray(X.data),
    )


def ranges(chunk: Chunk, n_threads: int = 1) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return the lowest and highest value of every column, zeros included.

    And which columns have NaN; these are left out of the others, which are NaN if nothing is left.
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
    """Return the lowest value of every column, zeros left out; infinity if none is left."""
    if not isinstance(chunk, sparse.csr_array):
        return np.asarray(np.where(chunk != 0, chunk, np.inf).min(axis=0), dtype=np.float64)
    columns = chunk.tocsc()
    out = np.full(columns.shape[1], np.inf)
    some = np.flatnonzero(np.diff(columns.indptr))
    if len(some):
        out[some] = np.minimum.reduceat(columns.data, columns.indptr[some])
    return out
