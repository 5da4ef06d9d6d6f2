"""Losses of one number per row, with what the solvers need of them.

Classification: the number is the margin m = y f(x), y being -1 or 1. Regression: it is the
residual m = f(x) - y. The primal is 1/2 |w|^2 + sum_i c_i value(m_i). Dual coordinate descent needs
the dual, sum_i dual(a_i, c_i) - 1/2 |w|^2 with w = sum_i a_i y_i phi_i (and sum_i a_i y_i more for
regression), and the best step along one coordinate; the gap between the two is a sum of one
non-negative part per row, c value(m) - dual(a, c) + a m. Newton's method needs the first two
derivatives, and takes only losses that have them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from scipy.optimize import brentq
from scipy.special import entr, expit

from splinear import _core
from splinear._types import Floats

__all__ = [
    "LOSSES",
    "ConvexLoss",
    "EpsilonInsensitive",
    "Hinge",
    "Logistic",
    "Loss",
    "SmoothLoss",
    "SquaredError",
    "SquaredHinge",
]


T = TypeVar("T", float, Floats)


class ConvexLoss(Protocol):
    """A loss and its dual: what a proof needs of it."""

    def value(self, m: Floats) -> Floats:
        """Return the loss."""
        ...

    def dual(self, alpha: Floats, cost: Floats) -> Floats:
        """Return each row's part of the dual, min_m c value(m) + alpha m."""
        ...

    def range(self, cost: T) -> tuple[T | float, T | float]:
        """Return the ends between which alpha lies."""
        ...


@runtime_checkable
class Loss(ConvexLoss, Protocol):
    """What dual coordinate descent needs."""

    def step(self, alpha: float, m: float, curvature: float, cost: float) -> float:
        """Return the alpha that maximizes the dual along one coordinate."""
        ...

    def core(self) -> _core.Loss:
        """Return the compiled twin."""
        ...


class SmoothLoss(ConvexLoss, Protocol):
    """What Newton's method needs."""

    def slope(self, m: Floats) -> Floats:
        """Return the first derivative."""
        ...

    def curvature(self, m: Floats) -> Floats:
        """Return the second derivative."""
        ...

    def derivatives(self, m: Floats) -> tuple[Floats, Floats]:
        """Return both derivatives, which may have much in common, in arrays of their own."""
        return self.slope(m), self.curvature(m)


@dataclass(frozen=True)
class Hinge:
    """max(0, 1 - m); its dual variable lies in [0, c]."""

    def value(self, m: Floats) -> Floats:
        """Return the loss."""
        return np.maximum(0.0, 1.0 - m)

    def dual(self, alpha: Floats, cost: Floats) -> Floats:
        """Return alpha."""
        del cost
        return alpha

    def step(self, alpha: float, m: float, curvature: float, cost: float) -> float:
        """Return the best alpha along one coordinate."""
        return float(np.clip(alpha + (1.0 - m) / curvature, 0.0, cost))

    def range(self, cost: T) -> tuple[T | float, T | float]:
        """[0, c]."""
        return 0.0, cost

    def core(self) -> _core.Loss:
        """Return the compiled twin."""
        return _core.hinge()


@dataclass(frozen=True)
class SquaredHinge(SmoothLoss):
    """max(0, 1 - m)^2; its dual variable lies in [0, inf)."""

    def value(self, m: Floats) -> Floats:
        """Return the loss."""
        return np.maximum(0.0, 1.0 - m) ** 2

    def slope(self, m: Floats) -> Floats:
        """Return the first derivative."""
        return -2.0 * np.maximum(0.0, 1.0 - m)

    def curvature(self, m: Floats) -> Floats:
        """Return the second derivative; at 1, where there is none, that of larger m."""
        return np.where(m < 1.0, 2.0, 0.0)

    def dual(self, alpha: Floats, cost: Floats) -> Floats:
        """Return alpha - alpha^2 / (4 c)."""
        return alpha - alpha**2 / (4.0 * cost)

    def step(self, alpha: float, m: float, curvature: float, cost: float) -> float:
        """Return the best alpha along one coordinate."""
        slope = 1.0 - m - alpha / (2.0 * cost)
        return max(0.0, alpha + slope / (curvature + 1.0 / (2.0 * cost)))

    def range(self, cost: T) -> tuple[T | float, T | float]:
        """[0, inf)."""
        del cost
        return 0.0, np.inf

    def core(self) -> _core.Loss:
        """Return the compiled twin."""
        return _core.squared_hinge()


