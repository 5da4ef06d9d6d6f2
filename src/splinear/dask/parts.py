"""A part: the coded rows of one partition on its worker, and their sums of losses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import cast

import numpy as np

from splinear import _core
from splinear._types import AnyArray, Floats
from splinear.dask.expressions import Node
from splinear.losses.base import Loss
from splinear.model.layout import Layout
from splinear.objective.local.coding import code_rows, read_codes
from splinear.objective.local.memory import MemoryPlan
from splinear.objective.local.order import order_of
from splinear.objective.local.pair_rows import PairRows
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.loss_sums import LossSum, Separable, Summed
from splinear.objective.margin_sums import RowMargins
from splinear.tables.chunks import Chunk
from splinear.tables.dense import ArrayTable
from splinear.tables.opening import open_table
from splinear.tables.table import Table

__all__ = ["OnValues", "Part"]

KEPT_SCORES = 2  # cached scores: those of a point and of a direction
NEAR_CODES = 56  # bytes per row and output beyond the codes: scores, derivatives and targets


@dataclass(frozen=True, eq=False)
class OnValues:
    """Scores, and sums with respect to tables, computed from a partition of X itself."""

    F: Floats
    sums: Floats


class Part:
    """The rows of a partition that have a positive weight.

    Attributes
    ----------
    codes : list of ndarray
        The codes of each group of the layout, (n_rows, n_features); empty for sparse rows.
    rows : TrainingRows
        The rows in the core's form.
    sums : list of LossSum
        The sums of losses, or a single RowMargins.
    weights : ndarray of shape (n_rows,) or None
        The weights, in training order.
    surfaces : PairRows or None
        The rows' positions on surfaces, or on the grids from which surfaces are found.
    read_values, read_table : callable or None
        Functions that return `values` and X itself as numbers, if available.
    """

    def __init__(
        self,
        codes: Sequence[_core.Codes],
        like: TrainingRows,
        sums: Sequence[LossSum],
        weights: Floats | None,
    ) -> None:
        self.codes, self.rows, self.sums, self.weights = list(codes), like, list(sums), weights
        self.surfaces: PairRows | None = None
        self.read_values: Callable[[], OnValues] | None = None
        self.read_table: Callable[[], Chunk] | None = None
        self._exact: Part | None = None
        self._scores: list[tuple[bytes, Floats]] = []
        self._other_sums: dict[int, LossSum] = {}

    @classmethod
    def coded(
        cls,
        table: Table,
        layout: Layout,
        seed: int,
        kept: AnyArray | None,
        plan: MemoryPlan | None = None,
        *,
        by_content: bool = False,
    ) -> Part:
        """Return a part with the rows of a table as codes or non-zeros, still without sums.

        `by_content` is that of `TrainingRows.prepare`.
        """
        if table.is_sparse:
            rows = TrainingRows.prepare(
                table, layout, seed=seed, kept=kept, plan=plan, by_content=by_content
            )
            return cls([], replace(rows, layout=layout, table=_nowhere(layout)), [], None)
        order = order_of(table, kept, seed, None, layout if by_content else None)
        codes = code_rows(table, layout, order, MemoryPlan(), n_threads=1)
        rows = _rows(codes, layout, kept, table.shape[0], seed)
        return cls(codes, replace(rows, _held=order) if order.by_content else rows, [], None)

    def with_sums(self, sums: Sequence[LossSum], weights: Floats | None) -> Part:
        """Return the part with sums of losses and weights."""
        return Part(self.codes, self.rows, sums, weights)

    def with_loss(self, loss: Loss) -> Part:
        """Return the part with another loss of its sums."""
        other = copy(self)
        other.sums, other._other_sums = [total.by(loss) for total in self.sums], {}
        return other

    def sum_of(self, k: int, loss: Loss | None) -> LossSum:
        """Return sum number k, of another loss unless it is None; the last one is cached.

        A loss with shared parameters keeps them: they are the best ones for all parts.
        """
        if loss is None:
            return self.sums[k]
        known = self._other_sums.get(k)
        if known is None or known.loss != loss:
            known = self.sums[k].by(loss)
            if loss.n_shared:
                known = replace(cast(Summed, known), is_held=True)
            self._other_sums[k] = known
        return known

    def over(self, codes: Sequence[_core.Codes]) -> Part:
        """Return the part with the same codes stored elsewhere."""
        rows = replace(self.rows, parts=tuple(read_codes(codes, self.rows.layout)))
        return Part(codes, rows, self.sums, self.weights)

    def with_surfaces(self, surfaces: PairRows | None, *, in_scores: bool) -> Part:
        """Return the part with surfaces, which are part of the model's scores if `in_scores`.

        None removes them.
        """
        other = copy(self)
        other.surfaces = surfaces
        if in_scores:
            other.rows, other._exact = replace(self.rows, pairs=surfaces), None
        return other

    def arrays(self) -> list[AnyArray]:
        """Return the codes of every group as arrays."""
        return [np.asarray(own.array) for own in self.codes]

    def fresh_sums(self) -> list[LossSum]:
        """Return the sums without their cached values."""
        return [_fresh(total) for total in self.sums]

    @property
    def values(self) -> OnValues:
        """The scores and sums computed from X itself."""
        assert self.read_values is not None
        return self.read_values()

    @property
    def exact(self) -> Part:
        """The same rows in full precision, without sums."""
        if self._exact is None:
            assert self.read_table is not None
            rows = replace(self.rows, table=open_table(self.read_table())).exactly()
            self._exact = Part([], rows, [], None)
        return self._exact

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.rows.n_rows

    @property
    def row_weights(self) -> Floats:
        """The weight of every row."""
        return np.ones(self.n_rows) if self.weights is None else self.weights

    def scores(self, tables: Floats, intercepts: Floats) -> Floats:
        """Return the scores (n_outputs, n_rows) for tables; the last few are cached."""
        key = blake2b(tables.tobytes() + intercepts.tobytes(), digest_size=16).digest()
        for k, (known, F) in enumerate(self._scores):
            if known == key:
                self._scores.insert(0, self._scores.pop(k))
                return F
        F = self.rows.table_scores(np.ascontiguousarray(tables))
        F += intercepts[:, None]
        self._scores[:] = [(key, F), *self._scores[: KEPT_SCORES - 1]]
        return F

    def raw_sums(self, R: Floats) -> Floats:
        """Return the gradient of sum(R * scores) with respect to tables, R (n_outputs, n_rows)."""
        return self.rows.raw_sums(R)

    def blocks(self, H: Floats) -> Floats:
        """Return TrainingRows.blocks as one array, (n_outputs, n)."""
        return np.stack([np.concatenate([b.ravel() for b in own]) for own in self.rows.blocks(H)])

    def surface_blocks(self, H: Floats) -> Floats:
        """Return PairRows.blocks as one array, (n_outputs, n)."""
        assert self.surfaces is not None
        found = self.surfaces.blocks(H, 1)
        return np.stack([np.concatenate([b.ravel() for b in own]) for own in found])

    def on_values(self, table: Table, tables: Floats, R: Node) -> OnValues:
        """Return the scores of X itself, and the sums of R over its rows."""
        slopes = np.asarray(R.on(self, {}))
        F, sums = np.empty_like(slopes), np.zeros_like(tables)
        for piece in replace(self.rows, table=table).values():
            F[:, piece.places] = piece.table_scores(tables, 1)
            sums += piece.raw_sums(slopes[:, piece.places], 1)
        return OnValues(F, sums)

    @property
    def n_bytes(self) -> int:
        """Size in memory, in bytes."""
        near = NEAR_CODES * sum(total.n_outputs for total in self.sums) * self.n_rows
        if not self.rows.is_coded:
            return near + 8 * (self.rows.n_values + self.n_rows)
        return near + sum(own.nbytes for own in self.arrays())


def _rows(
    codes: Sequence[_core.Codes], layout: Layout, kept: AnyArray | None, n_given: int, seed: int
) -> TrainingRows:
    """Return coded rows without their table."""
    parts = read_codes(codes, layout)
    n_values = n_given * sum(group.n_features for group in layout.groups)
    return TrainingRows(
        tuple(parts), layout, kept, n_given, seed, n_values, is_coded=True, table=_nowhere(layout)
    )


def _nowhere(layout: Layout) -> Table:
    """Return a table without rows, in place of X, which is not kept."""
    return ArrayTable(np.empty((0, layout.n_columns)))


def _fresh(total: LossSum) -> LossSum:
    """Return a sum without its cached values, which are compiled or as long as the rows."""
    if isinstance(total, Separable):
        return replace(total, _known={})
    if isinstance(total, RowMargins):
        return cast(LossSum, replace(total))
    assert isinstance(total, Summed)
    return replace(total, _known=[])
