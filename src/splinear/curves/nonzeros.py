"""The non-zeros of a matrix, sorted by column and value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from splinear._types import Floats
from splinear.curves.knots import inward, values_at
from splinear.tables.chunks import Chunk, as_sparse

__all__ = ["Nonzeros"]


@dataclass(frozen=True, eq=False)
class Nonzeros:
    """The non-zeros of a matrix, column by column, ascending within each.

    `starts` (n_features + 1,) holds where each column begins; `total` is the cumulative weight over
    all columns.
    """

    starts: NDArray[np.int64]
    values: Floats
    total: Floats
    is_weighted: bool = False

    @classmethod
    def of(cls, X: Chunk, weights: Floats | None) -> Nonzeros:
        """Return the non-zeros of X (n, n_features), dense or sparse, without missing values.

        Rows have weight 1 if `weights` is None.
        """
        rows = as_sparse(X).astype(np.float64, copy=True)
        rows.data[np.isnan(rows.data)] = 0.0
        rows.eliminate_zeros()
        order = np.argsort(rows.data)
        # A matrix with one row per value, in ascending order: its columns are sorted, which is
        # faster than lexsort.
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
        """Whether each value is the first of equal values in its column."""
        new = np.append(True, self.values[1:] != self.values[:-1])[: len(self.values)]
        new[self.starts[:-1][self.starts[:-1] < len(self.values)]] = True
        return new

    @property
    def n_distinct(self) -> NDArray[np.int64]:
        """Number of distinct non-zeros of every column, (n_features,)."""
        up_to = np.append(0, np.cumsum(self.is_new))
        return np.asarray(up_to[self.starts[1:]] - up_to[self.starts[:-1]])

    def quantile(self, share: float) -> Floats:
        """Return the weighted quantile of the non-zeros of every column, (n_features,).

        It is 0 for a column without non-zeros.
        """
        if not len(self.values):
            return np.zeros(len(self.starts) - 1)
        ends = np.append(0.0, self.total)[self.starts]
        wanted = ends[:-1] + share * np.diff(ends)
        last = np.maximum(self.starts[1:] - 1, 0)
        found = values_at(self.values, self.total, wanted, np.minimum(self.starts[:-1], last), last)
        return np.where(np.diff(self.starts) > 0, found, 0.0)

    def column(self, j: int) -> tuple[Floats, Floats]:
        """Return the values of one column and their cumulative weights within it."""
        here = slice(self.starts[j], self.starts[j + 1])
        before = self.total[self.starts[j] - 1] if self.starts[j] > 0 else 0.0
        return self.values[here], self.total[here] - before

    def knots(self, columns: NDArray[np.intp], hi: Floats, n_bins: int) -> Floats:
        """Return the `quantile_knots` of several columns over [0, hi] at once, one row each.

        Rows must have weight 1, and all columns more distinct values than n_bins.
        """
        first, n = self.starts[columns], np.diff(self.starts)[columns]
        number = np.cumsum(self.is_new) - 1  # index of each value among all distinct values
        distinct = self.values[self.is_new]
        last = distinct[number[first + n - 1]]
        n_inside = self.n_distinct[columns] - (last == hi[columns])
        n_half = (n_bins - 1) // 2
        shares = inward(np.arange(1, n_half + 1) / (n_half + 1))
        places = np.clip(np.ceil(n[:, None] * shares).astype(np.int64), 1, n[:, None]) - 1
        ranks = number[first[:, None] + places] - number[first][:, None]
        taken = np.diff(ranks, axis=1, prepend=-1) > 0  # without repetitions
        taken &= ranks < n_inside[:, None]
        ranks = np.sort(np.where(taken, ranks, np.iinfo(np.int64).max), axis=1)
        n_others = n_bins - 1 - taken.sum(axis=1)
        others = _spread(n_inside - taken.sum(axis=1), n_others, n_bins - 1)
        for k in range(n_half):  # skip the values that are taken already
            others += ranks[:, [k]] <= others
        all_ranks = np.concatenate([ranks, others], axis=1)
        is_there = np.concatenate([np.sort(~taken, axis=1) == 0, _first(n_others, n_bins - 1)], 1)
        at = np.minimum(number[first][:, None] + all_ranks * is_there, len(distinct) - 1)
        found = np.sort(np.where(is_there, distinct[at], np.inf), axis=1)[:, : n_bins - 1]
        return np.column_stack([np.zeros(len(columns)), found, hi[columns]])


def _first(n: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    """Return (len(n), size) booleans, of which row k is True in its first n[k] entries."""
    return np.asarray(np.arange(size) < n[:, None])


def _spread(n: NDArray[np.int64], n_chosen: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return rows of n_chosen equally spaced integers below n; later entries are arbitrary."""
    steps = inward(np.arange(1, size + 1) / (n_chosen + 1.0)[:, None]) * (n + 1.0)[:, None]
    return np.asarray(np.floor(steps - 0.5), dtype=np.int64)
