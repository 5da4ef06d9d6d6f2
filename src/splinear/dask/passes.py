"""The rows of all workers with the interface of training rows: passes, and a local sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from splinear._types import Floats
from splinear.dask.cluster import Cluster
from splinear.dask.expressions import (
    EXACT,
    PART,
    Call,
    Member,
    Node,
    Scores,
    bare,
    blocks_of,
    in_all,
    row_values,
)
from splinear.dask.reading import TableReader
from splinear.dask.steps import WithSurfaces, WithTable, WithValues
from splinear.losses.curvature import Curvature
from splinear.model.information import Thinned
from splinear.model.layout import Layout
from splinear.objective.local.memory import MemoryPlan
from splinear.objective.local.pair_rows import PRICE
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.loss_sums import LossSum
from splinear.objective.rows import ThinnedProducts
from splinear.tables.table import Table
from splinear.terms.pair_group import PairGroup, split_blocks

__all__ = ["RemotePairs", "RemoteRows"]


@dataclass(frozen=True, eq=False)
class RemoteRows:
    """The counterpart of `objective.local.training_rows.TrainingRows` for rows held by workers.

    Arrays with one value per row are lazy expressions (`splinear.dask.expressions`); sums over rows
    are passes over all parts.
    """

    cluster: Cluster
    layout: Layout
    n_rows: int
    total: float  # weight of all rows
    reader: TableReader
    seed: int = 0
    is_coded: bool = True
    is_exact: bool = False
    pairs: RemotePairs | None = None

    is_here = False
    inverts = False
    is_on_disk = False
    value_price = 2.0
    plan = MemoryPlan()

    @property
    def n_values(self) -> int:
        """Number of values read per pass, estimated from the sample."""
        sample = self.cluster.sample
        return sample.rows.n_values * self.n_rows // max(sample.n_rows, 1)

    @property
    def n_sampled(self) -> int:
        """Number of rows of the local sample."""
        return self.cluster.sample.n_rows

    def with_layout(self, layout: Layout) -> RemoteRows:
        """Return the rows with a layout of the same groups."""
        return replace(self, layout=layout)

    def grids(self, groups: Sequence[PairGroup]) -> RemotePairs:
        """Return surfaces on which every row is at its nearest node, to find interactions."""
        self.cluster.hold(WithSurfaces(self.reader, tuple(groups), at_nodes=True))
        return RemotePairs(self.cluster, tuple(groups))

    def placed(self, groups: tuple[PairGroup, ...], table: Table) -> RemotePairs:
        """Compute the rows' positions on surfaces, on the workers and for the sample.

        `table` is that of the sample.
        """
        own = self.first(self.n_rows).placed(groups, table)
        self.cluster.hold(WithSurfaces(self.reader, groups, at_nodes=False))
        self.cluster.sample = self.cluster.sample.with_surfaces(own, in_scores=True)
        return RemotePairs(self.cluster, groups)

    def with_pairs(self, layout: Layout, pairs: RemotePairs) -> RemoteRows:
        """Return the rows with a layout that has surfaces as well."""
        return replace(self, layout=layout, pairs=pairs)

    def without_pairs(self) -> RemoteRows:
        """Return the rows without surfaces, which workers forget."""
        self.cluster.hold(WithSurfaces(self.reader, (), at_nodes=False))
        self.cluster.sample = self.cluster.sample.with_surfaces(None, in_scores=True)
        return replace(self, layout=self.layout.with_pairs([]), pairs=None)

    def adopted(self, total: LossSum) -> LossSum:
        """Return a sum of losses unchanged, because it is over all parts already."""
        return total

    def exactly(self) -> RemoteRows:
        """Return the rows in full precision; workers read X when it is first needed."""
        return replace(self, is_coded=False, is_exact=True)

    @property
    def _own(self) -> Node:
        """The node of the rows; if they are exact, workers hold X in full precision from now on."""
        if not self.is_exact:
            return PART
        if not self.cluster.has_values:
            self.cluster.hold(WithTable(self.reader))
            self.cluster.has_values = True
        return EXACT

    def first(self, n: int) -> TrainingRows:
        """Return the first n rows of the local sample."""
        own = self.cluster.sample.exact if self.is_exact else self.cluster.sample
        return own.rows.with_layout(self.layout).first(n)

    def sampled(
        self, curvature: Curvature, n: int, n_threads: int = 1
    ) -> tuple[TrainingRows, Curvature]:
        """Return n rows of the sample, and second derivatives weighted to represent all rows."""
        del n_threads
        n = min(n, self.n_sampled)
        return self.first(n), curvature.some(np.arange(n), np.full(n, self.n_rows / n))

    def inverse(self, *at: object) -> None:
        """Return None: solvers precondition these rows by those of the sample."""

    def thinned(self, how: Thinned, n: int, n_threads: int) -> ThinnedProducts:
        """Return the function of `TrainingRows.thinned` for rows of the sample."""
        return self.first(n).thinned(how, n, n_threads)

    def scores(self, parameters: Floats, n_threads: int = 1) -> Floats:
        """Return the scores of all rows, as a lazy array."""
        del n_threads
        return row_values(
            self.cluster,
            Scores(self.layout.tables(parameters), np.zeros(len(parameters)), self._own),
        )

    def zero_scores(self, n_outputs: int) -> Floats:
        """Return the scores for parameters that are all 0."""
        return self.scores(np.zeros((n_outputs, self.layout.n_parameters)))

    def sums(self, R: Floats, n_threads: int = 1) -> Floats:
        """Return the gradient of sum(R * scores) with respect to parameters."""
        return self.layout.gather(self.raw_sums(R, n_threads))

    def raw_sums(self, R: Floats, n_threads: int = 1) -> Floats:
        """Return the gradient with respect to tables; the same pass sums R over rows."""
        del n_threads
        node: Node = bare(R)
        known = self.cluster.cached(node.key)
        if "sums" not in known:
            sums, own = self.cluster.add_up(Call(self._own, "raw_sums", (node,)), in_all(node))
            known.update(sums=sums, in_all=own)
        return known["sums"].copy()

    def blocks(self, H: Floats, n_threads: int = 1) -> list[list[Floats]]:
        """Return the diagonal blocks of sum_i h_i B_i B_i' for each row h of H and each group.

        The same pass sums H over rows.
        """
        del n_threads
        node, rows = bare(H), self._own
        known, name = self.cluster.cached(node.key), blocks_of(rows)
        if name not in known:
            own = self.cluster.add_up(Call(rows, "blocks", (node,)), in_all(node))
            known[name], known["in_all"] = own
        return [split_blocks(own, self.layout.groups) for own in known[name].copy()]

    def on_values(self, parameters: Floats, R: Floats, n_threads: int) -> tuple[Floats, Floats]:
        """Return `scores` and `sums` for X in full precision, reading it once."""
        del n_threads
        self.cluster.hold(WithValues(self.reader, self.layout.tables(parameters), bare(R)))
        values = Member(PART, "values")
        node: Node = bare(R)
        sums, own = self.cluster.add_up(Member(values, "sums"), in_all(node))
        self.cluster.cached(node.key)["in_all"] = own
        return row_values(self.cluster, Member(values, "F")), self.layout.gather(sums)

    def weighted_first(
        self, weights: Floats | None, n: int
    ) -> tuple[RemoteRows | TrainingRows, Floats]:
        """Return n rows of the sample and their weights, or all rows if the sample has fewer.

        `weights` are those of the sample.
        """
        if n <= self.n_sampled < self.n_rows:
            return self.first(self.n_sampled).weighted_first(weights, n)
        return self, row_values(self.cluster, Member(PART, "row_weights"))

    def with_gap_means(self) -> RemoteRows:
        """Return the rows with m_j, the mean of the basis, of groups that have gaps."""
        if not any(group.has_gaps for group in self.layout.groups):
            return self
        _, weights = self.weighted_first(None, self.n_rows)
        sums = self.layout.split(self.raw_sums(weights[None])[0])
        pairs = zip(self.layout.groups, sums, strict=True)
        own = [part if group.has_gaps else None for group, part in pairs]
        return self.with_layout(self.layout.with_gap_means(own, self.total))


@dataclass(frozen=True, eq=False)
class RemotePairs:
    """The counterpart of `objective.local.pair_rows.PairRows` for rows held by workers."""

    cluster: Cluster
    groups: tuple[PairGroup, ...]

    price = PRICE

    @property
    def n_pairs(self) -> int:
        """Number of surfaces."""
        return sum(group.n_pairs for group in self.groups)

    def sums(self, R: Floats, n_threads: int) -> Floats:
        """Return the gradient of sum(R * scores) with respect to tables, (n_outputs, n_nodes)."""
        del n_threads
        return self.cluster.add_up(Call(Member(PART, "surfaces"), "sums", (bare(R), 1)))[0]

    def blocks(self, H: Floats, n_threads: int) -> list[list[Floats]]:
        """Return the diagonal blocks of sum_i h_i B_i B_i' for each row h of H and each group."""
        del n_threads
        [flat] = self.cluster.add_up(Call(PART, "surface_blocks", (bare(H),)))
        return [split_blocks(own, self.groups) for own in flat]
