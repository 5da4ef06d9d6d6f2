"""How models follow while their smoothness is chosen: one Newton step per turn and layout.

- `StepTurns`: steps by products with the Hessian, which are passes over the rows. If there are so
  few rows that these are faster than factoring H, the steps are nearly exact as well.
- `DirectTurns`: if the whole Hessian H of the losses can be formed quickly, a turn solves
  (H + S) s = -gradient for its step s. H is that of all rows, and is kept while their second
  derivatives hardly change: approximations from fewer rows depend on which function of a curve the
  intercept replaces, so that a curve would not be fitted like its mirror image.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from splinear._types import Floats
from splinear.model.factoring import factor_with
from splinear.model.layout import Layout
from splinear.objective.loss_sums import LossSum
from splinear.objective.point import Point
from splinear.objective.problem import Stopping
from splinear.objective.step import Step
from splinear.objective.whole_hessian import KeptHessian, entries_per_row
from splinear.solvers import newton

__all__ = ["Turns", "turns_from"]

STEP_ACCURACY = 0.1  # relative residual of a step by products
MOST_COEFFICIENTS = 1_000  # largest number of coefficients that a turn solves for at once
# Factoring H may cost as much as this many products; it costs n^3 / 30 for n coefficients. Steps
# take about 10, and follow nearly as well: cod_rna, where it costs 38, takes 0.23 s, not 0.58 s.
AS_MANY = 12
CLOSELY = 0.1  # relative to the tolerance, for steps by products in place of a factor
MOST_PRODUCTS = 24  # of functions per value of X to form H; above, steps by products are faster
ROUNDING = 1e-9  # relative to the objective; codes are summed in single precision


class Turns(Protocol):
    """Models that follow the changes of a layout."""

    def follow(self, layout: Layout) -> list[Point]:
        """Return the models of all sums after a turn with this layout."""
        ...

    def renew(self, totals: Sequence[LossSum]) -> None:
        """Go on with other losses."""
        ...


def turns_from(points: list[Point], stopping: Stopping) -> Turns:
    """Return the turns that should be faster, beginning at these points."""
    space = points[0].space
    is_cheap = 0.5 * space.n_rows * entries_per_row(space) ** 2 <= (
        MOST_PRODUCTS * space.rows.n_values
    )
    is_small = int(space.used.sum()) <= MOST_COEFFICIENTS and not space.layout.pairs
    is_single = space.is_free and all(
        point.space.n_outputs == 1 and not point.total.loss.n_shared for point in points
    )
    if not (is_cheap and is_small and is_single and space.cone is None):
        return StepTurns(points, stopping)
    price_of_products = AS_MANY * space.rows.value_price * space.rows.n_values
    if int(space.used.sum()) ** 3 / 30 > price_of_products:
        return StepTurns(points, replace(stopping, tol=CLOSELY * stopping.tol))
    return DirectTurns(points, stopping)


class StepTurns:
    """Steps by products with the Hessian."""

    def __init__(self, points: list[Point], stopping: Stopping) -> None:
        self._points, self._stopping = points, stopping

    def renew(self, totals: Sequence[LossSum]) -> None:
        """Go on with other losses."""
        self._points = _renewed(self._points, totals)

    def follow(self, layout: Layout) -> list[Point]:
        """Return the points after a step with this layout."""
        before, how = [point.under(layout) for point in self._points], self._stopping
        self._points = [newton.one_step(point, how, STEP_ACCURACY) for point in before]
        return self._points


class DirectTurns:
    """Steps by factoring the Hessian."""

    def __init__(self, points: list[Point], stopping: Stopping) -> None:
        self._points, self._stopping = points, stopping
        self._hessians = [KeptHessian(point.space) for point in points]

    def renew(self, totals: Sequence[LossSum]) -> None:
        """Go on with other losses."""
        self._points = _renewed(self._points, totals)

    def follow(self, layout: Layout) -> list[Point]:
        """Return the points after a step with this layout."""
        pairs = zip(self._points, self._hessians, strict=True)
        self._points = [self._step(point.under(layout), hessian) for point, hessian in pairs]
        return self._points

    def _step(self, at: Point, hessian: KeptHessian) -> Point:
        """Return the minimum of the quadratic model, or a cautious step if P increases there."""
        M, places = hessian.at(at), hessian.whole.places
        hessian.whole.add_penalty(M, at.space.layout)
        factor = factor_with(_factored, M, np.einsum("kk->k", M))
        step = at.space.zeros()
        step[0, places] = cho_solve(
            factor, np.append(-at.gradient[0, places[:-1]], 0.0), check_finite=False
        )
        there = at.moved(Step(at.space.leveled(step)))
        if there.value <= at.value * (1.0 + ROUNDING):
            return there
        return newton.one_step(at, self._stopping, STEP_ACCURACY)


def _renewed(points: list[Point], totals: Sequence[LossSum]) -> list[Point]:
    return [point.by(total) for point, total in zip(points, totals, strict=True)]


def _factored(M: Floats) -> tuple[Floats, bool]:
    """Factor a symmetric matrix; LAPACK reads columns first, so the transpose is not copied."""
    factor: tuple[Floats, bool] = cho_factor(M.T, check_finite=False)
    return factor
