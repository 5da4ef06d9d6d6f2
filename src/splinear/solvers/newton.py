"""Newton's method for smooth losses: primal, with a trust region.

Minimises, over coefficients coef (n_outputs, n_features, size) and b (n_outputs,),

    P = 1/2 sum_j |T^{-1} coef_j|^2 / s_j^2 + 1/2 b^2 + L(F),   F = coef'B(x) + B b,

summed over outputs, L being a sum of losses of the scores (see `smooth`). Each step minimises the
quadratic model of P inside a trust region by conjugate gradients (Steihaug's way out at the edge).

With few coefficients the Hessian is formed and factored, which makes it a perfect preconditioner:
one iteration a step. Otherwise it is never formed. A product with it is a pass over the rows that
scores a direction and one that sums back; the preconditioner is its blocks on the diagonal, one a
feature, which are banded for B-splines and together form one banded matrix.

The certificate is the same as that of dual coordinate descent. The losses' derivatives at F are
feasible dual variables, and with these the gap between primal and dual comes to 1/2 g'K g, g being
the gradient of P and K the inverse of the penalty's matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cho_solve_banded, cholesky_banded

from splinear import _core
from splinear._types import Floats
from splinear.embedding import Embedding
from splinear.penalties import Penalty
from splinear.solvers.problem import Result, Start, Stopping
from splinear.solvers.rows import TrainingRows
from splinear.solvers.smooth import Curvature, Sum

__all__ = ["scores", "solve"]

# Forming the Hessian takes time in proportion to n (support n_features)^2, factoring it to the cube
# of n_coefficients; up to these sizes that is less than what the iterations would take
# (benchmarks/solvers.py).
EXPLICIT_NONZEROS = 100
EXPLICIT_COEFFICIENTS = 1500

MAX_CG = 300
CG_ACCURACY = 0.1  # of the gradient that may be left: a step then divides the gap by about 100


def solve(
    rows: TrainingRows,
    total: Sum,
    stopping: Stopping,
    bias: float,
    start: Start | None = None,
    *,
    explicit: bool | None = None,
) -> list[Result]:
    """Minimise to a relative duality gap of stopping.tol; one result per output.

    `explicit` chooses whether to form the Hessian; None leaves it to the size of the problem. The
    primal, the gap and the number of steps belong to all outputs together.
    """
    space = _Space(rows, bias, total.n_outputs, stopping.n_threads)
    if explicit is None:
        explicit = total.n_outputs == 1 and space.is_small
    make = _Explicit if explicit else _ByPasses
    centre = theta = space.zeros()
    if start is not None and start.coef is not None:
        theta = space.join(start.coef, np.atleast_1d(start.intercept))
        centre = theta if start.proximal else centre
    found = _descend(space, total, stopping, theta, centre, make)
    coef, b = space.split(found.theta)
    return [
        Result(
            coef=coef[k],
            intercept=float(bias * b[k]),
            primal=found.value,
            dual=found.value - found.gap,
            gap=found.gap / found.value if found.value > 0 else 0.0,
            n_iter=found.n_iter,
            converged=found.converged,
        )
        for k in range(total.n_outputs)
    ]


def scores(rows: TrainingRows, coef: Floats, intercept: Floats, n_threads: int) -> Floats:
    """Give the scores (n_outputs, n_rows) of the training rows, in their order."""
    space = _Space(rows, 1.0, len(coef), n_threads)
    return space.scores(space.join(coef, intercept))


@dataclass
class _State:
    theta: Floats
    value: float
    gap: float
    n_iter: int
    converged: bool


def _descend(
    space: _Space,
    total: Sum,
    stopping: Stopping,
    theta: Floats,
    centre: Floats,
    make_model: Callable[[_Space, Curvature], _Model],
) -> _State:
    F = space.scores(theta)
    pull = space.stiffen(theta - centre)
    value = 0.5 * _dot(theta - centre, pull) + total.value(F)
    radius, n_iter = np.inf, 0
    while True:
        gradient = pull + space.sums(total.gradient(F))
        gap = 0.5 * _dot(gradient, space.soften(gradient))
        relative = gap / value if value > 0 else 0.0
        converged = relative <= stopping.tol
        stop = n_iter > 0 and stopping.watch.on_pass(n_iter, relative, space.n_rows)
        if converged or stop or n_iter == stopping.max_iter or radius == 0.0:
            return _State(theta, value, gap, n_iter, converged)
        model = make_model(space, total.curvature(F))
        n_iter += 1
        while True:  # a smaller region until the model can be trusted
            step = _conjugate_gradients(space, model, gradient, radius, stopping)
            moved, tried = theta + step.to, F + step.scores
            new_pull = space.stiffen(moved - centre)
            new_value = 0.5 * _dot(moved - centre, new_pull) + total.value(tried)
            trust = (value - new_value) / step.decrease if step.decrease > 0 else 0.0
            if trust < 0.25:
                radius = 0.25 * step.length
            elif trust > 0.75 and step.at_edge:
                radius = 2.0 * radius
            # Near the optimum the decrease drowns in rounding, and the model is to be trusted.
            if trust > 1e-4 or step.decrease <= 1e-13 * abs(value):
                break
            if stopping.watch.poll() or radius <= 1e-300:
                return _State(theta, value, gap, n_iter, converged=False)
        theta, F, pull, value = moved, tried, new_pull, new_value


@dataclass
class _Step:
    to: Floats
    scores: Floats
    decrease: float  # of the quadratic model
    length: float  # in the norm of the preconditioner
    at_edge: bool


def _conjugate_gradients(
    space: _Space,
    model: _Model,
    gradient: Floats,
    radius: float,
    stopping: Stopping,
) -> _Step:
    """Minimise gradient's + 1/2 s'H s over steps s no longer than the radius."""
    step, step_scores = np.zeros_like(gradient), space.zero_scores()
    residual = -gradient
    z = model.precondition(residual)
    direction, rz = z, _dot(residual, z)
    direction_scores = space.scores(direction)
    goal, decrease = CG_ACCURACY**2 * rz, 0.0
    squared, along, direction_squared = 0.0, 0.0, rz  # in the norm of the preconditioner
    for _ in range(MAX_CG):
        if rz <= 0.0:
            break
        product = model.times(direction, direction_scores)
        t = rz / _dot(direction, product)
        longer = squared + 2.0 * t * along + t * t * direction_squared
        at_edge = longer >= radius**2
        if at_edge:
            root = np.sqrt(along**2 + direction_squared * (radius**2 - squared))
            t = (radius**2 - squared) / (along + root)
            longer = radius**2
        decrease += t * _dot(direction, residual) - 0.5 * t * t * _dot(direction, product)
        step, step_scores = step + t * direction, step_scores + t * direction_scores
        squared = longer
        if at_edge or stopping.watch.poll():
            return _Step(step, step_scores, decrease, float(np.sqrt(squared)), at_edge)
        residual = residual - t * product
        z = model.precondition(residual)
        previous, rz = rz, _dot(residual, z)
        if rz <= goal:
            break
        beta = rz / previous
        along = beta * (along + t * direction_squared)
        direction_squared = rz + beta**2 * direction_squared
        direction = z + beta * direction
        direction_scores = space.scores(direction)
    return _Step(step, step_scores, decrease, float(np.sqrt(squared)), at_edge=False)


class _Space:
    """Vectors theta (n_outputs, n_features * size + 1): coefficients, and b at the end."""

    def __init__(self, rows: TrainingRows, bias: float, n_outputs: int, n_threads: int) -> None:
        self.rows, self.bias, self.n_outputs, self.n_threads = rows, bias, n_outputs, n_threads
        self.embedding: Embedding = rows.embedding
        self.penalty: Penalty = self.embedding.penalty
        self.n_features, self.size = self.embedding.n_features, self.embedding.basis.size
        self.basis = self.embedding.basis.core()
        self.n_rows = rows.n_rows
        self.varies = self.embedding.scale > 0
        self.stiffness = np.zeros(self.n_features)
        self.stiffness[self.varies] = 1.0 / self.embedding.scale[self.varies]

    @property
    def is_small(self) -> bool:
        nonzeros = self.n_features * self.embedding.basis.support
        return (
            nonzeros <= EXPLICIT_NONZEROS and self.n_features * self.size <= EXPLICIT_COEFFICIENTS
        )

    def zeros(self) -> Floats:
        return np.zeros((self.n_outputs, self.n_features * self.size + 1))

    def zero_scores(self) -> Floats:
        return np.zeros((self.n_outputs, self.n_rows))

    def split(self, theta: Floats) -> tuple[Floats, Floats]:
        """Give coef (n_outputs, n_features, size) and b (n_outputs,)."""
        return theta[:, :-1].reshape(-1, self.n_features, self.size), theta[:, -1]

    def join(self, coef: Floats, intercept: Floats) -> Floats:
        b = intercept / self.bias if self.bias > 0 else np.zeros(self.n_outputs)
        return np.column_stack([coef.reshape(self.n_outputs, -1), b])

    def scores(self, theta: Floats) -> Floats:
        """F (n_outputs, n_rows)."""
        coef, b = self.split(theta)
        out = np.empty((self.n_outputs, self.n_rows))
        for k in range(self.n_outputs):
            table = np.ascontiguousarray(coef[k])
            out[k] = _core.score_all(self.rows.core, self.basis, table, self.n_threads)
            out[k] += self.bias * b[k]
        return out

    def sums(self, R: Floats) -> Floats:
        """Give the gradient of sum(R * F) by theta."""
        out = self.zeros()
        for k in range(self.n_outputs):
            r = np.ascontiguousarray(R[k])
            summed = _core.sum_all(self.rows.core, self.basis, self.n_features, r, self.n_threads)
            out[k, :-1] = summed * np.repeat(self.varies, self.size)
            out[k, -1] = self.bias * r.sum()
        return out

    def stiffen(self, theta: Floats) -> Floats:
        """Give the gradient of the penalty."""
        coef, b = self.split(theta)
        stiff = self.penalty.stiffen(coef) * self.stiffness[:, None]
        return np.column_stack([stiff.reshape(self.n_outputs, -1), b])

    def soften(self, theta: Floats) -> Floats:
        """Undo stiffen()."""
        coef, b = self.split(theta)
        soft = self.penalty.smooth(coef) * self.embedding.scale[:, None]
        return np.column_stack([soft.reshape(self.n_outputs, -1), b])

    def penalty_bands(self, n_bands: int) -> Floats:
        """Give the penalty's matrix by bands, (n_features, size, n_bands).

        A constant feature has ones on the diagonal, so that it can be factored.
        """
        one = np.zeros((self.size, n_bands))
        # Vectors of ones, so far apart that their images do not meet, show all columns at once.
        apart = 2 * self.penalty.bandwidth + 1
        for first in range(min(apart, self.size)):
            places = np.arange(first, self.size, apart)
            comb = np.zeros(self.size)
            comb[places] = 1.0
            image = self.penalty.stiffen(comb)
            for p in range(self.penalty.bandwidth + 1):
                inside = places[places - p >= 0]
                one[inside - p, p] = image[inside - p]
        bands = one * self.stiffness[:, None, None]
        bands[~self.varies, :, 0] = 1.0
        return bands


class _Model(Protocol):
    def times(self, theta: Floats, scores: Floats) -> Floats: ...

    def precondition(self, theta: Floats) -> Floats: ...


class _Explicit:
    """The Hessian as a matrix, for one output."""

    def __init__(self, space: _Space, curvature: Curvature) -> None:
        n = space.n_features * space.size + 1
        h = np.ascontiguousarray(curvature.diagonal[0])
        H = _core.hessian_all(
            space.rows.core, space.basis, space.n_features, h, space.bias, space.n_threads
        ).reshape(n, n)
        constant = np.flatnonzero(np.append(np.repeat(~space.varies, space.size), False))
        H[constant] = H[:, constant] = 0.0
        bands = space.penalty_bands(space.penalty.bandwidth + 1).reshape(n - 1, -1)
        for p in range(bands.shape[1]):
            at = np.arange(n - 1 - p)
            H[at, at + p] += bands[: n - 1 - p, p]
            if p > 0:
                H[at + p, at] += bands[: n - 1 - p, p]
        H[-1, -1] += 1.0
        self.matrix, self.factor = H, cho_factor(H)

    def times(self, theta: Floats, scores: Floats) -> Floats:
        del scores
        product: Floats = theta @ self.matrix
        return product

    def precondition(self, theta: Floats) -> Floats:
        solved: Floats = cho_solve(self.factor, theta[0])
        return solved[None]


class _ByPasses:
    """The Hessian as two passes over the rows, and its diagonal blocks."""

    def __init__(self, space: _Space, curvature: Curvature) -> None:
        self.space, self.curvature = space, curvature
        self.factors = [self._factor(h) for h in curvature.diagonal]
        self.of_b = 1.0 + space.bias**2 * curvature.diagonal.sum(axis=1)

    def _factor(self, h: Floats) -> Floats:
        """Factor the blocks of all features, as one banded matrix."""
        space = self.space
        support = space.embedding.basis.support
        n_bands = min(space.size, max(support, space.penalty.bandwidth + 1))
        bands = space.penalty_bands(n_bands)
        blocks = _core.blocks_all(
            space.rows.core, space.basis, space.n_features, np.ascontiguousarray(h), space.n_threads
        ).reshape(space.n_features, space.size, support)
        bands[:, :, :support] += blocks * space.varies[:, None, None]
        upper = np.zeros((n_bands, space.n_features * space.size))
        for p in range(n_bands):
            flat = bands[:, :, p].ravel()
            upper[n_bands - 1 - p, p:] = flat[: len(flat) - p]
        factor: Floats = cholesky_banded(upper)
        return factor

    def times(self, theta: Floats, scores: Floats) -> Floats:
        return self.space.stiffen(theta) + self.space.sums(self.curvature.times(scores))

    def precondition(self, theta: Floats) -> Floats:
        out = np.empty_like(theta)
        for k, factor in enumerate(self.factors):
            out[k, :-1] = cho_solve_banded((factor, False), theta[k, :-1])
        out[:, -1] = theta[:, -1] / self.of_b
        return out


def _dot(a: Floats, b: Floats) -> float:
    return float(np.vdot(a, b))
