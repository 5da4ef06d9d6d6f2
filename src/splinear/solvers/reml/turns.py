"""How models follow while their smoothness is chosen: one Newton step per turn and layout.

- `StepTurns`: steps by products with the Hessian, which are passes over the rows. If there are so
  few rows that these are faster than factoring H, the steps are nearly exact as well.
- `DirectTurns`: if the whole Hessian H of the losses can be formed quickly, a turn solves
  (H + S) s = -gradient for its step s. As long as the second derivatives of the rows change little,
  H is not computed again: the row and column of every function are scaled such that the diagonal is
  the current one. If a model becomes certain about some rows, their derivatives vanish, and in
  these directions steps would otherwise be far too short.

Where there are few coefficients, the inverse of H + S measures every curve beside all others. It
costs three times as much as a factor; for more, and for several classes, curves are measured as if
all others were known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dtrtri

from splinear._types import Floats
from splinear.model.factoring import factor_with
from splinear.model.layout import Layout
from splinear.solvers.newton import descent as newton
from splinear.solvers.newton.iterate import Iterate, Space
from splinear.solvers.newton.part import Part
from splinear.solvers.newton.whole_hessian import WholeHessian, entries_per_row
from splinear.solvers.problems.problem import Stopping
from splinear.solvers.reml.posterior import Measures

__all__ = ["Turns", "measures_at", "turns_from"]

STEP_ACCURACY = 0.1  # relative residual of a step by products
MOST_COEFFICIENTS = 1_000  # largest number of coefficients that a turn solves for at once
# Factoring H may cost as much as this many products; it costs n^3 / 30 for n coefficients.
AS_MANY = 75
CLOSELY = 1e-3  # relative to the tolerance, for steps by products in place of a factor
MOST_TOGETHER = 250  # coefficients whose covariances are computed beside each other in every turn
MOST_PRODUCTS = 24  # of functions per value of X to form H; above, steps by products are faster
SAME = 0.05  # relative change of all second derivatives below which H is not computed again
# In the first turns H is formed from one in this many rows, if that is enough.
N_FIRST, FIRST_SHARE, ROWS_PER_COEFFICIENT = 3, 4, 12
N_MEASURED = 50_000  # rows that H is formed from where it is not followed
ROUNDING = 1e-9  # relative to the objective; codes are summed in single precision


class Turns(Protocol):
    """Models that follow the changes of a layout."""

    def follow(self, layout: Layout) -> list[Iterate]:
        """Return the models of all sums after a turn with this layout."""
        ...

    def measures(self) -> list[Measures]:
        """Return the measures of the last layout at these models."""
        ...


def turns_from(points: list[Iterate], stopping: Stopping) -> Turns:
    """Return the turns that should be faster, beginning at these points."""
    if not _is_solved_at_once(points):
        return StepTurns(points, stopping)
    if not _is_factored(points[0].space):
        return StepTurns(points, replace(stopping, tol=CLOSELY * stopping.tol))
    return DirectTurns(points, stopping)


def measures_at(points: list[Iterate]) -> list[Measures]:
    """Return the measures of all terms, beside each other where the Hessian is factored."""
    if _is_solved_at_once(points) and _is_measured_together(points[0].space):
        return _measured(points, [_factored_from_some(point) for point in points])
    return Measures.of_all(points, points[0].space.layout)


def _factored_from_some(point: Iterate) -> _Factored:
    """Return the factor of the Hessian of about N_MEASURED rows."""
    all_rows = Part(point, point.space.n_rows + 1)
    space, curvature, seen, calibration = all_rows.of_dense(N_MEASURED)
    more = () if calibration is None else calibration.matrices(0)
    whole = WholeHessian(space)
    n = min(N_MEASURED, space.n_rows)
    return _Factored.at(point, whole, whole.of_losses(curvature.diagonal[0], seen[0], n, more))


def _is_solved_at_once(points: list[Iterate]) -> bool:
    """Return whether the Hessian is quickly formed."""
    space = points[0].space
    is_cheap = 0.5 * space.n_rows * entries_per_row(space) ** 2 <= (
        MOST_PRODUCTS * space.rows.n_values
    )
    is_small = int(space.used.sum()) <= MOST_COEFFICIENTS and not space.layout.pairs
    is_single = space.is_free and all(point.space.n_outputs == 1 for point in points)
    return is_cheap and is_small and is_single and space.cone is None


def _is_measured_together(space: Space) -> bool:
    """Return whether the inverse of the Hessian is quickly computed."""
    return int(space.used.sum()) <= MOST_TOGETHER


def _is_factored(space: Space) -> bool:
    """Return whether a factor of the Hessian costs less than the products of a step."""
    if _is_measured_together(space):
        return True
    price_of_products = AS_MANY * space.rows.value_price * space.rows.n_values
    return int(space.used.sum()) ** 3 / 30 <= price_of_products


class StepTurns:
    """Steps by products with the Hessian."""

    def __init__(self, points: list[Iterate], stopping: Stopping) -> None:
        self._points, self._stopping = points, stopping

    def follow(self, layout: Layout) -> list[Iterate]:
        """Return the points after a step with this layout."""
        before, how = [point.under(layout) for point in self._points], self._stopping
        self._points = [newton.one_step(point, how, STEP_ACCURACY) for point in before]
        return self._points

    def measures(self) -> list[Measures]:
        """Return the measures of every term as if all other terms were known."""
        return Measures.of_all(self._points, self._points[0].space.layout)


class DirectTurns:
    """Steps by factoring the Hessian."""

    def __init__(self, points: list[Iterate], stopping: Stopping) -> None:
        self._points, self._stopping = points, stopping
        self._hessians = [_KeptHessian(point.space) for point in points]
        self._factors: list[_Factored] = []

    def follow(self, layout: Layout) -> list[Iterate]:
        """Return the points after a step with this layout."""
        before = [point.under(layout) for point in self._points]
        pairs = zip(before, self._hessians, strict=True)
        self._factors = [_Factored.at(point, own.whole, own.at(point)) for point, own in pairs]
        steps = zip(before, self._factors, strict=True)
        self._points = [self._step(point, factored) for point, factored in steps]
        return self._points

    def measures(self) -> list[Measures]:
        """Return the measures of every term, beside all others if the inverse is affordable."""
        if _is_measured_together(self._points[0].space):
            return _measured(self._points, self._factors)
        return Measures.of_all(self._points, self._points[0].space.layout)

    def _step(self, at: Iterate, factored: _Factored) -> Iterate:
        """Return the minimum of the quadratic model, or a cautious step if P increases there."""
        places, step = factored.whole.places, at.space.zeros()
        step[0, places] = cho_solve(
            factored.factor, np.append(-at.gradient[0, places[:-1]], 0.0), check_finite=False
        )
        step = at.space.leveled(step)
        there = Iterate(
            at.space, at.total, at.theta + step, at.space.moved(at.F, at.space.scores(step))
        )
        if there.value <= at.value * (1.0 + ROUNDING):
            return there
        return newton.one_step(at, self._stopping, STEP_ACCURACY)


@dataclass(frozen=True, eq=False)
class _Factored:
    """The Cholesky factor of H + S for one output.

    Attributes
    ----------
    factor : tuple of ndarray and bool
        As of `scipy.linalg.cho_factor`: an upper triangle.
    of_b : float
        The second derivative with respect to the intercept.
    """

    whole: WholeHessian
    factor: tuple[Floats, bool]
    of_b: float

    @classmethod
    def at(cls, point: Iterate, whole: WholeHessian, H: Floats) -> _Factored:
        """Add the penalty of the point's layout to H in place, and factor the sum."""
        whole.add_penalty(H, point.space.layout)
        of_b = float(H[-1, -1])
        return cls(whole, factor_with(_factored, H, np.einsum("kk->k", H)), of_b)

    def covariances(self, layout: Layout) -> list[Floats]:
        """Return the covariances of the parameters of every curve, one array per group."""
        root = np.triu(dtrtri(self.factor[0])[0])
        return self.whole.covariances(root, layout, self.of_b)


def _measured(points: list[Iterate], factors: list[_Factored]) -> list[Measures]:
    """Return the measures of all terms beside each other."""
    layout = points[0].space.layout
    found = [factored.covariances(layout) for factored in factors]
    return [
        Measures.of_covariances(points, g, group, [own[g] for own in found])
        for g, group in enumerate(layout.groups)
    ]


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
