"""Losses with a log link, mu = exp(f(x)): Poisson for counts, gamma for positive numbers.

Each loss is half the unit deviance: the negative log-likelihood up to a constant, and at least 0.
Both can be written as one function of a log-ratio m,

    Poisson:  y log(y / mu) - y + mu   =  y (exp(m) - m - 1),     m = f - log y,
    gamma:    y / mu - 1 - log(y / mu) =  exp(m) - m - 1,         m = log y - f,

where the factor y becomes part of the costs of counts. Nothing cancels where mu is close to y.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import entr, logsumexp

from splinear._types import Floats
from splinear.solvers.problems.losses import SmoothLoss, T

__all__ = ["Gamma", "HalfDeviance", "Poisson"]

LARGEST = 500.0  # m is clipped here, because exp would soon overflow; no fit ends there


@dataclass(frozen=True)
class HalfDeviance(SmoothLoss):
    """Half deviance exp(m) - m - 1; its dual variable is in (-inf, c]."""

    farthest = 3.0
    is_likelihood = False  # the dispersion is estimated

    def value(self, m: Floats) -> Floats:
        """Return the loss."""
        return np.expm1(np.minimum(m, LARGEST)) - m

    def slope(self, m: Floats) -> Floats:
        """Return the first derivative."""
        return np.expm1(np.minimum(m, LARGEST))

    def curvature(self, m: Floats) -> Floats:
        """Return the second derivative."""
        return np.exp(np.minimum(m, LARGEST))

    def caution(self, m: Floats) -> Floats:
        """Return the curvature of the parabola with the loss's minimum at 0 and its slope at m."""
        return self.slope(m) / m

    def dual(self, alpha: Floats, cost: Floats) -> Floats:
        """Return c (r - r log r - 1), where r = 1 - alpha / c is exp(m) at the optimal alpha."""
        ratio = np.maximum(1.0 - alpha / cost, 0.0)
        dual: Floats = cost * (entr(ratio) + ratio - 1.0)
        return dual

    def range(self, cost: T) -> tuple[T | float, T | float]:
        """(-inf, c]."""
        return -np.inf, cost

    def shift(self, m: Floats, cost: Floats) -> float | None:
        """Return log(sum(c) / sum(c exp(m))), the shift of m at which the slopes sum to 0."""
        counts = cost > 0  # m may be anything where the cost is 0
        cost = cost[counts]
        return float(np.log(cost.sum()) - logsumexp(m[counts], b=cost))


@dataclass(frozen=True)
class Poisson(HalfDeviance):
    """Loss of a count or rate y, with c = y times its weight and m = f - log y.

    It is a negative log-likelihood if the variance equals the mean. Counts often vary more; then
    the losses divided by the ratio of variance and mean are a quasi-likelihood.
    """


@dataclass(frozen=True)
class Gamma(HalfDeviance):
    """Loss of a positive number y, with m = log y - f; the dispersion is estimated."""
