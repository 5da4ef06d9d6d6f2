"""Losses of one number per row, with their duals and derivatives.

In classification this number is the margin m = y f(x), with y = -1 or 1; in regression it is the
residual m = f(x) - y. The primal objective is 1/2 |w|^2 + sum_i c_i value(m_i). Dual coordinate
descent needs the dual objective, sum_i dual(a_i, c_i) - 1/2 |w|^2 with w = sum_i a_i y_i phi_i (for
regression plus sum_i a_i t_i, with targets t_i), and the best step along one coordinate. The
duality gap is a sum of one nonnegative part per row, c value(m) - dual(a, c) + a m. Newton's method
needs the first two derivatives, and takes only losses that have them.
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
    """A convex loss and its dual, as needed for a certificate."""

    def value(self, m: Floats) -> Floats:
        """Return the loss."""
        ...

    def dual(self, alpha: Floats, cost: Floats) -> Floats:
        """Return each row's part of the dual, min_m c value(m) + alpha m."""
        ...

    def range(self, cost: T) -> tuple[T | float, T | float]:
        """Return the bounds of alpha."""
        ...

    def gap(self, alpha: Floats, m: Floats, cost: Floats) -> Floats:
        """Return each row's part of the gap, c value(m) - dual(alpha, c) + alpha m.

        alpha must be within its bounds. Subclasses override it where there is a form without
        cancellation.
        """
        return np.maximum(0.0, cost * self.value(m) - self.dual(alpha, cost) + alpha * m)

    @property
    def at_no_cost(self) -> tuple[float, float] | None:
        """The interval of m in which the loss is 0, as is the gap if alpha = 0; None if none."""
        return None


@runtime_checkable
class Loss(ConvexLoss, Protocol):
    """A loss for dual coordinate descent."""

    def step(self, alpha: float, m: float, curvature: float, cost: float) -> float:
        """Return the alpha that maximizes the dual along one coordinate."""
        ...

    def core(self) -> _core.Loss:
        """Return the compiled twin."""
        ...


class SmoothLoss(ConvexLoss, Protocol):
    """A loss for Newton's method."""

    def slope(self, m: Floats) -> Floats:
        """Return the first derivative."""
        ...

    def curvature(self, m: Floats) -> Floats:
        """Return the second derivative."""
        ...

    def derivatives(self, m: Floats) -> tuple[Floats, Floats]:
        """Return both derivatives in new arrays; subclasses may share computations."""
        return self.slope(m), self.curvature(m)

    @property
    def farthest(self) -> float:
        """Largest step of m from which a missing curvature is measured."""
        return np.inf

    def caution(self, m: Floats) -> Floats:
        """Return a curvature for m < 0 far on the wrong side, where the loss is nearly linear.

        It is that of a parabola that touches the loss at m and at -m.
        """
        return (self.slope(m) - self.slope(-m)) / (2.0 * m)

    def shift(self, m: Floats, cost: Floats) -> float | None:
        """Return the constant that minimizes the sum when added to all m; None if no formula."""
        del m, cost
        return None

    @property
    def is_likelihood(self) -> bool:
        """Whether it is a negative log-likelihood; otherwise its dispersion is estimated."""
        return True


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

    def gap(self, alpha: Floats, m: Floats, cost: Floats) -> Floats:
        """Return each row's part of the gap."""
        return np.where(m < 1.0, (cost - alpha) * (1.0 - m), alpha * (m - 1.0))

    @property
    def at_no_cost(self) -> tuple[float, float] | None:
        """(1, inf)."""
        return 1.0, np.inf


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

    def caution(self, m: Floats) -> Floats:
        """Return the second derivative, because the loss is a parabola for m < 1."""
        return self.curvature(m)

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

    def gap(self, alpha: Floats, m: Floats, cost: Floats) -> Floats:
        """Return each row's part of the gap."""
        inside = cost * (1.0 - m - alpha / (2.0 * cost)) ** 2
        return np.where(m < 1.0, inside, alpha * (m - 1.0) + alpha**2 / (4.0 * cost))

    @property
    def at_no_cost(self) -> tuple[float, float] | None:
        """(1, inf)."""
        return 1.0, np.inf


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
        rare = expit(-np.abs(m))  # the smaller probability, to full precision
        curvature: Floats = rare * (1.0 - rare)
        return curvature

    def derivatives(self, m: Floats) -> tuple[Floats, Floats]:
        """Return both derivatives, using one exponential."""
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

    def gap(self, alpha: Floats, m: Floats, cost: Floats) -> Floats:
        """Return c times the relative entropy of alpha / c to the probability at m.

        It is the sum of two nonnegative parts, p log(p / q) - p + q and the same for 1 - p and 1 -
        q.
        """
        share = np.clip(alpha / cost, 0.0, 1.0)
        off = share - expit(-m)
        return cost * (_divergence(share, off, m) + _divergence(1.0 - share, -off, -m))


@dataclass(frozen=True)
class SquaredError(SmoothLoss):
    """m^2 / 2 of a residual; its dual variable is any number."""

    is_likelihood = False  # the variance of the residuals is estimated

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

    def shift(self, m: Floats, cost: Floats) -> float | None:
        """Return minus the mean of m."""
        in_all = float(cost.sum())
        return -float(m @ cost) / in_all if in_all > 0 else 0.0

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

    def gap(self, alpha: Floats, m: Floats, cost: Floats) -> Floats:
        """Return each row's part of the gap."""
        return 0.5 * cost * (m + alpha / cost) ** 2


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

    def gap(self, alpha: Floats, m: Floats, cost: Floats) -> Floats:
        """Return each row's part of the gap."""
        beyond, size = np.abs(m) - self.epsilon, np.abs(alpha)
        outside = np.where(alpha * m <= 0.0, beyond * (cost - size), cost * beyond)
        outside += np.where(alpha * m <= 0.0, 0.0, size * (np.abs(m) + self.epsilon))
        return np.where(beyond > 0.0, outside, self.epsilon * size + alpha * m)

    @property
    def at_no_cost(self) -> tuple[float, float] | None:
        """(-epsilon, epsilon)."""
        return -self.epsilon, self.epsilon


def _divergence(p: Floats, off: Floats, m: Floats) -> Floats:
    """Return p log(p / q) - off for q = p - off = expit(-m), by a series if terms would cancel."""
    t = off / np.maximum(expit(-m), np.finfo(float).tiny)
    small = np.abs(t) < 1e-3
    t = np.where(small, t, 0.0)
    series = expit(-m) * t**2 * (0.5 - t * (1.0 / 6.0 - t * (1.0 / 12.0)))
    plain = np.maximum(0.0, p * np.logaddexp(0.0, m) - entr(p) - off)
    return np.where(small, series, plain)


LOSSES: dict[str, Loss] = {
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "logistic": Logistic(),
    "squared_error": SquaredError(),
    "epsilon_insensitive": EpsilonInsensitive(),
}
