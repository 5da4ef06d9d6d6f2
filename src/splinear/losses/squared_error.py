"""Half the squared error of a number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from splinear import _core
from splinear._types import AnyArray, Floats
from splinear.losses.base import Offset
from splinear.losses.margin import MarginLoss, Posed, T

__all__ = ["SquaredError"]


@dataclass(frozen=True)
class SquaredError(MarginLoss):
    """(f - y)^2 / 2; the dispersion is the variance of the residuals.

    Solvers see y less its mean, because sums of squares would lose digits.

    Examples
    --------
    >>> import numpy as np
    >>> from splinear.losses import SquaredError
    >>> SquaredError().value(np.array([1.0, 2.0]), np.array([1.0, 4.0])).round(3)
    array([0., 2.])
    """

    name = "squared_error"
    power = 0.0
    quadratic = True

    def coded(self, y: AnyArray, offset: Offset) -> tuple[AnyArray, Offset]:
        """Return y less its mean and the offset, in its unit."""
        left = y if offset is None else y - offset
        return (left - self.center) / self.unit, None

    def posed(self, y: AnyArray, offset: Offset = None) -> Posed:
        """M = f - y."""
        return Posed(np.ones(len(y), dtype=np.int8), y if offset is None else y - offset)

    def of_margin(self, m: Floats) -> Floats:
        """Return the loss."""
        return 0.5 * m**2

    def derivatives(self, m: Floats) -> tuple[Floats, Floats]:
        """Return both derivatives."""
        return m.copy(), np.ones_like(m)

    def caution(self, m: Floats) -> Floats:
        """Return the second derivative, because the loss is a parabola."""
        return np.ones_like(m)

    def dual(self, alpha: Floats, cost: Floats) -> Floats:
        """Return -alpha^2 / (2 c)."""
        return -(alpha**2) / (2.0 * cost)

    def range(self, cost: T) -> tuple[T | float, T | float]:
        """All numbers."""
        del cost
        return -np.inf, np.inf

    def step(self, alpha: float, m: float, curvature: float, cost: float) -> float:
        """Return the best alpha along one coordinate."""
        return alpha + (-m - alpha / cost) / (curvature + 1.0 / cost)

    def dual_gap(self, alpha: Floats, m: Floats, cost: Floats) -> Floats:
        """Return each row's part of the gap."""
        return 0.5 * cost * (m + alpha / cost) ** 2

    def margin_shift(self, m: Floats, cost: Floats) -> float | None:
        """Return minus the mean of m."""
        in_all = float(cost.sum())
        return -float(m @ cost) / in_all if in_all > 0 else 0.0

    def core(self) -> _core.Loss:
        """Return the compiled twin."""
        return _core.squared_error()
