"""Models of curves that are each trained without some of the rows, on which pairs are tested.

On the rows that a model was trained on, the derivatives of the losses say too little (several
classes are often nearly separated there) or too much (the effects of a category's levels were
estimated from the same noise). So the rows are divided into folds, and every row is seen by a model
that was trained without its fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from splinear._types import Floats
from splinear.solvers.newton import descent as newton
from splinear.solvers.newton.iterate import Iterate
from splinear.solvers.problems.losses import SmoothLoss
from splinear.solvers.problems.problem import Start, Stopping
from splinear.solvers.rows.training_rows import TrainingRows
from splinear.training.set import TrainingSet

__all__ = ["CrossFit", "Derivatives"]

N_FOLDS = 3
TOL = 1e-2  # of models that are only compared with each other

Derivatives = list[tuple[Floats, Floats]]  # of every sum of losses: g and h, (n_outputs, n_rows)


@dataclass(frozen=True, eq=False)
class CrossFit:
    """The rows, divided into folds, and the curves of all but one fold.

    Attributes
    ----------
    data : TrainingSet
        A sample of the rows, in this process, with the smoothness of the curves.
    loss : SmoothLoss
    fold : ndarray of shape (n_rows,)
        The fold of each row, in training order.
    parts : list of TrainingSet
        For each fold, the set with a weight of 0 in its rows.
    points : list of list of Iterate
        For each fold, the curves trained on its part, one point per sum of losses.
    """

    data: TrainingSet
    loss: SmoothLoss
    fold: NDArray[np.int8]
    parts: list[TrainingSet]
    points: list[list[Iterate]]

    @classmethod
    def train(
        cls,
        data: TrainingSet,
        loss: SmoothLoss,
        starts: Sequence[Start],
        stopping: Stopping,
        n_folds: int = N_FOLDS,
    ) -> CrossFit:
        """Train the curves without each fold in turn, from the curves of all rows."""
        given = folds_of(data, n_folds)
        fold = data.rows.place(given)
        parts = [data.without(given == k) for k in range(n_folds)]
        made = cls(data, loss, fold, parts, [])
        for k, part in enumerate(parts):
            made.points.append(made.trained(part.rows, k, starts, stopping))
        return made

    def trained(
        self, rows: TrainingRows, k: int, starts: Sequence[Start | None], stopping: Stopping
    ) -> list[Iterate]:
        """Return models of `rows` (of the same rows as part k, maybe with surfaces)."""
        how = replace(stopping, tol=TOL, watch=stopping.watch.during("pairs"))
        out = []
        for total, start in zip(self.parts[k].sums(self.loss, rows), starts, strict=True):
            begin = newton.begin(rows, total, how.n_threads, start)
            out.append(newton.last(newton.descend(begin, how), how))
        return out

    def derivatives(self) -> Derivatives:
        """Return the derivatives of every row's loss at the model trained without its fold.

        They are divided such that g has the variance h if nothing is left to find.
        """
        out = []
        for number, total in enumerate(self.data.sums(self.loss)):
            F = self._scores(number)
            g = np.array(total.gradient(F))
            h = np.asarray(total.curvature(F).diagonal)
            out.append((g / np.sqrt(dispersion(g, h)), h))
        return out

    def _scores(self, number: int) -> Floats:
        """Return the scores of all rows by the models trained without their fold."""
        F = self.points[0][number].F
        for k, points in enumerate(self.points[1:], start=1):
            F = np.where(self.fold == k, points[number].F, F)
        return F

    def losses(self, k: int, scores: Sequence[Floats]) -> Floats:
        """Return the loss of each row of fold k, given the scores of every sum of losses."""
        both = zip(self.data.sums(self.loss), scores, strict=True)
        each = [np.asarray(total.each(F))[self.fold == k] for total, F in both]
        return np.asarray(np.sum(each, axis=0))


def folds_of(data: TrainingSet, n_folds: int) -> NDArray[np.int8]:
    """Return the fold of every row of X, (n_given,).

    This is the only place where rows are divided to find pairs: rows that belong together have to
    get the same number here.
    """
    order = data.rows.order()
    return np.asarray(order.restore(np.resize(np.arange(n_folds, dtype=np.int8), order.n_rows)))


def dispersion(g: Floats, h: Floats) -> float:
    """Return sum(g^2) / sum(h): the variance of g relative to h."""
    with np.errstate(over="ignore"):  # an infinite variance leaves no evidence
        total = float((g**2).sum())
    tiny = float(np.finfo(float).tiny)
    return max(total / max(float(h.sum()), tiny), tiny)
