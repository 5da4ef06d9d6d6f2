"""Sums of hinge-like losses over the rows of all workers, and the trainer of DaskAdditiveSVC."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from splinear._types import Floats
from splinear.dask.cluster import Cluster
from splinear.dask.expressions import (
    PART,
    Apply,
    Call,
    Done,
    Member,
    Node,
    Scores,
    bare,
    in_all,
    row_values,
)
from splinear.dask.parts import Part
from splinear.dask.passes import RemoteRows
from splinear.estimators.dual import DualTrainer, PassTrainer
from splinear.estimators.trainer import Trained
from splinear.objective.margin_sums import MarginKind, MarginSums, Measures, RowMargins
from splinear.objective.problem import Start, Stopping
from splinear.objective.training_set import TrainingSet, WeightedRows
from splinear.solvers.hinge.ways import has_many_rows
from splinear.tables.opening import open_table

__all__ = ["ClusterTrainer", "RemoteMargins"]


@dataclass(frozen=True)
class ClusterTrainer:
    """Trains by passes over the workers' rows, or locally by dual coordinate descent (`own`).

    With few rows per parameter, classes are usually separable and few rows support the model, which
    suits dual coordinate descent but not passes. If in this case the sample holds all rows, the
    problem is solved locally.
    """

    own: DualTrainer

    def fit(self, data: TrainingSet, stopping: Stopping, starts: list[Start] | None) -> Trained:
        """Train all outputs for C."""
        rows = cast(RemoteRows, data.rows)
        many = has_many_rows(rows.n_rows, rows.layout.n_parameters)
        if many or rows.n_sampled < rows.n_rows or rows.layout.cone is not None:
            return _BY_PASSES.fit(data, stopping, starts)
        sample = rows.cluster.sample
        assert sample.read_table is not None
        here = replace(sample.rows, layout=rows.layout, table=open_table(sample.read_table()))
        own = TrainingSet(WeightedRows(here, data.weighted.weights), data.response)
        return replace(self.own, keep_duals=False).fit(own, stopping, None)


def _margins(data: TrainingSet) -> MarginSums:
    """Return the sums of losses over the rows of all workers."""
    rows = cast(RemoteRows, data.rows)
    like = cast(RowMargins, rows.cluster.sample.sums[0])
    return RemoteMargins(rows.cluster, like, rows.n_rows)


_BY_PASSES = PassTrainer(_margins)


@dataclass(frozen=True, eq=False)
class _Slopes(Node):
    """The gradient of the smoothed sums with respect to the scores F."""

    F: Node
    ramps: Floats

    def of(self, part: Part, done: Done) -> object:
        """Return the derivatives."""
        own = cast(RowMargins, part.sums[0])
        return own.slopes(cast(Floats, self.F.on(part, done)), self.ramps)

    @property
    def key(self) -> Hashable:
        """Equal for equal scores and ramps."""
        return "ramps", self.ramps.tobytes(), self.F.key


@dataclass(frozen=True, eq=False)
class RemoteMargins:
    """The sums of the losses over all parts; `like` holds those over the sample."""

    cluster: Cluster
    like: RowMargins
    n_rows: int

    @property
    def kind(self) -> MarginKind:
        """The loss, the intercepts and the number of sums."""
        return self.like.kind

    def first(self, n: int) -> RowMargins:
        """Return the sums over n rows of the sample, reweighted to the weight of all rows."""
        return replace(self.like, weight=self.n_rows / max(n, 1), n_rows=n)

    def slopes(self, F: Floats, ramps: Floats) -> Floats:
        """Return the gradient of the smoothed sums with respect to F."""
        return row_values(self.cluster, _Slopes(bare(F), ramps.copy()))

    def bends(self, F: Floats, ramps: Floats) -> Floats:
        """Return the second derivatives of the smoothed sums."""
        return row_values(self.cluster, self._called("bends", F, ramps.copy()))

    def measured(self, F: Floats, ramps: Floats) -> Measures:
        """Return the sums of the unsmoothed losses; the same pass sums the slopes by tables."""
        node: Node = bare(F)
        slopes = _Slopes(node, ramps.copy())
        rows = node.rows if isinstance(node, Scores) else PART
        told, sums, of_all = self.cluster.add_up(
            Apply(_flat, (self._called("measured", F, ramps.copy()),)),
            Call(rows, "raw_sums", (slopes,)),
            in_all(slopes),
        )
        self.cluster.cached(slopes.key).update(sums=sums, in_all=of_all)
        return Measures(told[0], told[1], told[2:4].T, told[4:].T)

    def along(self, F: Floats, D: Floats, ramps: Floats, shares: Floats) -> Floats:
        """Return the derivatives in t of the smoothed sums at F + t D."""
        return self.cluster.add_up(self._called("along", F, D, ramps.copy(), shares))[0]

    def gaps(self, F: Floats, R: Floats) -> tuple[Floats, Floats]:
        """Return the sums of the losses at F, and the rows' parts of the gap to R."""
        [found] = self.cluster.add_up(Apply(np.stack, (self._called("gaps", F, R),)))
        return found[0], found[1]

    def _called(self, name: str, *args: Floats) -> Node:
        own = Call(Member(PART, "sums"), "__getitem__", (0,))
        return Call(own, name, tuple(map(bare, args)))


def _flat(found: Measures) -> Floats:
    """Return all measures as one array, (6, n_outputs)."""
    return np.vstack([found.losses, found.parts, found.bent.T, found.centers.T])
