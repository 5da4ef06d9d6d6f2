"""A step of Newton's method for curves with shape constraints.

Minimizes the quadratic model g's + 1/2 s'H s over steps s with A (theta + s) >= 0, by conjugate
gradients that stay on a face of the cone, with a preconditioner M in place of H. In each iteration
the direction is the one that would be best if rho M were the Hessian,

    p = argmin r'p + 1/2 rho p'M p   with   A (theta + s + p) >= 0,

where r is the gradient of the model. The inequalities with a multiplier there define the face. If s
is already on that face, p is the gradient preconditioned within the face, and the next direction is
conjugate to the last one. If p leads to another face, p itself is followed, and rho is the
curvature found along the last p, in units of M. So a face changes by many inequalities at a time;
and if M is the Hessian, the first p is the step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from splinear._types import Floats
from splinear.model.cone import Cone
from splinear.model.nonnegative import Metric
from splinear.objective.model import Model
from splinear.objective.point import Point
from splinear.objective.rows import RowValues
from splinear.objective.space import dot
from splinear.objective.step import ENOUGH, MAX_CG, Aim, Step
from splinear.objective.watch import Watch

__all__ = ["bring_inside", "step_inside"]

ON_FACE = 1e-11  # relative to the largest slack: slacks up to this count as 0
MOST_RHO = 1e6


def bring_inside(at: Point, cone: Cone, model_at: Callable[[Point], Model]) -> Point:
    """Return the point of the cone that is nearest to a point, in the norm of its Hessian.

    Return zero, which is in every cone, if the objective is smaller there.
    """
    slacks = cone.slack(at.parameters)
    if slacks.min(initial=0.0) >= 0.0:
        return at
    to = _Inside(model_at(at), cone).direction(np.zeros_like(at.theta), slacks)[0]
    inside, zero = at.objective.at(at.space.snapped(at.theta + to)), at.objective.zero()
    return inside if inside.value < zero.value else zero


class _Inside:
    """The preconditioner of a model, also for steps that stay in the cone."""

    def __init__(self, model: Model, cone: Cone, slacks: Floats | None = None) -> None:
        self.model, self.cone = model, cone
        self.metric: Metric = model.metric(cone)
        self.above = None if slacks is None else slacks > 0.0  # slacks expected above 0

    def direction(self, descent: Floats, slacks: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Return argmin -descent'p + 1/2 p'M p with slacks + A p >= 0, and the face it ends on."""
        p = self.model.precondition(descent)
        ends, m = self.metric.nearest(slacks + self.cone.slack(p[:, :-1]), self.above)
        self.above = ends > 0.0
        if m.any():
            pushed = descent.copy()
            pushed[:, :-1] += self.cone.pull(m)
            p = self.model.precondition(pushed)
            # Up to rounding, which high orders of differences magnify, it leads to `ends`.
            p[:, :-1] = self.cone.with_slack(p[:, :-1], ends - slacks)
        return self.model.space.leveled(p), ~self.above


@dataclass
class _State:
    """The state of conjugate gradients: the step so far, and the residual of the gradient."""

    cone: Cone
    step: Floats
    scores: RowValues
    residual: Floats
    slacks: Floats
    decrease: float = 0.0
    left: float = np.inf

    @classmethod
    def begin(cls, at: Point, cone: Cone, model: Model) -> _State:
        """Return the state of a step of length 0."""
        residual = -at.gradient
        if model.space.is_free:  # intercepts are optimal: this is 0 up to rounding
            residual[:, -1] = 0.0
        slacks = cone.slack(at.parameters)
        slacks[slacks <= ON_FACE * slacks.max(initial=0.0)] = 0.0
        return cls(cone, np.zeros_like(residual), model.space.zero_scores(), residual, slacks)

    def go(self, t: float, direction: Floats, scores: RowValues, product: Floats) -> None:
        """Move by t times a direction, given its scores and its product with the Hessian."""
        along = dot(direction, self.residual)
        self.decrease += t * along - 0.5 * t * t * dot(direction, product)
        self.step = self.step + t * direction
        self.scores = self.scores + t * scores
        self.residual = self.residual - t * product
        moved = self.slacks + t * self.cone.slack(direction[:, :-1])
        self.slacks = np.maximum(moved, 0.0)

    def within(self, radius: float, at: Point, n_products: int, *, is_whole: bool) -> Step:
        """Return the step, or its part within the radius, in the norm of H."""
        along = -dot(self.step[:, :-1], at.gradient[:, :-1])
        if not at.space.is_free:
            along -= dot(self.step[:, -1], at.gradient[:, -1])
        square = max(0.0, along - dot(self.step, self.residual))
        length = float(np.sqrt(square))
        if length <= radius:
            scores = self.scores if is_whole else None
            return Step(self.step, scores, self.decrease, self.left, n_products, length, False)
        share = radius / length
        scores = share * self.scores if is_whole else None
        decrease = share * along - 0.5 * share**2 * square
        return Step(share * self.step, scores, decrease, np.inf, n_products, radius, True)


