"""What a solver is given, and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from splinear._types import Floats
from splinear.losses import Loss

__all__ = ["Problem", "Result", "Stopping"]


@dataclass(frozen=True)
class Problem:
    """min 1/2 |w|^2 + 1/2 b^2 + sum_i c_i loss(y_i (w'phi_i + B b)).

    `y` holds -1 and 1; c_i is `cost_negative` or `cost_positive`, by class, times the row's weight.
    """

    y: NDArray[np.int8]
    loss: Loss
    cost_negative: float
    cost_positive: float
    weights: Floats | None = None
    bias: float = 1.0

    @property
    def cost(self) -> Floats:
        """c_i of every row."""
        by_class = np.where(self.y > 0, self.cost_positive, self.cost_negative)
        return by_class if self.weights is None else by_class * self.weights


@dataclass(frozen=True)
class Stopping:
    """When to stop, how to choose the order, and whom to tell.

    `on_pass(n_iter, gap, n_active)` is called after every pass; the gap it is given is an estimate.
    """

    tol: float = 1e-2
    max_iter: int = 1000
    seed: int = 0
    n_threads: int = 1
    on_pass: Callable[[int, float, int], None] | None = None


@dataclass(frozen=True)
class Result:
    """A model and its certificate: primal - dual <= gap * primal."""

    coef: Floats  # (n_features, basis.size)
    intercept: float
    primal: float
    dual: float
    gap: float
    n_iter: int
    converged: bool
