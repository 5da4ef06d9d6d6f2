"""Parts as workers hold them between passes: in memory while there is room, then in files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy

from splinear._types import AnyArray, Floats
from splinear.dask.parts import OnValues, Part
from splinear.dask.storing import Kept, Room, mapped_codes
from splinear.solvers.pair_rows import PairRows

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
        self._surfaces: Kept[PairRows] | None = None
        self._in_scores = False
        self._whole: Part | None = None
        if not room.take(part.n_bytes, part):  # which copies of this share
            groups = part.rows.layout.groups
            pairs = zip(part.arrays(), groups, strict=True)
            self._codes = [mapped_codes(own, group, room) for own, group in pairs]
            self._rows = part.over(self._codes).rows
            self._rest = Kept((part.fresh_sums(), part.weights), part.n_bytes)
            self._part = None

    @contextmanager
    def in_use(self) -> Iterator[Part]:
        """Yield the part, for a pass; put together once, if all of it is in memory."""
        part = self._whole
        if part is None:
            part = self._put_together()
            more = (self._values, self._table, self._surfaces)
            if self._part is not None and all(own is None or own.is_in_memory for own in more):
                self._whole = part
        yield part

    def _put_together(self) -> Part:
        part = self._part
        part = Part(self._codes, self._rows, *self._rest.get()) if part is None else copy(part)
        if self._surfaces is not None:
            part = part.with_surfaces(self._surfaces.get(), in_scores=self._in_scores)
        part.read_values = None if self._values is None else self._values.get
        part.read_table = None if self._table is None else self._table.get
        return part

    def with_values(self, values: OnValues) -> Holding:
        """Return the part with what was computed from X itself."""
        other = self._copy()
        other._values = Kept(values, values.F.nbytes)
        return other

    def with_table(self, X: Floats) -> Holding:
        """Return the part with X itself, as numbers."""
        other = self._copy()
        other._table = Kept(X, 2 * X.nbytes)  # and once more as the core reads it
        return other

    def with_surfaces(self, surfaces: PairRows, *, in_scores: bool) -> Holding:
        """Return the part with surfaces; see Part.with_surfaces."""
        other = self._copy()
        other._surfaces, other._in_scores = Kept(surfaces, surfaces.positions.nbytes), in_scores
        return other

    def _copy(self) -> Holding:
        other = copy(self)
        other._whole = None
        return other
