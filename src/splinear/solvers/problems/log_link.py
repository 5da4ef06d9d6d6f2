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
from scipy.special import digamma, entr, logsumexp, polygamma

from splinear._types import Floats
from splinear.solvers.problems.losses import SmoothLoss, T

__all__ = ["Gamma", "HalfDeviance", "Poisson"]

LARGEST = 500.0  # m is clipped here, because exp would soon overflow; no fit ends there
SMALL_DEVIANCE = 1e-3  # below it the first estimate of the dispersion is accurate enough
N_CORRECTIONS = 5  # Newton steps that improve this estimate


@dataclass(frozen=True)
class HalfDeviance(SmoothLoss):
    """Half deviance exp(m) - m - 1; its dual variable is in (-inf, c]."""

    farthest = 3.0

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

    @property
    def has_dispersion(self) -> bool:
        """True: the dispersion is estimated."""
        return True

    @property
    def uses_pearson(self) -> bool:
        """True, because the deviance underestimates the dispersion of small counts."""
        return True

    def dispersion(self, misfit: float) -> float:
        """Return the ratio of variance and mean, at least 1."""
        return max(1.0, misfit)


@dataclass(frozen=True)
class Gamma(HalfDeviance):
    """Loss of a positive number y, with m = log y - f; the dispersion is estimated."""

    @property
    def has_dispersion(self) -> bool:
        """True: the dispersion is estimated."""
        return True

    def dispersion(self, misfit: float) -> float:
        """Return 1 / k for the maximum likelihood shape k: log k - digamma(k) = misfit / 2.

        The mean deviance itself would be too large, by 15 % for a dispersion of 1.
        """
        s = 0.5 * misfit
        k = (3.0 - s + np.sqrt((s - 3.0) ** 2 + 24.0 * s)) / (12.0 * s)  # error below 1.5 %
        if misfit > SMALL_DEVIANCE:
            for _ in range(N_CORRECTIONS):
                wrong = np.log(k) - digamma(k) - s
                k = 1.0 / (1.0 / k + wrong / (k * k * (1.0 / k - polygamma(1, k))))
        return float(1.0 / k)
