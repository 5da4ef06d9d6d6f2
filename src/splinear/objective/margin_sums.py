"""Smoothed sums of hinge-like losses, as functions of the scores of several outputs.

A loss with a kink, such as the hinge at m = 1, is not suitable for Newton's method. Here its slope
changes linearly over a width g,

    -l_g'(m) = clip(s + (1 - m) / g, 0, 1)    for the hinge max(0, 1 - m),

so that l_g is a parabola on this ramp and equals the loss up to a constant elsewhere. For any width
g and center s, c_i times this slope is a feasible dual variable of the unsmoothed loss. To its
duality gap, smoothing adds c_i g |s_i - s| s_i for a row whose slope s_i is below s, and c_i g |s_i
- s| (1 - s_i) for one above. So s should be about the mean slope of the rows on the ramp: near 1/2
where classes overlap, and near 0 where they are separable, because then few dual variables are more
than a small part of their cost. Each of the two classes has a center of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from splinear import _core
from splinear._caching import cached_property
from splinear._types import Floats
from splinear.losses import EpsilonInsensitive, Hinge, SquaredHinge
from splinear.losses.margin import MarginLoss
from splinear.objective.problem import Problem

__all__ = ["MarginKind", "MarginSums", "Measures", "RowMargins", "has_ramps"]


@dataclass(frozen=True, eq=False)
class MarginKind:
    """The loss and the number of sums, wherever the rows are stored."""

    loss: MarginLoss
    bias: float  # B of intercepts with the penalty 1/2 b^2 / B^2; 0 without intercepts
    n_outputs: int

    @property
    def is_smooth(self) -> bool:
        """Whether the loss is differentiable, so that ramps are not used."""
        return isinstance(self.loss, SquaredHinge)


@dataclass(frozen=True, eq=False)
class Measures:
    """Sums of every output at a point, (n_outputs,) each unless noted."""

    losses: Floats  # the sum of the unsmoothed losses
    parts: Floats  # the rows' part of the gap, with the smoothed losses' slopes as dual variables
    bent: Floats  # (n_outputs, 2): number of rows on the ramp, by side
    centers: Floats  # (n_outputs, 2): the sum of the slopes of these rows

    @property
    def n_bent(self) -> Floats:
        """Number of rows on the ramp."""
        return np.asarray(self.bent.sum(axis=1))

    def mean_slopes(self) -> Floats:
        """Return the mean slope of the rows on the ramp, (n_outputs, 2); 0 if there are none."""
        return self.centers / np.maximum(self.bent, 1.0)


class MarginSums(Protocol):
    """Sums of one loss over the rows, one per output, as solvers need them.

    F, D and R are arrays (n_outputs, n_rows), of a type that depends on where the rows are stored.
    `ramps` is (n_outputs, 3): the width g, and the centers s for rows with y = -1 and y = 1 (for
    the epsilon-insensitive loss, with negative and positive residuals).
    """

    @property
    def kind(self) -> MarginKind:
        """The loss, the intercepts and the number of sums."""
        ...

    def slopes(self, F: Floats, ramps: Floats) -> Floats:
        """Return the gradient of the smoothed sums with respect to F."""
        ...

    def bends(self, F: Floats, ramps: Floats) -> Floats:
        """Return the second derivatives of the smoothed sums, (n_outputs, n_rows)."""
        ...

    def measured(self, F: Floats, ramps: Floats) -> Measures:
        """Return the sums of the unsmoothed losses, and their gap to the smoothed slopes."""
        ...

    def along(self, F: Floats, D: Floats, ramps: Floats, shares: Floats) -> Floats:
        """Return the derivatives in t of the smoothed sums at F + t D, (n_outputs, n_shares)."""
        ...

    def gaps(self, F: Floats, R: Floats) -> tuple[Floats, Floats]:
        """Return, per output, the sum of the losses at F and the rows' part of the gap to R.

        That part is infinite if R is not feasible.
        """
        ...

    def first(self, n: int) -> MarginSums:
        """Return the sums over RowPasses.first(n), reweighted to the total weight of all rows."""
        ...


def has_ramps(loss: MarginLoss) -> bool:
    """Return whether this module can smooth a loss."""
    return isinstance(loss, Hinge | SquaredHinge | EpsilonInsensitive)


@dataclass(frozen=True, eq=False)
class RowMargins:
    """Sums over rows in this process.

    Attributes
    ----------
    problems : sequence of Problem
        One per output, of the same loss and bias.
    weight : float
        Factor of all costs.
    """

    problems: Sequence[Problem]
    weight: float = 1.0
    n_rows: int | None = None  # number of rows used, from the first on; None for all
    n_threads: int = 1

    @property
    def n_outputs(self) -> int:
        """Number of sums."""
        return len(self.problems)

    @property
    def kind(self) -> MarginKind:
        """The loss, the intercepts and the number of sums."""
        return MarginKind(self.problems[0].loss, self.problems[0].bias, self.n_outputs)

    def first(self, n: int) -> RowMargins:
        """Return the sums over the first n rows, reweighted to the total weight of all rows."""
        in_all = len(self.problems[0].y) if self.n_rows is None else self.n_rows
        return replace(self, weight=self.weight * in_all / max(n, 1), n_rows=n)

    def slopes(self, F: Floats, ramps: Floats) -> Floats:
        """Return the gradient of the smoothed sums with respect to F."""
        return self.sloped(F, ramps)[0]

    def bends(self, F: Floats, ramps: Floats) -> Floats:
        """Return the second derivatives of the smoothed sums, (n_outputs, n_rows)."""
        found = [
            _core.ramp_bends(*twin, _core.Ramp(*ramp), np.ascontiguousarray(own), self.n_threads)
            for twin, own, ramp in zip(self._twins, F, ramps, strict=True)
        ]
        return _stacked(found)

    def measured(self, F: Floats, ramps: Floats) -> Measures:
        """Return the sums of the unsmoothed losses, and their gap to the smoothed slopes."""
        return self.sloped(F, ramps)[1]

    def sloped(self, F: Floats, ramps: Floats) -> tuple[Floats, Measures]:
        """Return `slopes` and `measured`, in one pass over the rows."""
        found = [
            _core.ramp_measures(*twin, _core.Ramp(*ramp), np.ascontiguousarray(own), self.n_threads)
            for twin, own, ramp in zip(self._twins, F, ramps, strict=True)
        ]
        slopes, *told = zip(*found, strict=True)
        return _stacked(slopes), Measures(*(np.array(each, dtype=np.float64) for each in told))

    def along(self, F: Floats, D: Floats, ramps: Floats, shares: Floats) -> Floats:
        """Return the derivatives in t of the smoothed sums at F + t D."""
        found = [
            _core.ramp_along(
                *twin,
                _core.Ramp(*ramp),
                np.ascontiguousarray(own),
                np.ascontiguousarray(move),
                np.asarray(shares, dtype=np.float64),
                self.n_threads,
            )
            for twin, own, move, ramp in zip(self._twins, F, D, ramps, strict=True)
        ]
        return np.stack(found)

    def gaps(self, F: Floats, R: Floats) -> tuple[Floats, Floats]:
        """Return the sums of the losses at F, and the rows' parts of the gap to R."""
        found = [
            _core.ramp_gaps(
                *twin, np.ascontiguousarray(own), np.ascontiguousarray(r), self.n_threads
            )
            for twin, own, r in zip(self._twins, F, R, strict=True)
        ]
        losses, parts = np.array(found).T
        return losses, parts

    @cached_property
    def _twins(self) -> list[tuple[_core.Loss, _core.DualProblem]]:
        """The compiled loss and problem of every output."""
        if not isinstance(loss := self.kind.loss, Hinge | SquaredHinge | EpsilonInsensitive):
            raise TypeError(f"There is no smoothed form of {loss!r}.")
        return [(loss.core(), self._weighted(problem).core()) for problem in self.problems]

    def _weighted(self, problem: Problem) -> Problem:
        problem = problem.scaled(self.weight)
        return problem if self.n_rows is None else problem.some(slice(self.n_rows))


def _stacked(rows: Sequence[Floats]) -> Floats:
    """Stack arrays (n,) as rows; a single one is not copied."""
    return rows[0][None] if len(rows) == 1 else np.stack(rows)
