"""Sparse matrices: by rows as the core reads them, and by columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.sparsefuncs import min_max_axis

from splinear._types import AnyArray, Floats

__all__ = ["Nonzeros", "as_csr", "csr_parts", "is_sparse", "least_nonzero", "ranges"]


def is_sparse(X: Any) -> bool:
    """Tell whether X is a sparse matrix or array of SciPy."""
    return bool(sparse.issparse(X))


def as_csr(X: Any) -> Any:
    """Give a sparse X by rows, in floats, columns ascending, no zeros; X itself if it is so."""
    if hasattr(X, "check_format"):  # the core trusts what it is told of rows and columns
        X.check_format(full_check=True)
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


def ranges(X: Any) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Lowest and highest value of every column of X, dense or sparse, zeros included.

    And which columns have NaN; these are left out of the others, which are NaN if nothing is left.
    """
    if is_sparse(X):
        lo, hi = min_max_axis(X, axis=0, ignore_nan=True)
        has_gap = np.zeros(X.shape[1], dtype=bool)
        has_gap[X.indices[np.isnan(X.data)]] = True
        return lo.astype(np.float64), hi.astype(np.float64), has_gap
    lo, hi = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    has_gap = np.isnan(lo)
    if has_gap.any():
        some = X[:, has_gap]
        lo[has_gap], hi[has_gap] = np.fmin.reduce(some, axis=0), np.fmax.reduce(some, axis=0)
    return lo, hi, has_gap


def least_nonzero(X: Any) -> Floats:
    """Lowest value of every column of X, dense or sparse, zeros left out; infinity if none is."""
    if not is_sparse(X):
        return np.asarray(np.where(X != 0, X, np.inf).min(axis=0), dtype=np.float64)
    columns = X.tocsc()
    out = np.full(columns.shape[1], np.inf)
    some = np.flatnonzero(np.diff(columns.indptr))
    if len(some):
        out[some] = np.minimum.reduceat(columns.data, columns.indptr[some])
    return out


@dataclass(frozen=True, eq=False)
class Nonzeros:
    """The values of a matrix that are not zero, column by column, ascending in each.

    `starts` (n_features + 1,) says where each column's begin; `total` is the weight of all up to
    and with each value.
    """

    starts: NDArray[np.int64]
    values: Floats
    total: Floats

    @classmethod
    def of(cls, X: Any, weights: Floats | None) -> Nonzeros:
        """Look at X (n, n_features), dense or sparse; rows weigh 1 if `weights` is None."""
        columns = sparse.csc_array(X, dtype=np.float64)
        columns.eliminate_zeros()
        starts = columns.indptr.astype(np.int64)
        of = np.repeat(np.arange(columns.shape[1]), np.diff(starts))
        order = np.lexsort((columns.data, of))
        weight = 1.0 if weights is None else weights[columns.indices[order]]
        return cls(starts, columns.data[order], np.cumsum(np.broadcast_to(weight, order.shape)))

    @property
    def is_new(self) -> NDArray[np.bool_]:
        """Mark the first of equal values in a column."""
        new = np.append(True, self.values[1:] != self.values[:-1])[: len(self.values)]
        new[self.starts[:-1][self.starts[:-1] < len(self.values)]] = True
        return new

    @property
    def n_distinct(self) -> NDArray[np.int64]:
        """Number of distinct values of every column."""
        up_to = np.append(0, np.cumsum(self.is_new))
        return np.asarray(up_to[self.starts[1:]] - up_to[self.starts[:-1]])

    def quantile(self, share: float) -> Floats:
        """Give of every column the smallest value that the share of its weight does not exceed.

        0 for a column that has none.
        """
        if not len(self.values):
            return np.zeros(len(self.starts) - 1)
        ends = np.append(0.0, self.total)[self.starts]
        wanted = ends[:-1] + share * np.diff(ends)
        last = np.maximum(self.starts[1:] - 1, 0)
        places = np.clip(
            np.searchsorted(self.total, wanted), np.minimum(self.starts[:-1], last), last
        )
        return np.where(np.diff(self.starts) > 0, self.values[places], 0.0)

    def column(self, j: int) -> tuple[Floats, Floats]:
        """Give the values of one column, and the weight of its own up to each."""
        here = slice(self.starts[j], self.starts[j + 1])
        before = self.total[self.starts[j] - 1] if self.starts[j] > 0 else 0.0
        return self.values[here], self.total[here] - before
