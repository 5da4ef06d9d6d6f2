"""exp(m) - m - 1 of a log-ratio m, half the deviance of counts and of positive numbers.

Nothing cancels in this form where mu is close to y:

    Poisson:  y log(y / mu) - y + mu   =  y (exp(m) - m - 1),     m = f - log y,
    gamma:    y / mu - 1 - log(y / mu) =  exp(m) - m - 1,         m = log y - f.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.special import entr, logsumexp

from splinear._types import Floats
from splinear.losses.base import Link
from splinear.losses.margin import MarginLoss, T

__all__ = ["HalfDeviance"]

LARGEST = 500.0  # m is clipped here, because exp would soon overflow; no fit ends there


class HalfDeviance(MarginLoss):
    """exp(m) - m - 1; its dual variable is in (-inf, c]."""

    link: ClassVar[Link | None] = "log"

    def of_margin(self, m: Floats) -> Floats:
        """Return the loss."""
        return np.expm1(np.minimum(m, LARGEST)) - m

    def derivatives(self, m: Floats) -> tuple[Floats, Floats]:
        """Return both derivatives."""
        slope: Floats = np.expm1(np.minimum(m, LARGEST))
        return slope, np.exp(np.minimum(m, LARGEST))

    def caution(self, m: Floats) -> Floats:
        """Return the curvature of the parabola with the loss's minimum at 0 and its slope at m."""
        return self.derivatives(m)[0] / m

    def dual(self, alpha: Floats, cost: Floats) -> Floats:
        """Return c (r - r log r - 1), where r = 1 - alpha / c is exp(m) at the optimal alpha."""
        ratio = np.maximum(1.0 - alpha / cost, 0.0)
        dual: Floats = cost * (entr(ratio) + ratio - 1.0)
        return dual

    def range(self, cost: T) -> tuple[T | float, T | float]:
        """(-inf, c]."""
        return -np.inf, cost

    def margin_shift(self, m: Floats, cost: Floats) -> float | None:
        """Return log(sum(c) / sum(c exp(m))), the shift of m at which the slopes sum to 0."""
        counts = cost > 0  # m may be anything where the cost is 0
        cost = cost[counts]
        return float(np.log(cost.sum()) - logsumexp(m[counts], b=cost))
