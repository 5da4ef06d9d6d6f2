"""Newton's method for smooth losses: primal, with a trust region.

Minimises, over coefficients coef (n_outputs, n_features, size) and b (n_outputs,),

    P = 1/2 sum_j |T^{-1} coef_j|^2 / s_j^2 + 1/2 b^2 + L(F),   F = coef'B(x) + B b,

summed over outputs, L being a sum of losses of the scores (see `smooth`). Each step minimises the
quadratic model of P inside a trust region by conjugate gradients (Steihaug's way out at the edge).
A product with the Hessian is a pass over the rows that scores a direction and one that sums back;
the Hessian itself is formed only as a preconditioner, in one of two ways:

- `_Banded`: its diagonal blocks, one a feature, which are banded for B-splines and together one
  banded matrix. Cheap; but where features say the same thing many iterations are needed.
- `_Dense`: the whole of it (one a output), from all rows or, as a preconditioner need not be exact,
  from a sample. With all rows and one output it is the Hessian, and one iteration suffices.

There are two ways to know that the optimum is near. The losses' derivatives at F are feasible dual
variables, and with these the gap between primal and dual comes to 1/2 g'K g, g being the gradient
of P and K the inverse of the penalty's matrix: a certificate, as in dual coordinate descent. Where
the penalty is weak it is far larger than what is left to gain. That is close to 1/2 g'H^{-1} g, H
being the Hessian, which is what a step's quadratic model promises; so the method also ends with a
step that promised less than a tenth of the tolerance and kept the promise. `gap` is the smaller of
the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cho_solve_banded, cholesky_banded

from splinear import _core
from splinear._types import Floats
from splinear.embedding import Embedding
from splinear.solvers.problem import Result, Start, Stopping
from splinear.solvers.rows import TrainingRows
from splinear.solvers.smooth import Curvature, Sum

__all__ = ["forms_hessian", "solve"]

# Up to so many coefficients a output the dense preconditioner may be used, from so many rows a
# coefficient.
MAX_DENSE = 2500
ROWS_PER_COEFFICIENT = 12
PRICE_UNCODED = 20.0  # of a value in a product, where rows are read as they are; 2 where coded

MAX_CG = 300
CG_ACCURACY = 0.1  # of the gradient that may be left: a step then divides the gap by about 100


def forms_hessian(embedding: Embedding) -> bool:
    """Tell whether the Hessian of one output is small enough to be formed."""
    return int(embedding.used.sum()) < MAX_DENSE


def solve(
    rows: TrainingRows,
    total: Sum,
    stopping: Stopping,
    bias: float,
    start: Start | None = None,
    *,
    preconditioner: Literal["auto", "banded", "dense"] = "auto",
) -> list[Result]:
    """Minimise to a relative gap of stopping.tol; one result per output.

    "auto" takes whichever preconditioner should be faster, step by step. The primal, the gap and
    the number of steps belong to all outputs together.
    """
    space = _Space(rows, bias, total.n_outputs, stopping.n_threads)
    chooser = _Chooser(space, preconditioner)
    centre = theta = space.zeros()
    if start is not None and start.coef is not None:
        theta = space.join(start.coef, np.atleast_1d(start.intercept))
        centre = theta if start.proximal else centre
    found = _last(_descend(space, total, stopping, theta, centre, chooser), stopping)
    coef, b = space.split(found.theta)
    coef = space.extended(coef)
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


@dataclass
class _State:
    theta: Floats
    value: float
    gap: float
    n_iter: int
    converged: bool


def _last(states: Iterator[_State], stopping: Stopping) -> _State:
    """Give the last state; on Ctrl-C the last that was reached, keeping the exception."""
    found = next(states)
    try:
        for state in states:
            found = state
    except KeyboardInterrupt as error:
        stopping.watch.fail(error)
    return found


def _descend(
    space: _Space,
    total: Sum,
    stopping: Stopping,
    theta: Floats,
    centre: Floats,
    chooser: _Chooser,
) -> Iterator[_State]:
    """Go down step by step; every state comes with its certificate."""
    F = space.scores(theta)
    pull = space.stiffen(theta - centre)
    value = 0.5 * _dot(theta - centre, pull) + total.value(F)
    radius, n_iter, promised = np.inf, 0, np.inf
    while True:
        gradient = pull + space.sums(total.gradient(F))
        gap = min(0.5 * _dot(gradient, space.soften(gradient)), promised)
        relative = gap / value if value > 0 else 0.0
        converged = relative <= stopping.tol and (gap < promised or relative <= 0.1 * stopping.tol)
        yield _State(theta, value, gap, n_iter, converged)
        stop = n_iter > 0 and stopping.watch.on_pass(n_iter, relative, space.n_rows)
        if converged or stop or n_iter == stopping.max_iter or radius == 0.0:
            return
        model = chooser.model(total.curvature(F))
        n_iter += 1
        while True:  # a smaller region until the model can be trusted
            step = _conjugate_gradients(space, model, gradient, radius, stopping)
            chooser.note(step.n_products)
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
                return
        theta, F, pull, value = moved, tried, new_pull, new_value
        promised = np.inf if step.at_edge or trust < 0.5 else step.decrease


@dataclass
class _Step:
    to: Floats
    scores: Floats
    decrease: float  # of the quadratic model
    n_products: int  # with the Hessian
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
    at_edge = False
    n_products = 0
    while n_products < MAX_CG and rz > 0.0:
        n_products += 1
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
            break
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
    return _Step(step, step_scores, decrease, n_products, float(np.sqrt(squared)), at_edge)


class _Space:
    """Vectors theta (n_outputs, n_features * size + 1): coefficients, and b at the end.

    Coefficients that a feature cannot reach (it is constant, or has fewer bins than others) are 0
    and take no part; the penalty is that of the others alone.
    """

    def __init__(self, rows: TrainingRows, bias: float, n_outputs: int, n_threads: int) -> None:
        self.rows, self.bias, self.n_outputs, self.n_threads = rows, bias, n_outputs, n_threads
        self.embedding: Embedding = rows.embedding
        self.n_features, self.size = self.embedding.n_features, self.embedding.basis.size
        self.basis = self.embedding.basis.core()
        self.n_rows = rows.n_rows
        self.n_used = self.embedding.n_used
        self.used = self.embedding.used
        self.stiffnesses = self.embedding.stiffnesses
        varies = self.embedding.scale > 0
        self.stiffness = np.zeros(self.n_features)
        self.stiffness[varies] = 1.0 / self.embedding.scale[varies]

    def zeros(self) -> Floats:
        return np.zeros((self.n_outputs, self.n_features * self.size + 1))

    def zero_scores(self) -> Floats:
        return np.zeros((self.n_outputs, self.n_rows))

    def split(self, theta: Floats) -> tuple[Floats, Floats]:
        """Give coef (n_outputs, n_features, size) and b (n_outputs,)."""
        return theta[:, :-1].reshape(-1, self.n_features, self.size), theta[:, -1]

    def merge(self, coef: Floats, b: Floats) -> Floats:
        """Undo split(), with zeros where nothing is used."""
        return np.column_stack([(coef * self.used).reshape(self.n_outputs, -1), b])

    def extended(self, coef: Floats) -> Floats:
        """Go on behind the coefficients that are used, at no penalty."""
        penalty = self.embedding.penalty
        beyond = penalty.integrate(penalty.difference(coef) * self.used)
        return np.where(self.used, coef, beyond)

    def join(self, coef: Floats, intercept: Floats) -> Floats:
        b = intercept / self.bias if self.bias > 0 else np.zeros(self.n_outputs)
        return self.merge(coef.reshape(-1, self.n_features, self.size), b)

    def scores(self, theta: Floats) -> Floats:
        """F (n_outputs, n_rows)."""
        coef, b = self.split(theta)
        return self.rows.scores(coef, self.n_threads) + self.bias * b[:, None]

    def sums(self, R: Floats) -> Floats:
        """Give the gradient of sum(R * F) by theta."""
        summed = np.empty((self.n_outputs, self.n_features * self.size))
        for k in range(self.n_outputs):
            r = np.ascontiguousarray(R[k])
            summed[k] = _core.sum_all(
                self.rows.core, self.basis, self.n_features, r, self.n_threads
            )
        coef = summed.reshape(self.n_outputs, self.n_features, self.size)
        return self.merge(coef, self.bias * R.sum(axis=1))

    def stiffen(self, theta: Floats) -> Floats:
        """Give the gradient of the penalty."""
        coef, b = self.split(theta)
        penalty = self.embedding.penalty
        stiff = penalty.difference_transpose(penalty.difference(coef) * self.used)
        return self.merge(stiff * self.stiffness[:, None], b)

    def soften(self, theta: Floats) -> Floats:
        """Undo stiffen()."""
        coef, b = self.split(theta)
        return self.merge(self.embedding.penalty.smooth(coef) * self.embedding.scale[:, None], b)


class _Model(Protocol):
    def times(self, theta: Floats, scores: Floats) -> Floats: ...

    def precondition(self, theta: Floats) -> Floats: ...


class _Chooser:
    """Chooses the preconditioner of the next step by what the last one took.

    Both ways are priced in numbers that are multiplied and added somewhere in memory.
    """

    def __init__(self, space: _Space, preconditioner: str) -> None:
        self.space = space
        n_free = space.used.sum(axis=1)
        n = int(n_free.sum()) + 1
        self.n_sample = min(space.n_rows, ROWS_PER_COEFFICIENT * n)
        # Of two functions, as a 0/1 column has them, one is zero.
        per_row = np.minimum(np.maximum(n_free - 1, 1), space.embedding.basis.support).sum()
        per_row *= space.rows.n_values / (space.rows.n_given * space.n_features)
        dense_price = 0.5 * self.n_sample * float(per_row) ** 2 + n**3 / 30
        per_value = 2.0 if space.rows.is_coded else PRICE_UNCODED
        # How many products with the Hessian cost as much as forming it from a sample.
        self.worth = dense_price / (per_value * space.rows.n_values)
        if preconditioner == "banded" or not forms_hessian(space.embedding):
            self.worth = np.inf
        elif preconditioner == "dense":
            self.worth = 0.0
        # The first step is from zero, where all rows weigh alike: an easy one.
        self.last_products = 10

    def model(self, curvature: Curvature) -> _Model:
        if self.last_products <= self.worth:
            return _Banded(self.space, curvature)
        self.worth = 0.0  # dense, and so it stays
        return _Dense(self.space, curvature, self.n_sample)

    def note(self, n_products: int) -> None:
        self.last_products = n_products


class _ByPasses:
    """The Hessian as two passes over the rows."""

    def __init__(self, space: _Space, curvature: Curvature) -> None:
        self.space, self.curvature = space, curvature

    def times(self, theta: Floats, scores: Floats) -> Floats:
        return self.space.stiffen(theta) + self.space.sums(self.curvature.times(scores))


class _Banded(_ByPasses):
    """Preconditioned by the diagonal blocks."""

    def __init__(self, space: _Space, curvature: Curvature) -> None:
        super().__init__(space, curvature)
        self.factors = [self._factor(h) for h in curvature.diagonal]
        self.of_b = 1.0 + space.bias**2 * curvature.diagonal.sum(axis=1)

    def _factor(self, h: Floats) -> Floats:
        """Factor the blocks of all features, as one banded matrix."""
        space, penalty = self.space, self.space.embedding.penalty
        support = space.embedding.basis.support
        n_bands = min(space.size, max(support, penalty.bandwidth + 1))
        bands = np.zeros((space.n_features, space.size, n_bands))
        blocks = _core.blocks_all(
            space.rows.core, space.basis, space.n_features, np.ascontiguousarray(h), space.n_threads
        ).reshape(space.n_features, space.size, support)
        for p in range(support):  # both coefficients must take part
            both = space.used[:, p:] & space.used[:, : space.size - p]
            bands[:, : space.size - p, p] = blocks[:, : space.size - p, p] * both
        for m, S in space.stiffnesses.items():
            alike = space.n_used == m
            for p in range(min(n_bands, m)):
                bands[alike, : m - p, p] += np.diagonal(S, p) * space.stiffness[alike, None]
        bands[:, :, 0] += ~space.used  # ones, so that it can be factored
        upper = np.zeros((n_bands, space.n_features * space.size))
        for p in range(n_bands):
            flat = bands[:, :, p].ravel()
            upper[n_bands - 1 - p, p:] = flat[: len(flat) - p]
        factor: Floats = cholesky_banded(upper)
        return factor

    def precondition(self, theta: Floats) -> Floats:
        out = np.empty_like(theta)
        for k, factor in enumerate(self.factors):
            out[k, :-1] = cho_solve_banded((factor, False), theta[k, :-1])
        out[:, -1] = theta[:, -1] / self.of_b
        return out


class _Dense(_ByPasses):
    """Preconditioned by the whole Hessian of each output, from the first n_sample rows.

    Rows are in random order, so these are a sample.
    """

    def __init__(self, space: _Space, curvature: Curvature, n_sample: int) -> None:
        super().__init__(space, curvature)
        used = np.flatnonzero(space.used)
        self.places = np.append(used, space.n_features * space.size)
        self.place_of = np.full(space.used.size, -1, dtype=np.int64)
        self.place_of[used] = np.arange(len(used))
        matrices = [self._matrix(h, n_sample) for h in curvature.diagonal]
        self.factors = [cho_factor(H, overwrite_a=False) for H in matrices]
        self.exact = matrices[0] if n_sample == space.n_rows and space.n_outputs == 1 else None

    def _matrix(self, h: Floats, n_sample: int) -> Floats:
        space, n = self.space, len(self.places)
        share = n_sample / space.n_rows
        H: Floats = _core.hessian_some(
            space.rows.core,
            space.basis,
            self.place_of,
            n,
            np.ascontiguousarray(h[:n_sample]) / share,
            space.bias,
            space.n_threads,
        ).reshape(n, n)
        for j, used in enumerate(space.used):
            at = self.place_of[j * space.size : (j + 1) * space.size][used]
            free = np.flatnonzero(used)
            S = space.stiffnesses[int(space.n_used[j])]
            H[np.ix_(at, at)] += S[np.ix_(free, free)] * space.stiffness[j]
        H[-1, -1] += 1.0
        return H

    def times(self, theta: Floats, scores: Floats) -> Floats:
        if self.exact is None:
            return super().times(theta, scores)
        out = np.zeros_like(theta)
        out[0, self.places] = self.exact @ theta[0, self.places]
        return out

    def precondition(self, theta: Floats) -> Floats:
        out = np.zeros_like(theta)
        for k, factor in enumerate(self.factors):
            out[k, self.places] = cho_solve(factor, theta[k, self.places])
        return out


def _dot(a: Floats, b: Floats) -> float:
    return float(np.vdot(a, b))
