"""The random order of the rows of training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from splinear._types import AnyArray

__all__ = ["Order", "divided"]

STREAM = 0x5EED
_FEW = 2**20  # rows whose order may take twice the memory for a moment
_STEP = 2**18  # rows at a time, where NumPy would make an index of 8 bytes for each


@dataclass(frozen=True, eq=False)
class Order:
    """A random place for every row that counts; NOWHERE, the largest number, for the others."""

    places: AnyArray
    n_rows: int  # that count

    @classmethod
    def draw(cls, n: int, kept: AnyArray | None, seed: int) -> Order:
        """Draw the order of n rows, of which those in `kept` count, or all."""
        dtype = np.uint32 if n < 2**32 - 1 else np.uint64
        n_rows = n if kept is None else int(np.count_nonzero(kept))
        # NumPy shuffles what is as long as a pointer faster, in the same way.
        shuffled = np.arange(n_rows, dtype=np.intp if n <= _FEW else dtype)
        # A stream of its own: data shuffled with the same seed must not come out in order.
        np.random.default_rng([seed, STREAM]).shuffle(shuffled)
        shuffled = shuffled.astype(dtype, copy=False)
        if kept is None:
            return cls(shuffled, n_rows)
        places = np.full(n, np.iinfo(dtype).max, dtype=dtype)
        places[kept] = shuffled
        return cls(places, n_rows)

    def of(self, rows: slice) -> NDArray[np.int64]:
        """Return the places of some rows, -1 for those that do not count."""
        places = self.places[rows]
        out = places.astype(np.int64)
        if not self._has_all:
            out[places == np.iinfo(places.dtype).max] = -1
        return out

    def place(self, values: AnyArray) -> AnyArray:
        """Return one value per row, in the order of training."""
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
        """Undo place(); rows that do not count get 0."""
        out = np.zeros(len(self.places), dtype=values.dtype)
        for rows in self._steps():
            places = self.of(rows)
            counts = places >= 0
            out[rows][counts] = values[places[counts]]
        return out

    @property
    def _has_all(self) -> bool:
        """Whether all rows count."""
        return self.n_rows == len(self.places)

    def _steps(self) -> Iterator[slice]:
        for start in range(0, len(self.places), _STEP):
            yield slice(start, start + _STEP)


def divided(rows: slice, step: int) -> list[slice]:
    """Return slices of at most this many rows."""
    starts = range(rows.start, rows.stop, step)
    return [slice(start, min(start + step, rows.stop)) for start in starts]
