"""The random order of the training rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from splinear._types import AnyArray, Floats
from splinear.model.layout import Layout
from splinear.tables.chunks import as_dense
from splinear.tables.table import Table

__all__ = ["Order", "divided", "end_of_group", "order_of"]

STREAM = 0x5EED
MOST_KEYED = 2**22  # values of tables whose training order may depend on their content alone
_FEW = 2**20  # rows up to which drawing the order may take twice the memory
_STEP = 2**18  # rows per batch, because NumPy creates an index of 8 bytes per row


@dataclass(frozen=True, eq=False)
class Order:
    """A random place for every row with a positive weight.

    `places` (n,) holds the largest number of its type for the other rows; `n_rows` rows have a
    place.
    """

    places: AnyArray
    n_rows: int
    by_content: bool = False  # whether it is that of the rows' values, and not drawn from a seed

    @classmethod
    def draw(
        cls,
        n: int,
        kept: AnyArray | None,
        seed: int,
        groups: NDArray[np.intp] | None = None,
        keys: Floats | None = None,
    ) -> Order:
        """Draw the order of n rows; only those in `kept`, unless it is None, get a place.

        Rows of one of the `groups` (n,) come one after the other, so that the first rows are a
        sample of groups. With `keys` (n_rows,), the order in which rows are given does not matter.
        """
        dtype = np.uint32 if n < 2**32 - 1 else np.uint64
        n_rows = n if kept is None else int(np.count_nonzero(kept))
        # NumPy shuffles items of pointer size faster, with the same result.
        shuffled = np.arange(n_rows, dtype=np.intp if n <= _FEW else dtype)
        # A stream of its own, so that data shuffled with the same seed are not put back in order.
        random = np.random.default_rng([seed, STREAM])
        random.shuffle(shuffled)
        if keys is not None:
            rank = np.empty_like(shuffled)
            rank[np.argsort(keys, kind="stable")] = shuffled
            shuffled = rank
        if groups is not None:
            own = groups if kept is None else groups[kept]
            rank = random.permutation(int(own.max(initial=-1)) + 1)[own]
            shuffled[np.lexsort((shuffled, rank))] = np.arange(n_rows)
        shuffled = shuffled.astype(dtype, copy=False)
        if kept is None:
            return cls(shuffled, n_rows, keys is not None)
        places = np.full(n, np.iinfo(dtype).max, dtype=dtype)
        places[kept] = shuffled
        return cls(places, n_rows, keys is not None)

    def of(self, rows: slice) -> NDArray[np.int64]:
        """Return the places of a slice of rows; -1 for rows of weight 0."""
        places = self.places[rows]
        out = places.astype(np.int64)
        if not self._has_all:
            out[places == np.iinfo(places.dtype).max] = -1
        return out

    def place(self, values: AnyArray) -> AnyArray:
        """Return values (n,), one per row of X, in training order, (n_rows,)."""
        out = np.empty(self.n_rows, dtype=values.dtype)
        for rows in self._steps():
            if self._has_all:
                out[self.places[rows]] = values[rows]
                continue
            places = self.of(rows)
            counts = places >= 0
            out[places[counts]] = values[rows][counts]
        return out

    def restore(self, values: AnyArray) -> AnyArray:
        """Return values in the order of X, the inverse of `place`; 0 for rows of weight 0."""
        out = np.zeros(len(self.places), dtype=values.dtype)
        for rows in self._steps():
            places = self.of(rows)
            counts = places >= 0
            out[rows][counts] = values[places[counts]]
        return out

    @property
    def _has_all(self) -> bool:
        """Whether all rows have a place."""
        return self.n_rows == len(self.places)

    def _steps(self) -> Iterator[slice]:
        for start in range(0, len(self.places), _STEP):
            yield slice(start, start + _STEP)


def order_of(
    X: Table,
    kept: AnyArray | None,
    seed: int,
    groups: NDArray[np.intp] | None,
    layout: Layout | None = None,
) -> Order:
    """Return the training order of a table.

    With a layout, the order of the rows of a small table does not matter.
    """
    keys = None
    if layout is not None and X.shape[0] * X.shape[1] <= MOST_KEYED:
        keys = _keys_of(X, layout, kept)
    return Order.draw(X.shape[0], kept, seed, groups, keys)


def _keys_of(X: Table, layout: Layout, kept: AnyArray | None) -> Floats:
    """Return a number for every row of X in `kept`, (n_rows,), which tells most rows apart.

    It is that of any other order of the rows, units of the columns, and signs. Rows that are held
    out decide between models that may differ much; it would be odd if shuffling X changed which.
    The ranges of columns are those of the layout.
    """
    columns, first = np.unique(layout.curve_features, return_index=True)
    axes = [group.embedding.axes for group in layout.groups]
    lo = np.concatenate([np.zeros(0), *(own.lo for own in axes)])[first]
    hi = np.concatenate([np.zeros(0), *(own.hi for own in axes)])[first]
    varies = hi > lo  # columns of zeros change nothing
    weights = np.zeros(len(columns))
    weights[varies] = np.random.default_rng(STREAM).random(int(varies.sum()))
    keys = np.empty(X.shape[0])
    for rows, values in _dense_chunks(X, columns):
        with np.errstate(all="ignore"):  # constant columns, and the largest numbers
            each = hi - values
            np.subtract(values - lo, each, out=each)
            np.abs(each, out=each)
            each /= hi - lo
            if not np.isfinite(each).all():
                np.nan_to_num(each, copy=False, nan=2.0, posinf=0.0)
        each *= weights
        # Not a matrix product, whose last digits depend on the number of rows in a chunk.
        np.add.reduce(each, axis=1, out=keys[rows])
    return keys if kept is None else keys[kept]


def _dense_chunks(X: Table, columns: AnyArray) -> Iterator[tuple[slice, Floats]]:
    """Yield chunks of rows as double precision, in C order."""
    for rows, chunk in X.chunks(columns):
        yield rows, np.ascontiguousarray(as_dense(chunk), dtype=np.float64)


def end_of_group(groups: AnyArray, n: int) -> int:
    """Return the smallest number of rows, at least n, after which another group begins."""
    ends = np.append(np.flatnonzero(groups[1:] != groups[:-1]) + 1, len(groups))
    return int(ends[min(int(np.searchsorted(ends, n)), len(ends) - 1)])


def divided(rows: slice, step: int) -> list[slice]:
    """Split a slice into slices of at most `step` rows."""
    starts = range(rows.start, rows.stop, step)
    return [slice(start, min(start + step, rows.stop)) for start in starts]
