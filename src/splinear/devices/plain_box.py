"""Box-constrained problems over rows with known inner products, solved in NumPy."""

from __future__ import annotations

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.devices.backend import AT_A_TIME, LEAST, TURNS, Backend
from splinear.devices.subspace import free_step
from splinear.solvers.hinge.box import Box

__all__ = ["PlainBox"]


class PlainBox:
    """The problems of a box over rows with inner products K, and their current point b.

    Arrays are (n_outputs, n_rows), and the gradient is K b + d b - t.
    """

    def __init__(self, backend: Backend, K: Floats, box: Box, b: Floats, gradient: Floats) -> None:
        self.backend, self.K, self.box = backend, K, box
        self.b, self.gradient = b.copy(), gradient.copy()

    def descend(self, n_sweeps: int) -> None:
        """Make sweeps of coordinate descent."""
        for _ in range(n_sweeps):
            violation = self.box.violation(self.b, self.gradient).max(axis=0)
            moving = np.flatnonzero(violation > LEAST * violation.max())
            for first in range(0, len(moving), AT_A_TIME):
                self._move(moving[first : first + AT_A_TIME])

    def step_free(self) -> None:
        """Make a Newton step of the free variables, those at no bound."""
        self.b, self.gradient = free_step(self.backend, self.K, self.box, self.b, self.gradient)

    def violation(self) -> float:
        """Return the largest violation of optimality over all rows and outputs."""
        return float(self.box.violation(self.b, self.gradient).max())

    def _move(self, some: AnyArray) -> None:
        """Move b along some rows, for all outputs at once."""
        here, own, to = self.box.some(some), self.gradient[:, some], self.b[:, some]
        for _ in range(TURNS):
            _turn(self.K[np.ix_(some, some)], here, to, own)
        moves = to - self.b[:, some]
        self.gradient += moves @ self.K[some]
        self.gradient[:, some] += here.ridge * moves
        self.b[:, some] = to


def _turn(K: Floats, box: Box, b: Floats, gradient: Floats) -> None:
    """Minimize over one coordinate after another, updating b and the gradient in place."""
    for i in range(len(K)):
        bend = np.maximum(K[i, i] + box.ridge[:, i], np.finfo(np.float32).tiny)
        goal = b[:, i] - gradient[:, i] / bend
        shrunk = np.sign(goal) * np.maximum(np.abs(goal) - box.shrinkage / bend, 0.0)
        move = np.minimum(np.maximum(shrunk, box.low[:, i]), box.high[:, i]) - b[:, i]
        b[:, i] += move
        gradient += move[:, None] * K[i]
        gradient[:, i] += box.ridge[:, i] * move
