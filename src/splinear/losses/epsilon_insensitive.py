"""The loss of support vector regression, which ignores small residuals."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from splinear import _core
from splinear._types import AnyArray, Floats
from splinear.losses.base import Offset
from splinear.losses.margin import MarginLoss, Posed, T

__all__ = ["EpsilonInsensitive"]


@dataclass(frozen=True)
class EpsilonInsensitive(MarginLoss):
    """``max(0, |f - y| - epsilon)``; the dual variable lies in [-c, c].

    Solvers see y less its mean, or less `fixed_center`: a penalized intercept would be pulled to 0.

    Examples
    --------
    >>> import numpy as np
    >>> from splinear.losses import EpsilonInsensitive
    >>> EpsilonInsensitive(0.5).value(np.array([1.0, 2.0]), np.array([1.3, 4.0])).round(3)
    array([0. , 1.5])
    """

    epsilon: float = 0.1
    fixed_center: float | None = field(default=None, repr=False)

    name = "epsilon_insensitive"
    power = 0.0  # it is judged by R^2

    @property
    def center(self) -> float:
        """The mean of y, unless another center is given."""
        return super().center if self.fixed_center is None else self.fixed_center

    @property
    def unit(self) -> float:
        """1: C and epsilon are in the unit of y."""
        return 1.0

    def coded(self, y: AnyArray, offset: Offset) -> tuple[AnyArray, Offset]:
        """Return y less its center and the offset."""
        left = y if offset is None else y - offset
        return left - self.center, None

    def posed(self, y: AnyArray, offset: Offset = None) -> Posed:
        """M = f - y."""
        return Posed(np.ones(len(y), dtype=np.int8), y if offset is None else y - offset)

    def spread(self, y: AnyArray) -> float:
        """Return the standard deviation of y; 1 if all are equal."""
        return float(np.std(y)) or 1.0

    def of_margin(self, m: Floats) -> Floats:
        """Return the loss."""
        return np.maximum(0.0, np.abs(m) - self.epsilon)

    def dual(self, alpha: Floats, cost: Floats) -> Floats:
        """Return ``-epsilon |alpha|``."""
        del cost
        return -self.epsilon * np.abs(alpha)

    def range(self, cost: T) -> tuple[T | float, T | float]:
        """[-c, c]."""
        return -cost, cost

    def step(self, alpha: float, m: float, curvature: float, cost: float) -> float:
        """Return the best alpha along one coordinate."""
        goal = alpha - m / curvature
        shrunk = np.sign(goal) * max(0.0, abs(goal) - self.epsilon / curvature)
        return float(np.clip(shrunk, -cost, cost))

    def dual_gap(self, alpha: Floats, m: Floats, cost: Floats) -> Floats:
        """Return each row's part of the gap."""
        beyond, size = np.abs(m) - self.epsilon, np.abs(alpha)
        outside = np.where(alpha * m <= 0.0, beyond * (cost - size), cost * beyond)
        outside += np.where(alpha * m <= 0.0, 0.0, size * (np.abs(m) + self.epsilon))
        return np.where(beyond > 0.0, outside, self.epsilon * size + alpha * m)

    @property
    def at_no_cost(self) -> tuple[float, float] | None:
        """(-epsilon, epsilon)."""
        return -self.epsilon, self.epsilon

    def core(self) -> _core.Loss:
        """Return the compiled twin."""
        return _core.epsilon_insensitive(self.epsilon)
