"""The hinge loss of support vector machines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from splinear import _core
from splinear._types import Floats
from splinear.losses.margin import T
from splinear.losses.sides import SideLoss

__all__ = ["Hinge"]


@dataclass(frozen=True, eq=False)
class Hinge(SideLoss):
    """max(0, 1 - m); its dual variable lies in [0, c].

    Examples
    --------
    >>> import numpy as np
    >>> from splinear.losses import Hinge
    >>> Hinge().value(np.array([1, -1]), np.array([0.5, 0.5])).round(3)
    array([0.5, 1.5])
    """

    name = "hinge"

    def of_margin(self, m: Floats) -> Floats:
        """Return the loss."""
        return np.maximum(0.0, 1.0 - m)

    def dual(self, alpha: Floats, cost: Floats) -> Floats:
        """Return alpha."""
        del cost
        return alpha

    def range(self, cost: T) -> tuple[T | float, T | float]:
        """[0, c]."""
        return 0.0, cost

    def step(self, alpha: float, m: float, curvature: float, cost: float) -> float:
        """Return the best alpha along one coordinate."""
        return float(np.clip(alpha + (1.0 - m) / curvature, 0.0, cost))

    def dual_gap(self, alpha: Floats, m: Floats, cost: Floats) -> Floats:
        """Return each row's part of the gap."""
        return np.where(m < 1.0, (cost - alpha) * (1.0 - m), alpha * (m - 1.0))

    @property
    def at_no_cost(self) -> tuple[float, float] | None:
        """(1, inf)."""
        return 1.0, np.inf

    def core(self) -> _core.Loss:
        """Return the compiled twin."""
        return _core.hinge()