@dataclass(frozen=True)
class Logistic(SmoothLoss):
    """log(1 + exp(-m)); its dual variable lies in [0, c]."""

    def value(self, m: Floats) -> Floats:
        """Return the loss."""
        return np.logaddexp(0.0, -m)

    def slope(self, m: Floats) -> Floats:
        """Return the first derivative."""
        slope: Floats = -expit(-m)
        return slope

    def curvature(self, m: Floats) -> Floats:
        """Return the second derivative."""
        rare = expit(-np.abs(m))  # the smaller of both probabilities, to all its digits
        curvature: Floats = rare * (1.0 - rare)
        return curvature

    def derivatives(self, m: Floats) -> tuple[Floats, Floats]:
        """Return both derivatives, by one exponential."""
        rare = expit(-np.abs(m))
        often = 1.0 - rare
        return -np.where(m > 0.0, rare, often), rare * often

    def dual(self, alpha: Floats, cost: Floats) -> Floats:
        """Return c times the entropy of alpha / c."""
        share = np.clip(alpha / cost, 0.0, 1.0)
        dual: Floats = cost * (entr(share) + entr(1.0 - share))
        return dual

    def step(self, alpha: float, m: float, curvature: float, cost: float) -> float:
        """Return the best alpha along one coordinate: the root of the dual's slope."""

        def slope(u: float) -> float:  # in u = log((c - alpha) / alpha)
            return float(u - m - curvature * (cost * expit(-u) - alpha))

        low, high = m - curvature * alpha, m + curvature * (cost - alpha)
        return float(cost * expit(-brentq(slope, low - 1e-9, high + 1e-9, xtol=1e-14)))

    def range(self, cost: T) -> tuple[T | float, T | float]:
        """[0, c]."""
        return 0.0, cost

    def core(self) -> _core.Loss:
        """Return the compiled twin."""
        return _core.logistic()


@dataclass(frozen=True)
class SquaredError(SmoothLoss):
    """m^2 / 2 of a residual; its dual variable is any number."""

    def value(self, m: Floats) -> Floats:
        """Return the loss."""
        return 0.5 * m**2

    def slope(self, m: Floats) -> Floats:
        """Return the first derivative."""
        return m.copy()

    def curvature(self, m: Floats) -> Floats:
        """Return the second derivative."""
        return np.ones_like(m)

    def dual(self, alpha: Floats, cost: Floats) -> Floats:
        """Return -alpha^2 / (2 c)."""
        return -(alpha**2) / (2.0 * cost)

    def step(self, alpha: float, m: float, curvature: float, cost: float) -> float:
        """Return the best alpha along one coordinate."""
        return alpha + (-m - alpha / cost) / (curvature + 1.0 / cost)

    def range(self, cost: T) -> tuple[T | float, T | float]:
        """All numbers."""
        del cost
        return -np.inf, np.inf

    def core(self) -> _core.Loss:
        """Return the compiled twin."""
        return _core.squared_error()


@dataclass(frozen=True)
class EpsilonInsensitive:
    """max(0, |m| - epsilon) of a residual; its dual variable lies in [-c, c]."""

    epsilon: float = 0.1

    def value(self, m: Floats) -> Floats:
        """Return the loss."""
        return np.maximum(0.0, np.abs(m) - self.epsilon)

    def dual(self, alpha: Floats, cost: Floats) -> Floats:
        """Return -epsilon |alpha|."""
        del cost
        return -self.epsilon * np.abs(alpha)

    def step(self, alpha: float, m: float, curvature: float, cost: float) -> float:
        """Return the best alpha along one coordinate."""
        goal = alpha - m / curvature
        shrunk = np.sign(goal) * max(0.0, abs(goal) - self.epsilon / curvature)
        return float(np.clip(shrunk, -cost, cost))

    def range(self, cost: T) -> tuple[T | float, T | float]:
        """[-c, c]."""
        return -cost, cost

    def core(self) -> _core.Loss:
        """Return the compiled twin."""
        return _core.epsilon_insensitive(self.epsilon)


LOSSES: dict[str, Loss] = {
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "logistic": Logistic(),
    "squared_error": SquaredError(),
    "epsilon_insensitive": EpsilonInsensitive(),
}
