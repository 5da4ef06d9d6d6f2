"""The values of a matrix that are not zero, column by column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from splinear._types import Floats
from splinear.curves.knots import values_at
from splinear.tables.chunks import Chunk, as_sparse

__all__ = ["Nonzeros"]


@dataclass(frozen=True, eq=False)
class Nonzeros:
    """The values of a matrix that are not zero, column by column, ascending in each.

    `starts` (n_features + 1,) says where each column's begin; `total` is the weight of all up to
    and with each value.
    """

    starts: NDArray[np.int64]
    values: Floats
    total: Floats
    is_weighted: bool = False

    @classmethod
    def of(cls, X: Chunk, weights: Floats | None) -> Nonzeros:
        """Look at X (n, n_features), dense or sparse; rows weigh 1 if `weights` is None.

        Missing values are left out.
        """
        rows = as_sparse(X).astype(np.float64, copy=True)
        rows.data[np.isnan(rows.data)] = 0.0
        rows.eliminate_zeros()
        order = np.argsort(rows.data)
        # One row per value, in their order: by columns that is what lexsort finds in more time.
        one_each = np.arange(len(order) + 1)
        shape = (len(order), rows.shape[1])
        ranked = sparse.csr_array((rows.data[order], rows.indices[order], one_each), shape=shape)
        columns = ranked.tocsc()
        total = np.arange(1.0, len(order) + 1)
        if weights is not None:
            of = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
            total = np.cumsum(weights[of[order[columns.indices]]])
        starts = columns.indptr.astype(np.int64)
        return cls(starts, columns.data, total, is_weighted=weights is not None)

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
        """Return of every column the smallest value that the share of its weight does not exceed.

        0 for a column that has none.
        """
        if not len(self.values):
            return np.zeros(len(self.starts) - 1)
        ends = np.append(0.0, self.total)[self.starts]
        wanted = ends[:-1] + share * np.diff(ends)
        last = np.maximum(self.starts[1:] - 1, 0)
        found = values_at(self.values, self.total, wanted, np.minimum(self.starts[:-1], last), last)
        return np.where(np.diff(self.starts) > 0, found, 0.0)

    def column(self, j: int) -> tuple[Floats, Floats]:
        """Return the values of one column, and the weight of its own up to each."""
        here = slice(self.starts[j], self.starts[j + 1])
        before = self.total[self.starts[j] - 1] if self.starts[j] > 0 else 0.0
        return self.values[here], self.total[here] - before

    def knots(self, columns: NDArray[np.intp], hi: Floats, n_bins: int) -> Floats:
        """Return the `quantile_knots` of some columns over [0, hi], one row each, at once.

        Rows weigh 1. All of the columns have more distinct values than n_bins.
        """
        first, n = self.starts[columns], np.diff(self.starts)[columns]
        number = np.cumsum(self.is_new) - 1  # of the distinct values of all columns
        distinct = self.values[self.is_new]
        last = distinct[number[first + n - 1]]
        n_inside = self.n_distinct[columns] - (last == hi[columns])
        n_half = (n_bins - 1) // 2
        shares = np.arange(1, n_half + 1) / (n_half + 1)
        places = np.clip(np.ceil(n[:, None] * shares).astype(np.int64), 1, n[:, None]) - 1
        ranks = number[first[:, None] + places] - number[first][:, None]
        taken = np.diff(ranks, axis=1, prepend=-1) > 0  # not the same again
        taken &= ranks < n_inside[:, None]
        ranks = np.sort(np.where(taken, ranks, np.iinfo(np.int64).max), axis=1)
        n_others = n_bins - 1 - taken.sum(axis=1)
        others = _spread(n_inside - taken.sum(axis=1), n_others, n_bins - 1)
        for k in range(n_half):  # how many of those that are taken lie before each
            others += ranks[:, [k]] <= others
        all_ranks = np.concatenate([ranks, others], axis=1)
        is_there = np.concatenate([np.sort(~taken, axis=1) == 0, _first(n_others, n_bins - 1)], 1)
        at = np.minimum(number[first][:, None] + all_ranks * is_there, len(distinct) - 1)
        found = np.sort(np.where(is_there, distinct[at], np.inf), axis=1)[:, : n_bins - 1]
        return np.column_stack([np.zeros(len(columns)), found, hi[columns]])


def _first(n: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    """Mark the first n of this many places, one row per n."""
    return np.asarray(np.arange(size) < n[:, None])


def _spread(n: NDArray[np.int64], n_chosen: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return n_chosen numbers below n at equal distances, one row each, then any."""
    steps = np.arange(1, size + 1) * (n + 1.0)[:, None] / (n_chosen + 1.0)[:, None]
    return np.asarray(np.floor(steps - 0.5), dtype=np.int64)
