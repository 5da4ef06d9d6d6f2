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

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from splinear import _core
from splinear._types import Floats
from splinear.solvers.problems.losses import ConvexLoss, EpsilonInsensitive, Hinge, SquaredHinge
from splinear.solvers.problems.problem import Problem

__all__ = ["MarginKind", "MarginSums", "Measures", "RowMargins", "has_ramps"]


@dataclass(frozen=True, eq=False)
class MarginKind:
    """What is summed, wherever the rows are."""

    loss: ConvexLoss
    bias: float  # B of intercepts with the penalty 1/2 b^2 / B^2; 0: there are none
    n_outputs: int

    @property
    def is_smooth(self) -> bool:
        """Whether the loss has a slope everywhere: ramps then mean nothing."""
        return isinstance(self.loss, SquaredHinge)


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
    def kind(self) -> MarginKind:
        """The loss, the intercepts and the number of sums."""
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
    n_rows: int | None = None  # only this many; None: all
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
        """Return the sums over the first n rows, which weigh as much as all do."""
        in_all = len(self.problems[0].y) if self.n_rows is None else self.n_rows
        return replace(self, weight=self.weight * in_all / max(n, 1), n_rows=n)

    def slopes(self, F: Floats, ramps: Floats) -> Floats:
        """Return the derivatives of the smoothed sums by F."""
        return self.sloped(F, ramps)[0]

    def bends(self, F: Floats, ramps: Floats) -> Floats:
        """Return the second derivatives."""
        found = [
            _core.ramp_bends(*twin, _core.Ramp(*ramp), np.ascontiguousarray(own), self.n_threads)
            for twin, own, ramp in zip(self._twins, F, ramps, strict=True)
        ]
        return _stacked(found)

    def measured(self, F: Floats, ramps: Floats) -> Measures:
        """Return the sums of the losses themselves, and what the slopes say of them."""
        return self.sloped(F, ramps)[1]

    def sloped(self, F: Floats, ramps: Floats) -> tuple[Floats, Measures]:
        """Return what `slopes` and `measured` do, in one pass over the rows."""
        found = [
            _core.ramp_measures(*twin, _core.Ramp(*ramp), np.ascontiguousarray(own), self.n_threads)
            for twin, own, ramp in zip(self._twins, F, ramps, strict=True)
        ]
        slopes, *told = zip(*found, strict=True)
        return _stacked(slopes), Measures(*(np.array(each, dtype=np.float64) for each in told))

    def along(self, F: Floats, D: Floats, ramps: Floats, shares: Floats) -> Floats:
        """Return the slopes of the smoothed sums by t at F + t D."""
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
        """Return the sums of the losses at F, and the rows' parts of the gap to any R."""
        found = [
            _core.ramp_gaps(
                *twin, np.ascontiguousarray(own), np.ascontiguousarray(r), self.n_threads
            )
            for twin, own, r in zip(self._twins, F, R, strict=True)
        ]
        losses, parts = np.array(found).T
        return losses, parts

    def stretched(self, F: Floats, scales: Floats) -> Floats:
        """Return the sums of the losses at s F, (n_scales, n_outputs) for n_scales numbers s."""
        none = np.zeros(F.shape)
        return np.stack([self.gaps(s * F, none)[0] for s in scales])

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
    """Return arrays (n,) as one, (1, n) without a copy if there is one."""
    return rows[0][None] if len(rows) == 1 else np.stack(rows)
