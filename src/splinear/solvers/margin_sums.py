"""Sums of losses of margins over rows, as smooth functions of the rows' scores: several outputs.

A loss that bends at a point, as the hinge does at 1, is no function for Newton's method. Here its
slope changes evenly over a width g,

    -l_g'(m) = clip(s + (1 - m) / g, 0, 1)    for the hinge max(0, 1 - m),

so that l_g is a parabola in between, and the loss itself elsewhere but for a constant. Whatever g
and the center s are, c_i times this slope is a feasible dual variable of the loss itself. What
smoothing adds to the gap of that loss is c_i g |s_i - s| s_i for a row whose slope s_i is below s,
c_i g |s_i - s| (1 - s_i) for one above. So s should be about the mean slope of the rows in between:
near 1/2 where classes overlap, and near 0 where they do not, as few dual variables are then more
than a small part of their cost. The two classes may differ in that, and have a center each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.solvers.losses import ConvexLoss, EpsilonInsensitive, Hinge, SquaredHinge
from splinear.solvers.problem import Problem

__all__ = ["MarginSums", "Measures", "RowMargins", "has_ramps"]

STEP = 2**14  # rows at a time: what they need stays in the cache


@dataclass(frozen=True, eq=False)
class Measures:
    """What is known of every output at a point, (n_outputs,) each."""

    losses: Floats  # their sum
    parts: Floats  # the rows' part of the gap to the smoothed losses' slopes
    bent: Floats  # (n_outputs, 2): rows in between, of either side
    centers: Floats  # (n_outputs, 2): the sum of their slopes

    @property
    def n_bent(self) -> Floats:
        """Rows in between."""
        return np.asarray(self.bent.sum(axis=1))

    def mean_slopes(self) -> Floats:
        """Return the mean slope of the rows in between, (n_outputs, 2); 0 where there are none."""
        return self.centers / np.maximum(self.bent, 1.0)


class MarginSums(Protocol):
    """Sums of one loss over the same rows, one sum per output: what the solver asks of rows.

    F, D and R are (n_outputs, n_rows), whatever the rows make of such an array. `ramps` is
    (n_outputs, 3): the width g, and the centers s of rows with y = -1 and y = 1; for the
    epsilon-insensitive loss, of residuals below 0 and above.
    """

    @property
    def n_outputs(self) -> int:
        """Number of sums."""
        ...

    @property
    def bias(self) -> float:
        """B of intercepts with the penalty 1/2 b^2 / B^2; 0: there are none."""
        ...

    @property
    def is_smooth(self) -> bool:
        """Whether the loss has a slope everywhere: ramps then mean nothing."""
        ...

    def slopes(self, F: Floats, ramps: Floats) -> Floats:
        """Return the derivatives of the smoothed sums by F."""
        ...

    def bends(self, F: Floats, ramps: Floats) -> Floats:
        """Return the second derivatives."""
        ...

    def measured(self, F: Floats, ramps: Floats) -> Measures:
        """Return the sums of the losses themselves, and what the slopes say of them."""
        ...

    def along(self, F: Floats, D: Floats, ramps: Floats, shares: Floats) -> Floats:
        """Return the slopes of the smoothed sums by t at F + t D, (n_outputs, n) for n shares t."""
        ...

    def gaps(self, F: Floats, R: Floats) -> tuple[Floats, Floats]:
        """Return the sums of the losses at F, and the rows' parts of the gap to any R, per output.

        The part of an output is infinite where R is not feasible.
        """
        ...

    def first(self, n: int) -> MarginSums:
        """Return the sums over the rows of RowPasses.first(n), which weigh as much as all do."""
        ...


def has_ramps(loss: ConvexLoss) -> bool:
    """Tell whether this module knows a loss."""
    return isinstance(loss, Hinge | SquaredHinge | EpsilonInsensitive)


@dataclass(frozen=True, eq=False)
class RowMargins:
    """The sums of rows that are here.

    Attributes
    ----------
    problems : sequence of Problem
        One per output, of the same loss and bias.
    weight : float
        By which all costs are multiplied.
    """

    problems: Sequence[Problem]
    weight: float = 1.0
    n_rows: int | None = None  # only so many; None: all

    @property
    def n_outputs(self) -> int:
        """Number of sums."""
        return len(self.problems)

    @property
    def bias(self) -> float:
        """B."""
        return self.problems[0].bias

    @property
    def loss(self) -> ConvexLoss:
        """The loss of all rows."""
        return self.problems[0].loss

    @property
    def is_smooth(self) -> bool:
        """Whether the loss has a slope everywhere."""
        return isinstance(self.loss, SquaredHinge)

    def first(self, n: int) -> RowMargins:
        """Return the sums over the first n rows, which weigh as much as all do."""
        in_all = len(self.problems[0].y) if self.n_rows is None else self.n_rows
        return replace(self, weight=self.weight * in_all / max(n, 1), n_rows=n)

    def slopes(self, F: Floats, ramps: Floats) -> Floats:
        """Return the derivatives of the smoothed sums by F."""
        out = np.empty_like(F)
        for k, some, own, cost in self._pieces(F):
            slope = _slope(own, own.margin(F[k, some]), ramps[k])
            np.multiply(-cost * own.y, slope, out=out[k, some])
        return out

    def bends(self, F: Floats, ramps: Floats) -> Floats:
        """Return the second derivatives."""
        out = np.empty_like(F)
        for k, some, own, cost in self._pieces(F):
            bend = _bend(own, own.margin(F[k, some]), ramps[k])
            np.multiply(cost, bend, out=out[k, some])
        return out

    def measured(self, F: Floats, ramps: Floats) -> Measures:
        """Return the sums of the losses themselves, and what the slopes say of them."""
        sums, sides = np.zeros((2, self.n_outputs)), np.zeros((2, self.n_outputs, 2))
        for k, some, own, cost in self._pieces(F):
            m = own.margin(F[k, some])
            slope = _slope(own, m, ramps[k])
            sums[0, k] += float(cost @ self.loss.value(m))
            sums[1, k] += float(_gap(self.loss, cost * slope, m, cost).sum())
            bent = np.flatnonzero((_bend(own, m, ramps[k]) > 0.0) & (cost > 0.0))
            side, size = _side(own.loss, own.y[bent], slope[bent]), np.abs(slope[bent])
            sides[0, k] += np.bincount(side, minlength=2)
            sides[1, k] += np.bincount(side, size, minlength=2)
        return Measures(*sums, *sides)

    def along(self, F: Floats, D: Floats, ramps: Floats, shares: Floats) -> Floats:
        """Return the slopes of the smoothed sums by t at F + t D."""
        out = np.zeros((self.n_outputs, len(shares)))
        for k, some, own, cost in self._pieces(F):
            m, moved = own.margin(F[k, some]), own.y * D[k, some]
            weighted, there = cost * moved, np.empty_like(m)
            for j, t in enumerate(shares):
                np.multiply(moved, t, out=there)
                there += m
                out[k, j] -= float(weighted @ _slope(own, there, ramps[k], there))
        return out

    def gaps(self, F: Floats, R: Floats) -> tuple[Floats, Floats]:
        """Return the sums of the losses at F, and the rows' parts of the gap to any R."""
        out = np.zeros((2, self.n_outputs))
        for k, some, own, cost in self._pieces(F):
            m, alpha = own.margin(F[k, some]), -own.y * R[k, some]
            low, high = self.loss.range(cost)
            feasible = np.clip(alpha, low, high)
            wrong = np.abs(alpha - feasible) > 1e-12 * cost
            out[0, k] += float(cost @ self.loss.value(m))
            out[1, k] += np.inf if wrong.any() else float(_gap(self.loss, feasible, m, cost).sum())
        return out[0], out[1]

    @cached_property
    def _costs(self) -> list[Floats]:
        return [self.weight * problem.cost for problem in self.problems]

    def _pieces(self, F: Floats) -> Iterator[tuple[int, slice, Problem, Floats]]:
        """Yield some rows of an output at a time: its number, the rows, their problem and costs."""
        for k, problem in enumerate(self.problems):
            for start in range(0, F.shape[1], STEP):
                some = slice(start, min(start + STEP, F.shape[1]))
                yield k, some, problem.some(some), self._costs[k][some]


