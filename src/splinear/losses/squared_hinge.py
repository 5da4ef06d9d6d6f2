"""The squared hinge loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from splinear import _core
from splinear._types import Floats
from splinear.losses.margin import T
from splinear.losses.sides import SideLoss

__all__ = ["SquaredHinge"]


@dataclass(frozen=True, eq=False)
class SquaredHinge(SideLoss):
    """max(0, 1 - m)^2; its dual variable lies in [0, inf).

    Examples
    --------
    >>> import numpy as np
    >>> from splinear.losses import SquaredHinge
    >>> SquaredHinge().value(np.array([1, -1]), np.array([0.5, 0.5])).round(3)
    array([0.25, 2.25])
    """

    name = "squared_hinge"

    def of_margin(self, m: Floats) -> Floats:
        """Return the loss."""
        return np.maximum(0.0, 1.0 - m) ** 2

    def derivatives(self, m: Floats) -> tuple[Floats, Floats]:
        """Return both derivatives; at 1, where there is no second, that of larger m."""
        return -2.0 * np.maximum(0.0, 1.0 - m), np.where(m < 1.0, 2.0, 0.0)

    def caution(self, m: Floats) -> Floats:
        """Return the second derivative, because the loss is a parabola for m < 1."""
        return np.where(m < 1.0, 2.0, 0.0)

    def dual(self, alpha: Floats, cost: Floats) -> Floats:
        """Return alpha - alpha^2 / (4 c)."""
        return alpha - alpha**2 / (4.0 * cost)

    def range(self, cost: T) -> tuple[T | float, T | float]:
        """[0, inf)."""
        del cost
        return 0.0, np.inf

    def step(self, alpha: float, m: float, curvature: float, cost: float) -> float:
        """Return the best alpha along one coordinate."""
        slope = 1.0 - m - alpha / (2.0 * cost)
        return max(0.0, alpha + slope / (curvature + 1.0 / (2.0 * cost)))

    def dual_gap(self, alpha: Floats, m: Floats, cost: Floats) -> Floats:
        """Return each row's part of the gap."""
        inside = cost * (1.0 - m - alpha / (2.0 * cost)) ** 2
        return np.where(m < 1.0, inside, alpha * (m - 1.0) + alpha**2 / (4.0 * cost))

    @property
    def at_no_cost(self) -> tuple[float, float] | None:
        """(1, inf)."""
        return 1.0, np.inf

    def core(self) -> _core.Loss:
        """Return the compiled twin."""
        return _core.squared_hinge()
