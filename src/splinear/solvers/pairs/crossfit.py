"""Models of curves that are each trained without some of the rows, on which pairs are tested.

On the rows that a model was trained on, the derivatives of the losses say too little (several
classes are often nearly separated there) or too much (the effects of a category's levels were
estimated from the same noise). So the rows are divided into folds, and every row is seen by a model
that was trained without its fold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from splinear._types import Floats
from splinear.objective.local.pair_rows import standardized
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.loss_sums import LossSum
from splinear.objective.objective import Objective
from splinear.objective.point import Point
from splinear.objective.problem import Start, Stopping
from splinear.objective.training_set import TrainingSet
from splinear.solvers import newton
from splinear.terms.group import split_by
from splinear.terms.pair_group import Chain, PairGroup

__all__ = ["CrossFit", "Derivatives", "grid_evidence", "is_worth_a_pass"]

N_FOLDS = 3
TOL = 1e-2  # of models that are only compared with each other

Derivatives = list[tuple[Floats, Floats]]  # of every sum of losses: g and h, (n_outputs, n_rows)
MOST_PAIRS = 2**14  # summed over all rows: 64 MB, for 16 x 16 cells of two numbers


@dataclass(frozen=True, eq=False)
class CrossFit:
    """The rows, divided into folds, and the curves of all but one fold.

    Attributes
    ----------
    data : TrainingSet
        A sample of the rows, in this process, with the smoothness of the curves.
    fold : ndarray of shape (n_rows,)
        The fold of each row, in training order.
    parts : list of TrainingSet
        For each fold, the set with a weight of 0 in its rows.
    points : list of list of Point
        For each fold, the curves trained on its part, one point per sum of losses.
    """

    data: TrainingSet
    fold: NDArray[np.int8]
    parts: list[TrainingSet]
    points: list[list[Point]]

    @classmethod
    def train(
        cls,
        data: TrainingSet,
        starts: Sequence[Start],
        stopping: Stopping,
        n_folds: int = N_FOLDS,
    ) -> CrossFit:
        """Train the curves without each fold in turn, from the curves of all rows."""
        given = folds_of(data, n_folds)
        fold = data.rows.place(given)
        parts = [data.without(given == k) for k in range(n_folds)]
        made = cls(data, fold, parts, [])
        for k, part in enumerate(parts):
            made.points.append(made.trained(part.rows, k, starts, stopping))
        return made

    def trained(
        self, rows: TrainingRows, k: int, starts: Sequence[Start | None], stopping: Stopping
    ) -> list[Point]:
        """Return models of `rows` (of the same rows as part k, maybe with surfaces)."""
        how = replace(stopping, tol=TOL, watch=stopping.watch.during("pairs"))
        out = []
        for total, start in zip(self.parts[k].sums(rows), starts, strict=True):
            begin = Objective.of(rows, total, how.n_threads).begin(start)
            out.append(newton.last(newton.descend(begin, how), how))
        return out

    def derivatives(self) -> Derivatives:
        """Return the derivatives of every row's loss at the model trained without its fold.

        They are divided as `Scale` says.
        """
        out = []
        for number, total in enumerate(self.data.sums()):
            F = self._scores(number)
            scale = Scale.at(total, F)
            g = np.asarray(total.gradient(F)) / scale.of_slopes
            out.append((g, np.asarray(total.curvature(F).diagonal) / scale.of_curvature))
        return out

    def _scores(self, number: int) -> Floats:
        """Return the scores of all rows by the models trained without their fold."""
        F = self.points[0][number].F
        for k, points in enumerate(self.points[1:], start=1):
            F = np.where(self.fold == k, points[number].F, F)
        return F

    def losses(self, k: int, scores: Sequence[Floats]) -> Floats:
        """Return the loss of each unit of fold k, given the scores of every sum of losses.

        A unit is a row or a group of rows. Losses are in the unit of the weights.
        """
        both, here = zip(self.data.sums(), scores, strict=True), self.fold == k
        each = [np.asarray(total.each(F))[here] / total.typical_weight for total, F in both]
        losses = np.asarray(np.sum(each, axis=0))
        groups = self.data.weighted.place_units().groups
        if groups is None:
            return losses
        _, number = np.unique(groups[here], return_inverse=True)
        return np.asarray(np.bincount(number, losses), dtype=np.float64)


@dataclass(frozen=True)
class Scale:
    """What derivatives are divided by, so that the evidence does not depend on units of weights.

    Without an interaction the slopes of a cell then have the variance of its curvature, and a
    typical row of weight 1 keeps its curvature.
    """

    of_slopes: float
    of_curvature: float

    @classmethod
    def at(cls, total: LossSum, F: Floats) -> Scale:
        """Return the scale at the scores F.

        The squares of slopes are those of the rows, also for a likelihood: a model that nearly
        separates the classes is too sure of rows on which it was not trained.
        """
        with np.errstate(over="ignore"):  # an infinite variance leaves no evidence
            squares = replace(total.scatter(F), is_likelihood=False)
        unit = total.typical_weight
        return cls(float(np.sqrt(squares.dispersion(0.0)) * np.sqrt(unit)), unit)


def folds_of(data: TrainingSet, n_folds: int) -> NDArray[np.int8]:
    """Return the fold of every row of X, (n_given,); rows of one group have the same."""
    order, groups = data.rows.order(), data.weighted.units.groups
    number = np.arange(order.n_rows)
    if groups is not None:
        placed = order.place(groups)  # where the rows of a group follow each other
        number[1:] = np.cumsum(placed[1:] != placed[:-1])
    return np.asarray(order.restore((number % n_folds).astype(np.int8)))


def is_worth_a_pass(rows: TrainingRows, n_pairs: int) -> bool:
    """Return whether to use all rows for this many pairs, and not only the local sample."""
    return not rows.is_here and 0 < rows.n_sampled < rows.n_rows and n_pairs <= MOST_PAIRS


def grid_evidence(
    rows: TrainingRows,
    totals: Sequence[LossSum],
    crossed: CrossFit,
    chains: Mapping[int, Chain],
    pairs: Sequence[tuple[int, int]],
) -> Floats:
    """Return z of every pair (see `splinear.solvers.pairs.interactions`), (n_pairs,).

    The models of curves are those without the first fold of a sample of the rows; `totals` are the
    sums of losses over all rows.
    """
    sizes = np.array([[chains[a].n_nodes, chains[b].n_nodes] for a, b in pairs])
    split = split_by(sizes)
    groups = [
        PairGroup.of(tuple((chains[pairs[k][0]], chains[pairs[k][1]]) for k in map(int, at)))
        for at in split
    ]
    surfaces = rows.grids(groups)  # type: ignore[attr-defined]
    ends = np.cumsum([group.n_pairs * group.size for group in groups])[:-1]
    z, n_outputs = np.zeros(len(pairs)), 0
    of_sample = crossed.data.sums()
    for total, own_total, point in zip(totals, of_sample, crossed.points[0], strict=True):
        F = rows.scores(point.parameters) + point.theta[:, -1:]
        g, h = total.gradient(F), total.curvature(F).diagonal
        sums = surfaces.sums(np.concatenate([g, h]), 1)
        scale = Scale.at(own_total, point.F)
        for k in range(total.n_outputs):
            parts = np.split(sums[k], ends), np.split(sums[total.n_outputs + k], ends)
            for at, group, *own in zip(split, groups, *parts, strict=True):
                G, H = (part.reshape(group.shape) for part in own)
                z[at] += standardized(G / scale.of_slopes, H / scale.of_curvature)
            n_outputs += 1
    return np.asarray(z / np.sqrt(n_outputs))