def _gap(loss: ConvexLoss, alpha: Floats, m: Floats, cost: Floats) -> Floats:
    """Return the parts of the gap; of rows without weight, 0."""
    if cost.all():
        return loss.gap(alpha, m, cost)
    counts = np.flatnonzero(cost)
    return loss.gap(alpha[counts], m[counts], cost[counts])


def _slope(problem: Problem, m: Floats, ramp: Floats, out: Floats | None = None) -> Floats:
    """Return minus the slope of the smoothed loss at m; `out` may be m itself."""
    loss = problem.loss
    if isinstance(loss, SquaredHinge):
        out = np.multiply(m, -2.0, out=out)
        out += 2.0
        return np.maximum(out, 0.0, out=out)
    width = float(ramp[0])
    if isinstance(loss, Hinge):
        out = np.multiply(m, -1.0 / width, out=out)
        out += 1.0 / width + _center(problem, ramp)
        return np.clip(out, 0.0, 1.0, out=out)
    if not isinstance(loss, EpsilonInsensitive):
        raise TypeError(f"There is no smoothed form of {loss!r}.")
    below, above = _beyond(m, loss.epsilon, ramp)
    return np.subtract(np.clip(below, 0.0, 1.0), np.clip(above, 0.0, 1.0), out=out)


def _bend(problem: Problem, m: Floats, ramp: Floats) -> Floats:
    """Return the second derivative of the smoothed loss at m."""
    loss, width = problem.loss, float(ramp[0])
    if isinstance(loss, SquaredHinge):
        return np.where(m < 1.0, 2.0, 0.0)
    if isinstance(loss, Hinge):
        raw = (1.0 - m) / width + _center(problem, ramp)
        return np.where((raw > 0.0) & (raw < 1.0), 1.0 / width, 0.0)
    assert isinstance(loss, EpsilonInsensitive)
    n = sum(
        ((raw > 0.0) & (raw < 1.0)).astype(np.float64) for raw in _beyond(m, loss.epsilon, ramp)
    )
    return np.asarray(n / width)


def _center(problem: Problem, ramp: Floats) -> Floats:
    """Return s of every row, by its class; one number if the classes have the same."""
    low, high = float(ramp[1]), float(ramp[2])
    if low == high:
        return np.asarray(low)
    return np.asarray(0.5 * (low + high) + (0.5 * (high - low)) * problem.y)


def _beyond(m: Floats, epsilon: float, ramp: Floats) -> tuple[Floats, Floats]:
    """Return how far residuals are below -epsilon and above epsilon, in widths, from where s is."""
    width, low, high = (float(value) for value in ramp)
    return (-m - epsilon) / width + low, (m - epsilon) / width + high


def _side(loss: ConvexLoss, y: AnyArray, slope: Floats) -> AnyArray:
    """Return which of the two centers rows have, 0 or 1."""
    is_second = slope < 0.0 if isinstance(loss, EpsilonInsensitive) else y > 0
    return is_second.astype(np.intp)
