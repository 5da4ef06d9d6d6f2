"""Steps of Newton's method, and how accurate they have to be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from splinear._types import Floats

__all__ = ["ENOUGH", "FARTHEST_PROVEN", "MAX_CG", "Aim", "Length", "Step"]

MAX_CG = 300  # products with the Hessian in a step
ENOUGH = 0.3  # of the tolerance: the gap of the model at which a step may end
FARTHEST_PROVEN = 1.0  # a row's score may move by that in a step whose model proves something


@dataclass(frozen=True)
class Aim:
    """When conjugate gradients may end.

    What is left of the gradient may be `accuracy` of it; or so little that the gap of the model is
    small against that of the objective which is asked for, `gap`. It must be, if this can be the
    last step.
    """

    accuracy: float
    gap: float
    is_quadratic: bool

    def beyond_model(self, scores: Floats, decrease: float) -> float:
        """Return about what the losses add to the gap of a step's model; see `newton`."""
        if self.is_quadratic:
            return 0.0
        reach = _farthest(scores)
        return 0.25 * reach**2 * decrease if reach <= FARTHEST_PROVEN else np.inf

    def is_near(self, scores: Floats, decrease: float) -> bool:
        """Tell whether that is little."""
        return self.beyond_model(scores, decrease) <= ENOUGH * self.gap


def _farthest(scores: Floats) -> float:
    """Return the largest of absolute numbers."""
    if not isinstance(scores, np.ndarray):
        return float(np.abs(scores).max(initial=0.0))
    return float(max(scores.max(initial=0.0), -scores.min(initial=0.0)))  # without a copy


@dataclass
class Step:
    """Where a quadratic model is least, or nearly so."""

    to: Floats
    scores: Floats | None  # of all rows, if the model was of all
    decrease: float  # of the quadratic model
    left: float  # the gap of that model
    n_products: int  # with the Hessian
    length: float  # in the norm of the preconditioner
    at_edge: bool


@dataclass
class Length:
    """Squared lengths in the norm of the preconditioner, without products by it.

    Of the step, of the direction, and the product of both.
    """

    radius: float
    direction: float
    step: float = 0.0
    both: float = 0.0

    def go(self, t: float) -> tuple[float, bool]:
        """Go t along the direction, or up to the radius; return how far, and whether to there."""
        longer = self.step + 2.0 * t * self.both + t * t * self.direction
        edge = self.radius * self.radius  # a power would raise an error beyond the largest number
        at_edge = longer >= edge
        if at_edge:
            room = edge - self.step
            root = float(np.sqrt(self.both * self.both + self.direction * room))
            far = max(self.both + root, np.finfo(float).tiny)
            t, longer = room / far if far < np.inf else 0.0, edge
        self.step = longer
        return t, at_edge

    def turn(self, t: float, beta: float, rz: float) -> None:
        """Take the next direction, z + beta times the last, after going t along that."""
        self.both = beta * (self.both + t * self.direction)
        self.direction = rz + beta * beta * self.direction
