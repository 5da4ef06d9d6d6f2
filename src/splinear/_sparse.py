"""Sparse matrices: by rows as the core reads them, and by columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.sparsefuncs import min_max_axis

from splinear._types import AnyArray, Floats

__all__ = ["as_csr", "csr_parts", "is_sparse", "nonzeros_by_column", "ranges"]


def is_sparse(X: Any) -> bool:
    """Tell whether X is a sparse matrix or array of SciPy."""
    return bool(sparse.issparse(X))


def as_csr(X: Any) -> Any:
    """Give a sparse X by rows, in floats, columns ascending, no zeros; X itself if it is so."""
    X = X.tocsr()
    wanted = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    if not X.has_canonical_format or not X.data.all():
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    return X.astype(wanted, copy=False)


def csr_parts(X: Any) -> tuple[NDArray[np.int64], NDArray[np.int32], AnyArray]:
    """Give where the rows start, columns and values: as the core reads them."""
    return (
        X.indptr.astype(np.int64, copy=False),
        X.indices.astype(np.int32, copy=False),
        np.ascontiguousarray(X.data),
    )


def ranges(X: Any) -> tuple[Floats, Floats]:
    """Lowest and highest value of every column, zeros included; NaN if there is one."""
    lo, hi = min_max_axis(X, axis=0)
    return lo.astype(np.float64), hi.astype(np.float64)


def nonzeros_by_column(X: Any) -> tuple[NDArray[np.int64], Floats]:
    """Give the values of X that are not zero, column by column, ascending in each.

    X may be dense. Returns where each column starts, (n_features + 1,), and the values.
    """
    columns = sparse.csc_array(X, dtype=np.float64)
    columns.eliminate_zeros()
    starts = columns.indptr.astype(np.int64)
    of = np.repeat(np.arange(columns.shape[1]), np.diff(starts))
    return starts, columns.data[np.lexsort((columns.data, of))]
