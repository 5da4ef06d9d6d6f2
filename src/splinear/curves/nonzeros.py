"""The values of a matrix that are not zero, column by column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from splinear._types import Floats
from splinear.curves.knots import values_at
from splinear.tables.chunks import Chunk

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

    @classmethod
    def of(cls, X: Chunk, weights: Floats | None) -> Nonzeros:
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
