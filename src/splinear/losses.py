"""Losses of the margin m = y f(x), with what dual coordinate descent needs of them.

The primal is 1/2 |w|^2 + sum_i c_i value(m_i), the dual sum_i dual(a_i, c_i) - 1/2 |w|^2 with
w = sum_i a_i y_i phi_i. The gap between them is a sum of one non-negative part per row,
c value(m) - dual(a, c) + a m.
"""

from __future__ import annotations

import numpy as np

from splinear import _core
from splinear._types import Floats

__all__ = ["LOSSES", "Hinge", "Loss", "SquaredHinge"]


class Hinge:
    """max(0, 1 - m); its dual variable lies in [0, c]."""

    @staticmethod
    def value(margin: Floats) -> Floats:
        """Give the loss at the margins."""
        return np.maximum(0.0, 1.0 - margin)

    @staticmethod
    def dual(alpha: Floats, cost: Floats) -> Floats:
        """Give each row's part of the dual, without -1/2 |w|^2."""
        del cost
        return alpha

    @staticmethod
    def step(alpha: float, margin: float, curvature: float, cost: float) -> float:
        """Give the alpha that maximises the dual along one coordinate."""
        return float(np.clip(alpha + (1.0 - margin) / curvature, 0.0, cost))

    @staticmethod
    def core() -> _core.Loss:
        """Give the compiled twin."""
        return _core.hinge()


class SquaredHinge:
    """max(0, 1 - m)^2; its dual variable lies in [0, inf)."""

    @staticmethod
    def value(margin: Floats) -> Floats:
        """Give the loss at the margins."""
        return np.maximum(0.0, 1.0 - margin) ** 2

    @staticmethod
    def dual(alpha: Floats, cost: Floats) -> Floats:
        """Give each row's part of the dual, without -1/2 |w|^2."""
        return alpha - alpha**2 / (4.0 * cost)

    @staticmethod
    def step(alpha: float, margin: float, curvature: float, cost: float) -> float:
        """Give the alpha that maximises the dual along one coordinate."""
        slope = 1.0 - margin - alpha / (2.0 * cost)
        return max(0.0, alpha + slope / (curvature + 1.0 / (2.0 * cost)))

    @staticmethod
    def core() -> _core.Loss:
        """Give the compiled twin."""
        return _core.squared_hinge()


Loss = type[Hinge] | type[SquaredHinge]

LOSSES: dict[str, Loss] = {"hinge": Hinge, "squared_hinge": SquaredHinge}
