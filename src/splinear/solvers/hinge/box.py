"""Dual problems of hinge-like losses in one form: a quadratic function with bounds.

With b_i = y_i alpha_i in place of the dual variables, the dual problem is to minimize

    1/2 b'(K + diag(d)) b - t'b + e sum_i |b_i|,     low <= b <= high,

where K holds the inner products of embedded rows, with that of the intercept. The model's weights
are the sum of b_i times the embedded rows.

| loss | t | low, high | d | e |
|---|---|---|---|---|
| hinge | y | 0 and y c | 0 | 0 |
| squared hinge | y | 0 and y times infinity | 1 / 2c | 0 |
| epsilon-insensitive | target | -c, c | 0 | epsilon |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.losses import EpsilonInsensitive, Hinge, SquaredHinge
from splinear.objective.problem import Problem

__all__ = ["Box"]


@dataclass(frozen=True, eq=False)
class Box:
    """The dual problems of all outputs: t, low, high, d (`ridge`) and e (`shrinkage`).

    Arrays are (n_outputs, n_rows), stored where the rows are.
    """

    targets: Floats
    low: Floats
    high: Floats
    ridge: Floats
    shrinkage: float

    @classmethod
    def of(cls, problems: Sequence[Problem], zeros: Floats) -> Box:
        """Return the box of problems with the same loss; rows of weight 0 have b_i = 0.

        Its arrays are of the type of `zeros`, the scores of a zero model.
        """
        loss = problems[0].loss
        cost, ridge = zeros + np.stack([problem.cost for problem in problems]), zeros
        given = [np.zeros(len(p.y)) if p.targets is None else p.targets for p in problems]
        if isinstance(loss, EpsilonInsensitive):
            return cls(zeros + np.stack(given), -cost, cost, ridge, loss.epsilon)
        y = zeros + np.stack([problem.y for problem in problems])
        if isinstance(loss, SquaredHinge):
            ridge = np.where(cost > 0.0, 0.5 / np.maximum(cost, np.finfo(float).tiny), 0.0)
            reach = np.where(cost > 0.0, np.where(y > 0.0, np.inf, -np.inf), 0.0)
        elif isinstance(loss, Hinge):
            reach = y * cost
        else:
            raise TypeError(f"There is no such form of {loss!r}.")
        # The loss of m = y f - t is that of a margin y f that should be 1 + t.
        goals = y * (1.0 + np.stack(given))
        return cls(goals, np.minimum(reach, 0.0), np.maximum(reach, 0.0), ridge, 0.0)

    def mapped(self, function: Callable[[Any], Any]) -> Box:
        """Return the box with a function applied to each array."""
        bounds = function(self.low), function(self.high)
        return Box(function(self.targets), *bounds, function(self.ridge), self.shrinkage)

    def some(self, rows: AnyArray | slice) -> Box:
        """Return the box of some rows."""
        return self.mapped(lambda values: values[:, rows])

    def violation(self, b: Floats, gradient: Floats) -> Floats:
        """Return the rate at which the function falls if each b_i alone moves within its bounds.

        `gradient` is K b + d b - t, without the term of e.
        """
        # So does `violations` in devices/box.cu; tests/devices/test_pool.py (`same_violations`)
        # compares the two.
        up, down = -gradient, gradient
        if self.shrinkage:
            up = up - np.where(b >= 0.0, self.shrinkage, -self.shrinkage)
            down = down + np.where(b > 0.0, self.shrinkage, -self.shrinkage)
        up, down = np.where(b < self.high, up, 0.0), np.where(b > self.low, down, 0.0)
        found: Floats = np.maximum(np.maximum(up, down), 0.0)
        return found
