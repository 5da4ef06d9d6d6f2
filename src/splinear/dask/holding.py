"""Parts between passes: in a worker's memory while there is room, and then in files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy

import numpy as np

from splinear.dask.parts import OnValues, Part
from splinear.dask.storing import IN_USE, Kept, Room, mapped_codes
from splinear.losses.base import Loss
from splinear.objective.local.memory import MemoryPlan
from splinear.objective.local.pair_rows import PairRows
from splinear.tables.chunks import Chunk

__all__ = ["Holding"]


class Holding:
    """A part held by a worker.

    Parameters
    ----------
    make : callable
        make(None) returns the part in memory; make(plan) returns a sparse part with its non-zeros
        in a file.

    If there is no room in memory, the codes are in a memory-mapped file. Everything else is read
    from a file in every pass, and scores are not kept between passes.
    """

    def __init__(self, make: Callable[[MemoryPlan | None], Part]) -> None:
        room, part = Room.here(), make(None)
        self._part: Part | None = part
        self._values: Kept[OnValues] | None = None
        self._table: Kept[Chunk] | None = None
        self._surfaces: Kept[PairRows] | None = None
        self._in_scores = False
        self._loss: Loss | None = None  # that of the sums, if it was estimated later
        self._whole: Part | None = None
        if not room.take(part.n_bytes, part):  # copies of this object share the part
            if part.rows.is_coded:
                pairs = zip(part.arrays(), part.rows.layout.groups, strict=True)
                part = part.over([mapped_codes(own, group, room) for own, group in pairs])
            else:
                part = make(MemoryPlan(rows_per_block=IN_USE))
            self._codes, self._rows = part.codes, part.rows
            self._rest = Kept((part.fresh_sums(), part.weights), part.n_bytes)
            self._part = None

    @contextmanager
    def in_use(self) -> Iterator[Part]:
        """Yield the part for a pass; it is assembled once if all of it is in memory."""
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
        if self._loss is not None:
            part = part.with_loss(self._loss)
        part.read_values = None if self._values is None else self._values.get
        part.read_table = None if self._table is None else self._table.get
        return part

    def with_values(self, values: OnValues) -> Holding:
        """Return the part with scores and sums computed from X itself."""
        other = self._copy()
        other._values = Kept(values, values.F.nbytes)
        return other

    def with_table(self, X: Chunk) -> Holding:
        """Return the part with X itself, as numbers."""
        other = self._copy()
        n_bytes = X.nbytes if isinstance(X, np.ndarray) else 12 * X.nnz
        other._table = Kept(X, 2 * n_bytes)  # twice, because the core needs a copy
        return other

    def with_surfaces(self, surfaces: PairRows | None, *, in_scores: bool) -> Holding:
        """Return the part with surfaces; see Part.with_surfaces."""
        other = self._copy()
        kept = None if surfaces is None else Kept(surfaces, surfaces.positions.nbytes)
        other._surfaces, other._in_scores = kept, in_scores
        return other

    def with_loss(self, loss: Loss) -> Holding:
        """Return the part with another loss of its sums."""
        other = self._copy()
        other._loss = loss
        return other

    def _copy(self) -> Holding:
        other = copy(self)
        other._whole = None
        return other
