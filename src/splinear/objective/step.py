"""Steps of Newton's method, and the accuracy they need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from splinear._types import Floats

__all__ = ["ENOUGH", "FARTHEST_PROVEN", "MAX_CG", "Aim", "Length", "Step"]

MAX_CG = 300  # products with the Hessian in a step
ENOUGH = 0.3  # a step may end when the gap of its model is at most this share of the tolerance
FARTHEST_PROVEN = 1.0  # a step proves a gap only if no row's score moves by more than this


@dataclass(frozen=True)
class Aim:
    """When conjugate gradients may end.

    They end when the residual is at most `accuracy` times the gradient, or when the gap of the
    model is small compared to `gap`, the requested gap of the objective. The latter is required if
    this can be the last step.
    """

    accuracy: float
    gap: float
    is_quadratic: bool

    def beyond_model(self, scores: Floats, decrease: float) -> float:
        """Return an estimate of the losses' part of a step's gap; see `solvers.newton`."""
        if self.is_quadratic:
            return 0.0
        reach = _farthest(scores)
        return 0.25 * reach**2 * decrease if reach <= FARTHEST_PROVEN else np.inf

    def is_near(self, scores: Floats, decrease: float) -> bool:
        """Return whether this part is small compared to `gap`."""
        return self.beyond_model(scores, decrease) <= ENOUGH * self.gap


def _farthest(scores: Floats) -> float:
    """Return the largest absolute value."""
    if not isinstance(scores, np.ndarray):
        return float(np.abs(scores).max(initial=0.0))
    return float(max(scores.max(initial=0.0), -scores.min(initial=0.0)))  # without a copy


@dataclass
class Step:
    """An (approximate) minimum of a quadratic model."""

    vector: Floats
    scores: Floats | None = None  # changes of scores, one number per row; None until computed
    decrease: float = 0.0  # of the quadratic model
    left: float = np.inf  # the gap of the model
    n_products: int = 0  # with the Hessian
    length: float = 0.0  # in the norm of the preconditioner
    at_edge: bool = False


@dataclass
class Length:
    """Squared lengths in the norm of the preconditioner, without products with it.

    `step` and `direction` are those of the step and the direction, `both` is their inner product.
    """

    radius: float
    direction: float
    step: float = 0.0
    both: float = 0.0

    def go(self, t: float) -> tuple[float, bool]:
        """Move by t along the direction, or to the radius; return t, and whether it is there."""
        longer = self.step + 2.0 * t * self.both + t * t * self.direction
        edge = self.radius * self.radius  # `radius**2` would raise an error if it overflows
        at_edge = longer >= edge
        if at_edge:
            room = edge - self.step
            root = float(np.sqrt(self.both * self.both + self.direction * room))
            far = max(self.both + root, np.finfo(float).tiny)
            t, longer = room / far if far < np.inf else 0.0, edge
        self.step = longer
        return t, at_edge

    def turn(self, t: float, beta: float, rz: float) -> None:
        """Switch to the direction z + beta times the last one, after moving by t."""
        self.both = beta * (self.both + t * self.direction)
        self.direction = rz + beta * beta * self.direction