@dataclass
class _Last:
    """The last direction, if the next one can be conjugate to it, and rho."""

    direction: Floats | None = None
    face: NDArray[np.bool_] | None = None
    rz: float = 0.0
    rho: float = 1.0

    def turned(
        self, p: Floats, face: NDArray[np.bool_], rz: float, way: _Way
    ) -> tuple[Floats, float]:
        """Return the direction to take instead of p, and how far it can be followed."""
        direction, most = p, max(1.0, way.length(p))  # p itself stays in the cone
        is_same = self.face is not None and bool((face == self.face).all())
        if self.direction is not None and is_same:
            conjugate = p + rz / self.rz * self.direction
            if (farthest := way.length(conjugate)) >= 1.0:
                direction, most = conjugate, farthest
        self.direction, self.face, self.rz = direction, face, rz
        return direction, most

    def note(self, t: float, most: float, *, is_on: bool) -> None:
        """Record that the model is minimal at t times the direction; up to `most` is feasible."""
        if not is_on:
            self.rho = float(np.clip(self.rho / t, 1.0 / MOST_RHO, MOST_RHO))
        if t > most or not is_on:
            self.direction = None


@dataclass(frozen=True)
class _Way:
    """How far directions can be followed from a point with these slacks."""

    cone: Cone
    slacks: Floats

    def length(self, direction: Floats) -> float:
        """Return the largest t for which t times the direction stays in the cone."""
        rise = self.cone.slack(direction[:, :-1])
        falls = rise < -ON_FACE * np.abs(rise).max(initial=0.0)
        return float(np.min(self.slacks[falls] / -rise[falls], initial=np.inf))

    def is_on(self, face: NDArray[np.bool_]) -> bool:
        """Return whether the point is on a face."""
        return bool((self.slacks[face] <= ON_FACE * self.slacks.max(initial=0.0)).all())


def step_inside(model: Model, at: Point, cone: Cone, radius: float, watch: Watch, aim: Aim) -> Step:
    """Minimize the model over steps within the cone; shorten the step if it exceeds the radius."""
    state, last = _State.begin(at, cone, model), _Last()
    inside = _Inside(model, cone, state.slacks)
    n_products, goal = 0, 0.0
    while n_products < MAX_CG and not watch.poll():
        p, face = inside.direction(state.residual / last.rho, state.slacks)
        rz = last.rho * dot(state.residual, p)
        goal = goal or aim.accuracy**2 * rz
        is_done = rz <= goal and not (model.is_whole and aim.is_near(state.scores, state.decrease))
        if rz <= 0.0 or is_done:
            break
        way = _Way(cone, state.slacks)
        direction, most = last.turned(p, face, rz, way)
        scores, product = model.times(direction)
        n_products += 1
        curvature = dot(direction, product)
        if not 0.0 < curvature < np.inf:  # rounding errors dominate
            break
        t = dot(direction, state.residual) / curvature
        last.note(t, most, is_on=way.is_on(face))
        state.go(min(t, most), direction, scores, product)
        if aim.is_near(state.scores, state.decrease):
            state.left = model.space.gap(-state.residual, at.theta + state.step)
            if state.left <= ENOUGH * aim.gap:
                break
    return state.within(radius, at, n_products, is_whole=model.is_whole)
