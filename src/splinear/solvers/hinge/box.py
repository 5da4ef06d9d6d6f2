"""Dual problems of hinge losses in one form: a quadratic function between bounds.

With b_i = y_i alpha_i in place of dual variables, what is minimized over b is

    1/2 b'(K + diag(d)) b - t'b + e sum_i |b_i|,     low <= b <= high,

K being the products of embedded rows, the intercept's among them, and the model's weights the sum
of b_i times the embedded rows:

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
from splinear.solvers.problems.losses import EpsilonInsensitive, Hinge, SquaredHinge
from splinear.solvers.problems.problem import Problem

__all__ = ["Box"]


@dataclass(frozen=True, eq=False)
class Box:
    """The problems of all outputs; arrays are (n_outputs, n_rows), wherever the rows are."""

    targets: Floats
    low: Floats
    high: Floats
    ridge: Floats
    shrinkage: float

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> Box:
        """Return that of problems of the same loss; rows without weight cannot move."""
        loss, n = problems[0].loss, len(problems[0].y)
        y = np.stack([problem.y for problem in problems]).astype(np.float64)
        cost = np.stack([problem.cost for problem in problems])
        ridge = np.zeros(cost.shape)
        if isinstance(loss, EpsilonInsensitive):
            targets = np.stack([np.zeros(n) if p.targets is None else p.targets for p in problems])
            return cls(targets, -cost, cost, ridge, loss.epsilon)
        if isinstance(loss, SquaredHinge):
            np.divide(0.5, cost, out=ridge, where=cost > 0.0)
            reach = np.where(cost > 0.0, np.copysign(np.inf, y), 0.0)
        elif isinstance(loss, Hinge):
            reach = y * cost
        else:
            raise TypeError(f"There is no such form of {loss!r}.")
        return cls(y, np.minimum(reach, 0.0), np.maximum(reach, 0.0), ridge, 0.0)

    def over(self, zeros: Floats) -> Box:
        """Return it where the rows are, of which these are the scores 0."""
        return self.mapped(lambda values: zeros + values)

    def mapped(self, function: Callable[[Any], Any]) -> Box:
        """Return it with a function of each array."""
        bounds = function(self.low), function(self.high)
        return Box(function(self.targets), *bounds, function(self.ridge), self.shrinkage)

    def some(self, rows: AnyArray | slice) -> Box:
        """Return the problems of some rows."""
        return self.mapped(lambda values: values[:, rows])

    def violation(self, b: Floats, gradient: Floats) -> Floats:
        """Return how much the function falls per unit of each b_i alone, where it can.

        `gradient` is K b + d b - t.
        """
        # So does `violations` in devices/descent.cu; tests/devices/test_pool.py (`same_violations`)
        # compares the two.
        up, down = -gradient, gradient
        if self.shrinkage:
            up = up - np.where(b >= 0.0, self.shrinkage, -self.shrinkage)
            down = down + np.where(b > 0.0, self.shrinkage, -self.shrinkage)
        up, down = np.where(b < self.high, up, 0.0), np.where(b > self.low, down, 0.0)
        found: Floats = np.maximum(np.maximum(up, down), 0.0)
        return found
