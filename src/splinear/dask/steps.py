"""The steps by which parts are made from partitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from splinear._types import AnyArray, Floats, Input
from splinear.dask.expressions import Node
from splinear.dask.holding import Holding
from splinear.dask.parts import Part
from splinear.dask.reading import Rows, TableReader
from splinear.dask.responses import of_part
from splinear.model.layout import Layout
from splinear.objective.local.memory import MemoryPlan
from splinear.objective.local.pair_rows import PairRows, positions_of
from splinear.objective.loss_sums import LossSum
from splinear.objective.training_set import Response, WeightedRows
from splinear.tables.table import Table
from splinear.terms.pair_group import PairGroup, chains_of

__all__ = ["Coding", "Pose", "WithSurfaces", "WithTable", "WithValues"]

Pose = Callable[[Response, WeightedRows], Sequence[LossSum]]  # makes sums of losses from rows


@dataclass(frozen=True, eq=False)
class Coding:
    """Makes a part from a partition: codes and sums of losses."""

    reader: TableReader
    layout: Layout
    common: Response
    pose: Pose
    seed: int

    def part(
        self,
        table: Table,
        response: Response,
        weights: Floats | None,
        kept: AnyArray | None,
        plan: MemoryPlan | None = None,
    ) -> Part:
        """Return the part of a table of numbers."""
        part = Part.coded(table, self.layout, self.seed, kept, plan)
        weighted = WeightedRows(part.rows, weights, kept)
        return part.with_sums(self.pose(response, weighted), weighted.place_weights())

    def __call__(
        self, part: Holding | None, X: Input, y: Input, weights: Input, offset: Input
    ) -> Holding:
        """Return the coded partition."""
        del part
        rows = Rows.of(X, y, weights, offset, numeric=False)
        table, response = self.reader.table(X), of_part(self.common, rows.y, rows.offset)
        return Holding(partial(self.part, table, response, rows.weights, rows.kept))


@dataclass(frozen=True, eq=False)
class WithValues:
    """Adds scores and the sums of R, computed from X itself."""

    reader: TableReader
    tables: Floats
    R: Node

    def __call__(
        self, part: Holding | None, X: Input, y: Input, weights: Input, offset: Input
    ) -> Holding:
        """Return the extended part."""
        del y, weights, offset
        assert part is not None
        with part.in_use() as own:
            return part.with_values(own.on_values(self.reader.table(X), self.tables, self.R))


@dataclass(frozen=True, eq=False)
class WithTable:
    """Adds X itself to a part."""

    reader: TableReader

    def __call__(
        self, part: Holding | None, X: Input, y: Input, weights: Input, offset: Input
    ) -> Holding:
        """Return the extended part."""
        del y, weights, offset
        assert part is not None
        return part.with_table(self.reader.table(X).whole())


@dataclass(frozen=True, eq=False)
class WithSurfaces:
    """Adds the rows' positions on the chains of surfaces.

    With `at_nodes`, rows are at their nearest nodes, and scores do not include surfaces. No groups
    remove what was added before.
    """

    reader: TableReader
    groups: tuple[PairGroup, ...]
    at_nodes: bool

    def __call__(
        self, part: Holding | None, X: Input, y: Input, weights: Input, offset: Input
    ) -> Holding:
        """Return the extended part."""
        del y, weights, offset
        assert part is not None
        if not self.groups:
            return part.with_surfaces(None, in_scores=True)
        chains = chains_of(self.groups)
        with part.in_use() as own:
            order, n_rows = own.rows.order(), own.n_rows
        positions = positions_of(chains, self.reader.table(X), order, n_rows)
        if self.at_nodes:
            np.rint(positions, out=positions)
        found = PairRows(chains, positions, self.groups)
        return part.with_surfaces(found, in_scores=not self.at_nodes)
