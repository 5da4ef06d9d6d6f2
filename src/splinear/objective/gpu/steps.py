"""Newton steps computed on a device, if the functions of all rows fit in one matrix.

`objective.model` makes passes over codes: many small calls, with vectors copied to and
from the device. Here these are a few matrix products. The products and the step are in single
precision; the scores of the step, and so all proofs, come from a pass over the rows. Intercepts are
solved for like other parameters, and at the end set to the minimum of the quadratic model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from splinear._types import Floats
from splinear.losses.curvature import Curvature
from splinear.objective.gpu.arrays import RowArray, bare
from splinear.objective.gpu.backend import Backend, DeviceArray
from splinear.objective.gpu.frame import Frame
from splinear.objective.space import Space, dot
from splinear.objective.step import ENOUGH, MAX_CG, Aim, Length, Step
from splinear.objective.watch import Watch

__all__ = ["DesignSteps", "DeviceInverse"]


@dataclass(frozen=True, eq=False)
class DeviceInverse:
    """The inverses of Hessians H = L L', one per output, as L^{-1} on the device.

    H is computed at one point, and may be rescaled to the diagonals at another.
    """

    factors: DeviceArray  # (n_outputs, n, n)
    scale: DeviceArray  # (n_outputs, n)
    frame: Frame

    def times(self, theta: Floats) -> Floats:
        """Return the product of the inverses and theta (n_outputs, n_parameters + 1)."""
        return self.frame.returned(self.times_there(self.frame.sent(theta)))

    def step(self, *model: object) -> None:
        """Return None: steps take products by the caller."""

    def times_there(self, vectors: DeviceArray) -> DeviceArray:
        """Return the product of the inverses and vectors of the frame, (n_outputs, n)."""
        scaled = (self.scale * vectors).astype(self.factors.dtype, copy=False)
        return self.scale * self.frame.backend.twice(self.factors, scaled)


@dataclass(frozen=True, eq=False)
class DesignSteps:
    """Newton steps by products with a design matrix, preconditioned by inverses."""

    backend: Backend
    matrix: DeviceArray  # (n_rows, n): the functions of all rows, then a column of ones
    inverse: DeviceInverse

    @property
    def frame(self) -> Frame:
        """The frame of vectors."""
        return self.inverse.frame

    def times(self, theta: Floats) -> Floats:
        """Return the product of the inverses and theta (n_outputs, n_parameters + 1)."""
        return self.inverse.times(theta)

    def step(
        self,
        space: Space,
        curvature: Curvature,
        gradient: Floats,
        radius: float,
        watch: Watch,
        aim: Aim,
    ) -> Step:
        """Return the step s that minimizes gradient's + 1/2 s'H s within the radius."""
        residual = -self.frame.sent(gradient)
        if space.is_free:  # intercepts are optimal after the last step
            residual[:, -1] = 0.0
        state = _State(self, curvature, residual, aim, radius)
        while state.n_products < MAX_CG and state.rz > 0.0:
            if not state.go_on() or watch.poll() or state.is_enough(space):
                break
            state.turn()
        return self._finished(space, curvature, gradient, state)

    def _finished(
        self, space: Space, curvature: Curvature, gradient: Floats, state: _State
    ) -> Step:
        """Return the step with scores from a pass over the rows."""
        to = self.frame.returned(state.step)
        scores = space.scores(to)
        if space.is_free:
            level = curvature.level(scores)
            to[:, -1] += level
            scores += level[:, None]
        bent = float((scores * curvature.times(scores)).sum())
        decrease = -dot(gradient, to) - 0.5 * (dot(to, space.penalty_gradient(to)) + bent)
        length = float(np.sqrt(state.length.step))
        return Step(to, scores, decrease, state.left, state.n_products, length, state.at_edge)

    def product(self, curvature: Curvature, direction: DeviceArray) -> DeviceArray:
        """Return the product of the Hessian and a direction, (n_outputs, n)."""
        bent = bare(curvature.times(self.scores(direction)), self.backend)
        sums = bent.astype(self.matrix.dtype, copy=False) @ self.matrix
        return sums + direction @ self.frame.stiffness

    def scores(self, direction: DeviceArray) -> Floats:
        """Return the scores of a direction, (n_outputs, n_rows), in the matrix's precision."""
        found = direction.astype(self.matrix.dtype) @ self.matrix.T
        return cast(Floats, RowArray(found, self.backend))

    def preconditioned(self, residual: DeviceArray) -> DeviceArray:
        """Return the product of the approximate inverse Hessian and a residual."""
        return self.frame.leveled(self.inverse.times_there(residual))


class _State:
    """The state of conjugate gradients; see `objective.model.conjugate_gradients`."""

    def __init__(
        self,
        model: DesignSteps,
        curvature: Curvature,
        residual: DeviceArray,
        aim: Aim,
        radius: float,
    ) -> None:
        self.model, self.curvature, self.residual, self.aim = model, curvature, residual, aim
        self.step = np.zeros_like(residual)
        self.direction = model.preconditioned(residual)
        self.rz = float(np.vdot(residual, self.direction))
        self.length = Length(radius, direction=self.rz)
        self.goal, self.decrease, self.left = aim.accuracy**2 * self.rz, 0.0, np.inf
        self.t, self.at_edge, self.n_products = 0.0, False, 0

    def go_on(self) -> bool:
        """Minimize the model along the direction, and return whether to continue from there."""
        self.n_products += 1
        product = self.model.product(self.curvature, self.direction)
        bend = float(np.vdot(self.direction, product))
        if not 0.0 < bend < np.inf:  # rounding dominates
            return False
        self.t, self.at_edge = self.length.go(self.rz / bend)
        self.decrease += self.t * self.rz - 0.5 * self.t * self.t * bend
        self.step += self.t * self.direction
        self.residual -= self.t * product
        self.z = self.model.preconditioned(self.residual)
        self.previous, self.rz = self.rz, float(np.vdot(self.residual, self.z))
        return not self.at_edge

    def is_enough(self, space: Space) -> bool:
        """Return whether the step is accurate enough."""
        enough = ENOUGH * self.aim.gap
        # The gap of the model is at least rz / 2, because its Hessian is at least the penalty's.
        self.left, frame = np.inf, self.model.frame
        if self.rz <= 2.0 * enough:
            # The end point of the step matters only with a cone, and there is none here.
            self.left = space.gap(frame.returned(self.residual), space.zeros())
        if self.left <= enough:
            return True
        # If only the model's own gap is too large, it is worth continuing.
        return self.rz <= self.goal and not self.aim.is_near(
            self.model.scores(self.step), self.decrease
        )

    def turn(self) -> None:
        """Choose the next direction."""
        beta = self.rz / self.previous
        self.direction = self.z + beta * self.direction
        self.length.turn(self.t, beta, self.rz)
