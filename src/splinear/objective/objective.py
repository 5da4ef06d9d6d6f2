"""The function that is minimized: rows, a loss and a layout.

    P(theta) = sum_k 1/2 theta_k' S_k theta_k / t_k + L(F),   F = f(x) + b,

summed over outputs, with L a sum of losses of the scores (see `objective.loss_sums`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from splinear._types import Floats
from splinear.model.layout import Layout
from splinear.objective.loss_sums import LossSum
from splinear.objective.point import Point
from splinear.objective.problem import Start
from splinear.objective.rows import Rows
from splinear.objective.space import Space

__all__ = ["Objective"]


@dataclass(frozen=True, eq=False)
class Objective:
    """The objective P over some rows.

    Attributes
    ----------
    space : Space
        The rows, and vectors of the length of the model.
    total : LossSum
        The sum of the losses of these rows.
    """

    space: Space
    total: LossSum

    @classmethod
    def of(cls, rows: Rows, total: LossSum, n_threads: int) -> Objective:
        """Return the objective of rows, with the penalty of their layout."""
        space = Space(rows, total.n_outputs, n_threads, total.bias)
        return cls(space, total.on_threads(n_threads))

    def under(self, layout: Layout) -> Objective:
        """Return the same objective under other variances of the same terms."""
        return Objective(self.space.over(self.space.rows.with_layout(layout)), self.total)

    def zero(self) -> Point:
        """Return the point without any curves."""
        return Point(self, self.space.zeros(), self.space.zero_scores())

    def at(self, theta: Floats, *, free: bool = True) -> Point:
        """Return the point at a vector; its free intercepts are solved for, if `free`."""
        return Point(self, theta, self.space.scores(theta), free=free)

    def begin(self, start: Start | None = None) -> Point:
        """Return an earlier model if its objective is smaller than that of zero, otherwise zero."""
        zero = self.zero()
        if not np.isfinite(zero.value):
            raise ValueError(
                "The sum of the losses is not finite even without any curves: weights or targets "
                "are too large."
            )
        if start is None or start.coef is None:
            return zero
        # Leveled before scoring: in single precision large levels would cost digits.
        theta = self.space.join(np.atleast_2d(start.coef), np.atleast_1d(start.intercept))
        first = self.at(self.space.leveled(theta))
        return first if first.value < zero.value else zero
