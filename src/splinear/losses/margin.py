"""Losses of one number per row, the margin m = s f - t, with their duals.

For classes s is -1 or 1 and m = s f(x) is the margin; for numbers m is a residual, as f(x) - y. The
primal objective is 1/2 |w|^2 + sum_i c_i loss(m_i). Dual coordinate descent needs the dual
objective, sum_i dual(a_i, c_i) - 1/2 |w|^2 with w = sum_i a_i s_i phi_i (plus sum_i a_i t_i), and
the best step along one coordinate. The duality gap is a sum of one nonnegative part per row, c
loss(m) - dual(a, c) + a m. A loss of this form is computed by the compiled core, if it has a twin
there.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from splinear import _core
from splinear._types import AnyArray, Floats
from splinear.losses.base import Loss, Offset
from splinear.losses.curvature import Curvature, Diagonal

__all__ = ["MarginLoss", "Posed", "T"]

T = TypeVar("T", float, Floats)

NEARLY_STRAIGHT = 1.0  # distance on the wrong side from which on losses are nearly linear
ROUNDING = 1e-12  # relative tolerance for the bounds of dual variables


class Posed(NamedTuple):
    """What makes margins of scores: m = sign f - target; values are multiplied by `factor`."""

    sign: NDArray[np.int8]
    target: Floats | None = None
    factor: Floats | None = None

    def margin(self, f: Floats) -> Floats:
        """Return the margins of scores (n,)."""
        signed: Floats = self.sign * f
        return signed if self.target is None else signed - self.target

    def times(self, values: Floats) -> Floats:
        """Return values (n,) multiplied by `factor`."""
        return values if self.factor is None else self.factor * values


class MarginLoss(Loss):
    """A convex loss of one margin per row."""

    convex = True

    def posed(self, y: AnyArray, offset: Offset = None) -> Posed:
        """Return what makes margins of y (n,) and scores less the offset (n,)."""
        raise NotImplementedError

    # -- of margins ------------------------------------------------------------------------------

    def of_margin(self, m: Floats) -> Floats:
        """Return the loss."""
        raise NotImplementedError

    def derivatives(self, m: Floats) -> tuple[Floats, Floats]:
        """Return the first two derivatives, in new arrays; only smooth losses have them."""
        raise NotImplementedError

    def caution(self, m: Floats) -> Floats:
        """Return a curvature for m < 0 far on the wrong side, where the loss is nearly linear.

        It is that of a parabola that touches the loss at m and at -m.
        """
        return (self.derivatives(m)[0] - self.derivatives(-m)[0]) / (2.0 * m)

    def dual(self, alpha: Floats, cost: Floats) -> Floats:
        """Return each row's part of the dual, min_m c loss(m) + alpha m."""
        raise NotImplementedError

    def range(self, cost: T) -> tuple[T | float, T | float]:
        """Return the bounds of alpha."""
        raise NotImplementedError

    def step(self, alpha: float, m: float, curvature: float, cost: float) -> float:
        """Return the alpha that maximizes the dual along one coordinate."""
        raise NotImplementedError

    def dual_gap(self, alpha: Floats, m: Floats, cost: Floats) -> Floats:
        """Return each row's part of the gap, c loss(m) - dual(alpha, c) + alpha m.

        alpha must be within its bounds. Subclasses override it where there is a form without
        cancellation.
        """
        return np.maximum(0.0, cost * self.of_margin(m) - self.dual(alpha, cost) + alpha * m)

    @property
    def at_no_cost(self) -> tuple[float, float] | None:
        """The interval of m in which the loss is 0, as is the gap if alpha = 0; None if none."""
        return None

    def margin_shift(self, m: Floats, cost: Floats) -> float | None:
        """Return the constant that minimizes the sum when added to all m; None if no formula."""
        del m, cost
        return None

    def core(self) -> _core.Loss | None:
        """Return the compiled twin; None if there is none."""
        return None

    # -- of scores -------------------------------------------------------------------------------

    def value(self, y: AnyArray, f: Floats) -> Floats:
        """Return the loss of every row, (n,)."""
        posed = self.posed(y)
        return posed.times(self.of_margin(posed.margin(f)))

    def slope(self, y: AnyArray, f: Floats) -> Floats:
        """Return the first derivatives with respect to f."""
        posed = self.posed(y)
        return posed.times(posed.sign * self.derivatives(posed.margin(f))[0])

    def curvature(self, y: AnyArray, f: Floats) -> Floats:
        """Return the second derivatives with respect to f."""
        posed = self.posed(y)
        return posed.times(self.derivatives(posed.margin(f))[1])

    def cautious(self, y: AnyArray, F: Floats, cost: Floats) -> Curvature:
        """Return a larger curvature where the loss is nearly straight."""
        posed = self.posed(y)
        m = posed.margin(F[0])
        second = self.derivatives(m)[1]
        wrong = np.flatnonzero(m < -NEARLY_STRAIGHT)
        second[wrong] = self.caution(m[wrong])
        return Diagonal((cost * posed.times(second))[None])

    def gap(self, y: AnyArray, F: Floats, R: Floats) -> Floats:
        """Return value(y, f) + conjugate(y, r) - r f per row, by the dual, with r = -s alpha."""
        posed = self.posed(y)
        cost = np.ones(F.shape[1]) if posed.factor is None else posed.factor
        alpha = -posed.sign * R[0]
        feasible = np.clip(alpha, *self.range(cost))
        gap = self.dual_gap(feasible, posed.margin(F[0]), cost)
        return np.where(np.abs(alpha - feasible) <= ROUNDING * cost, gap, np.inf)

    def shift(self, y: AnyArray, f: Floats, cost: Floats) -> float | None:
        """Return the constant that minimizes the sum when added to f; None if no formula."""
        posed = self.posed(y)
        known = self.margin_shift(posed.margin(f), posed.times(cost))
        return None if known is None else float(posed.sign[0]) * known  # one sign if a formula
