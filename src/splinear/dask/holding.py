"""Parts as workers hold them between passes: in memory while there is room, then in files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from functools import partial

from splinear._types import AnyArray, Floats
from splinear.dask.parts import OnValues, Part
from splinear.dask.storing import Kept, Room, mapped_codes

__all__ = ["Holding"]


class Holding:
    """A part that a worker holds.

    Where there is no room for it in memory, its codes are in a file, of which little is in memory
    at a time; all else that its rows have is read from a file in every pass, and scores are not
    kept from one pass to the next.
    """

    def __init__(self, part: Part) -> None:
        room = Room.here()
        self._part: Part | None = part
        self._values: Kept[OnValues] | None = None
        self._table: Kept[AnyArray] | None = None
        self._exact: Part | None = None
        if not room.take(part.n_bytes, part):  # which copies of this share
            groups = part.rows.layout.groups
            pairs = zip(part.arrays(), groups, strict=True)
            self._codes = [mapped_codes(own, group, room) for own, group in pairs]
            self._rows = part.over(self._codes).rows
            self._rest = Kept((part.fresh_sums(), part.weights), part.n_bytes)
            self._part = None

    @contextmanager
    def in_use(self) -> Iterator[Part]:
        """Yield the part, for a pass."""
        part = self._part
        if part is None:
            part = Part(self._codes, self._rows, *self._rest.get())
        if self._values is not None or self._table is not None:
            part = copy(part)
            part.read_values = None if self._values is None else self._values.get
            part.read_exact = partial(self._exactly, part)
        yield part

    def _exactly(self, part: Part) -> Part:
        """Return the rows in full precision: made once, if X is in memory, or for this pass."""
        if self._exact is not None:
            return self._exact
        assert self._table is not None
        exact = part.exactly(self._table.get())
        part.read_exact = lambda: exact
        if self._table.is_in_memory:
            self._exact = exact
        return exact

    def with_values(self, values: OnValues) -> Holding:
        """Return the part with what was computed from X itself."""
        other = copy(self)
        other._values = Kept(values, values.F.nbytes)
        return other

    def with_table(self, X: Floats) -> Holding:
        """Return the part with X itself, as numbers."""
        other = copy(self)
        other._table = Kept(X, 2 * X.nbytes)  # and once more as the core reads it
        return other
