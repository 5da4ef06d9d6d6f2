"""Losses of numbers whose mean is mu = exp(f(x)): counts (Poisson), and positive numbers (gamma).

Each is half the unit deviance, which is minus the log-likelihood up to what f does not change, and
is 0 at least. By one function of the logarithm of a ratio both are

    Poisson:  y log(y / mu) - y + mu   =  y (exp(m) - m - 1),     m = f - log y,
    gamma:    y / mu - 1 - log(y / mu) =  exp(m) - m - 1,         m = log y - f,

so that y goes into the costs of counts, and nothing cancels where mu is close to y.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, entr, logsumexp, polygamma

from splinear._types import Floats
from splinear.solvers.problems.losses import SmoothLoss, T

__all__ = ["Gamma", "HalfDeviance", "Poisson"]

LARGEST = 500.0  # of m: what lies beyond would soon be infinite, and is not where a fit ends
SMALL_DEVIANCE = 1e-3  # at which the first guess of a dispersion has all digits that count
N_CORRECTIONS = 5  # of that guess; each squares its error


@dataclass(frozen=True)
class HalfDeviance(SmoothLoss):
    """exp(m) - m - 1; its dual variable lies in (-inf, c]."""

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
        """Return the curvature of the parabola that is least at 0, as the loss is."""
        return self.slope(m) / m

    def dual(self, alpha: Floats, cost: Floats) -> Floats:
        """Return c (r - r log r - 1), r = 1 - alpha / c being exp(m) where alpha belongs to m."""
        ratio = np.maximum(1.0 - alpha / cost, 0.0)
        dual: Floats = cost * (entr(ratio) + ratio - 1.0)
        return dual

    def range(self, cost: T) -> tuple[T | float, T | float]:
        """(-inf, c]."""
        return -np.inf, cost

    def shift(self, m: Floats, cost: Floats) -> float | None:
        """Return the logarithm of sum(c) / sum(c exp(m)), at which the slopes sum to 0."""
        counts = cost > 0  # of the others m may be anything
        cost = cost[counts]
        return float(np.log(cost.sum()) - logsumexp(m[counts], b=cost))


@dataclass(frozen=True)
class Poisson(HalfDeviance):
    """A count y, or a rate, by c = y times its weight and m = f - log y.

    It is a log-likelihood where the variance is the mean. Counts often vary more: the losses, over
    the ratio of both, are then a quasi-likelihood.
    """

    @property
    def has_dispersion(self) -> bool:
        """Whether the dispersion is to be estimated: it is."""
        return True

    @property
    def uses_pearson(self) -> bool:
        """Whether Pearson's statistic tells: yes, as the deviance of small counts is too small."""
        return True

    def dispersion(self, misfit: float) -> float:
        """Return the ratio of variance and mean; 1 for counts that vary less than Poisson's."""
        return max(1.0, misfit)


@dataclass(frozen=True)
class Gamma(HalfDeviance):
    """A positive number by m = log y - f: a log-likelihood but for the dispersion."""

    @property
    def has_dispersion(self) -> bool:
        """Whether the dispersion is to be estimated: it is."""
        return True

    def dispersion(self, misfit: float) -> float:
        """Return the most likely 1 / k, k being the shape: log k - digamma(k) = misfit / 2.

        The deviance itself would be too large, by 15 % for a dispersion of 1.
        """
        s = 0.5 * misfit
        k = (3.0 - s + np.sqrt((s - 3.0) ** 2 + 24.0 * s)) / (12.0 * s)  # off by 1.5 % at most
        if misfit > SMALL_DEVIANCE:
            for _ in range(N_CORRECTIONS):
                wrong = np.log(k) - digamma(k) - s
                k = 1.0 / (1.0 / k + wrong / (k * k * (1.0 / k - polygamma(1, k))))
        return float(1.0 / k)
