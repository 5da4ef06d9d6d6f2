"""How models follow while their smoothness is chosen: one Newton step per turn and layout.

- `StepTurns`: steps by products with the Hessian, which are passes over the rows. If there are so
  few rows that these are faster than factoring H, the steps are nearly exact as well.
- `DirectTurns`: if the whole Hessian H of the losses can be formed quickly, a turn solves
  (H + S) s = -gradient for its step s. As long as the second derivatives of the rows change little,
  H is not computed again: the row and column of every function are scaled such that the diagonal is
  the current one. If a model becomes certain about some rows, their derivatives vanish, and in
  these directions steps would otherwise be far too short.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from splinear._types import Floats
from splinear.model.factoring import factor_with
from splinear.model.layout import Layout
from splinear.solvers.newton import descent as newton
from splinear.solvers.newton.iterate import Iterate, Space
from splinear.solvers.newton.whole_hessian import WholeHessian, entries_per_row
from splinear.solvers.problems.problem import Stopping

__all__ = ["Turns", "turns_from"]

STEP_ACCURACY = 0.1  # relative residual of a step by products
MOST_COEFFICIENTS = 1_000  # largest number of coefficients that a turn solves for at once
# Factoring H may cost as much as this many products; it costs n^3 / 30 for n coefficients.
AS_MANY = 75
CLOSELY = 1e-3  # relative to the tolerance, for steps by products in place of a factor
MOST_PRODUCTS = 24  # of functions per value of X to form H; above, steps by products are faster
SAME = 0.05  # relative change of all second derivatives below which H is not computed again
# In the first turns H is formed from one in this many rows, if that is enough.
N_FIRST, FIRST_SHARE, ROWS_PER_COEFFICIENT = 3, 4, 12
ROUNDING = 1e-9  # relative to the objective; codes are summed in single precision


class Turns(Protocol):
    """Models that follow the changes of a layout."""

    def follow(self, layout: Layout) -> list[Iterate]:
        """Return the models of all sums after a turn with this layout."""
        ...


def turns_from(points: list[Iterate], stopping: Stopping) -> Turns:
    """Return the turns that should be faster, beginning at these points."""
    space = points[0].space
    is_cheap = 0.5 * space.n_rows * entries_per_row(space) ** 2 <= (
        MOST_PRODUCTS * space.rows.n_values
    )
    is_small = int(space.used.sum()) <= MOST_COEFFICIENTS and not space.layout.pairs
    is_single = space.is_free and all(point.space.n_outputs == 1 for point in points)
    if not (is_cheap and is_small and is_single and space.cone is None):
        return StepTurns(points, stopping)
    price_of_products = AS_MANY * space.rows.value_price * space.rows.n_values
    if int(space.used.sum()) ** 3 / 30 > price_of_products:
        return StepTurns(points, replace(stopping, tol=CLOSELY * stopping.tol))
    return DirectTurns(points, stopping)


class StepTurns:
    """Steps by products with the Hessian."""

    def __init__(self, points: list[Iterate], stopping: Stopping) -> None:
        self._points, self._stopping = points, stopping

    def follow(self, layout: Layout) -> list[Iterate]:
        """Return the points after a step with this layout."""
        before, how = [point.under(layout) for point in self._points], self._stopping
        self._points = [newton.one_step(point, how, STEP_ACCURACY) for point in before]
        return self._points


class DirectTurns:
    """Steps by factoring the Hessian."""

    def __init__(self, points: list[Iterate], stopping: Stopping) -> None:
        self._points, self._stopping = points, stopping
        self._hessians = [_KeptHessian(point.space) for point in points]

    def follow(self, layout: Layout) -> list[Iterate]:
        """Return the points after a step with this layout."""
        pairs = zip(self._points, self._hessians, strict=True)
        self._points = [self._step(point.under(layout), hessian) for point, hessian in pairs]
        return self._points

    def _step(self, at: Iterate, hessian: _KeptHessian) -> Iterate:
        """Return the minimum of the quadratic model, or a cautious step if P increases there."""
        M, places = hessian.at(at), hessian.whole.places
        hessian.whole.add_penalty(M, at.space.layout)
        factor = factor_with(_factored, M, np.einsum("kk->k", M))
        step = at.space.zeros()
        step[0, places] = cho_solve(
            factor, np.append(-at.gradient[0, places[:-1]], 0.0), check_finite=False
        )
        step = at.space.leveled(step)
        there = Iterate(
            at.space, at.total, at.theta + step, at.space.moved(at.F, at.space.scores(step))
        )
        if there.value <= at.value * (1.0 + ROUNDING):
            return there
        return newton.one_step(at, self._stopping, STEP_ACCURACY)


def _factored(M: Floats) -> tuple[Floats, bool]:
    """Factor a symmetric matrix; LAPACK reads columns first, so the transpose is not copied."""
    factor: tuple[Floats, bool] = cho_factor(M.T, check_finite=False)
    return factor


class _KeptHessian:
    """The Hessian of the losses of one output, computed again after it has changed."""

    def __init__(self, space: Space) -> None:
        self.whole = WholeHessian(space)
        self._raw = self._h = np.zeros(0)
        self._n_turns = self._n_sample = 0

    def at(self, point: Iterate) -> Floats:
        """Return the matrix at a point, without the penalty; the caller may overwrite it."""
        h, blocks = point.curvature.diagonal[0], point.blocks[0]
        diagonal = self.whole.diagonal(h, blocks)
        enough = max(len(h) // FIRST_SHARE, ROWS_PER_COEFFICIENT * len(self.whole.places))
        n = min(enough, len(h)) if self._n_turns < N_FIRST else len(h)
        self._n_turns += 1
        if n > self._n_sample or np.abs(h - self._h).sum() > SAME * h.sum():
            self._raw, self._h, self._n_sample = self.whole.raw(h, n), h, n
        before = np.einsum("kk->k", self._raw)
        there = (diagonal > 0.0) & (before > 0.0)
        scale = np.sqrt(np.divide(diagonal, before, out=np.ones_like(diagonal), where=there))
        H = self._raw * scale
        H *= scale[:, None]
        np.einsum("kk->k", H)[:] = diagonal
        return self.whole.finished(H)
