"""Newton's method for smooth losses: primal, with a trust region and free intercepts.

Minimises, over the parameters theta (n_outputs, n_parameters) of a layout and b (n_outputs,),

    P = sum_k 1/2 theta_k' S_k theta_k / t_k + L(F),   F = f(x) + b,

summed over outputs, L being a sum of losses of the scores (see `smooth`); b is not penalised. Each
step minimises the quadratic model of P inside a trust region by conjugate gradients (Steihaug's way
out at the edge). A product with the Hessian is a pass over the rows that scores a direction and one
that sums back; the Hessian itself is formed only as a preconditioner, in one of two ways:

- `_Banded`: its diagonal blocks, one per feature, which are banded for B-splines and together one
  banded matrix. Cheap; but where features say the same thing many iterations are needed.
- `_Dense`: the whole of it (one per output), from all rows or, as a preconditioner need not be
  exact, from a sample. With all rows and one output it is the Hessian, and one iteration suffices.

After every step the intercepts are solved for exactly. The losses' derivatives at F are then
feasible dual variables, and the gap between primal and dual comes to 1/2 g'K g, g being the
gradient of P by theta and K the inverse of the penalty's matrix: a certificate, as in dual
coordinate descent. Where the penalty is weak it is far larger than what is left to gain. That is
close to 1/2 g'H^{-1} g, H being the Hessian, which is what a step's quadratic model promises; so
the method also ends with a step that promised less than a tenth of the tolerance and kept the
promise. `gap` is the certificate in either case, and `certified` says whether it is within tol.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky_banded
from scipy.linalg.lapack import dpbtrs

from splinear import _core
from splinear._types import AnyArray, Floats
from splinear.model.group import TermGroup
from splinear.model.layout import Layout
from splinear.solvers.problem import Result, Start, Stopping
from splinear.solvers.rows import TrainingRows
from splinear.solvers.smooth import Curvature, Sum

__all__ = [
    "Iterate",
    "begin",
    "descend",
    "forms_hessian",
    "one_step",
    "penalised_bands",
    "solve",
]

Preconditioner = Literal["auto", "banded", "dense"]

# Up to so many coefficients a output the dense preconditioner may be used, from so many rows a
# coefficient.
MAX_DENSE = 2500
ROWS_PER_COEFFICIENT = 12
PRICE_UNCODED = 20.0  # of a value in a product, where rows are read as they are; 2 where coded

# Rows that products go through at first; more of them where outputs are several, or where terms
# have levels, which a small sample may not have.
FIRST_SAMPLE, LARGER_SAMPLE = 5_000, 10_000
SAMPLE_GROWTH, GROW_ABOVE = 4, 0.5

EVENLY = 0.05  # of the mean, which is added to what a row adds to the Hessian
LEAST_TRUST = 1e-4  # of a step's promised decrease, which must come
MOST_RAISED = 1  # times that a step led astray, and more curvature was tried
KEPT = 0.25  # of such extra curvature, for the next step
SHARES = (1.0, 0.25, 0.0625)  # of a step, which are tried then
LEAST_LEFT = 1e-6  # of a block, once the intercept is taken out: sums have no more digits
MAX_CG = 300
CG_ACCURACY = 0.1  # of the gradient that may be left: a step then divides the gap by about 100
ENOUGH = 0.3  # of the tolerance: the gap of the model at which a step may end
# The first steps lead to where the Hessian is another one, and need not be accurate.
N_ROUGH, ROUGH_ABOVE, ROUGH_ACCURACY = 2, 0.1, 0.3


def forms_hessian(layout: Layout) -> bool:
    """Tell whether the Hessian of one output is small enough to be formed."""
    return int(layout.used.sum()) < MAX_DENSE


def solve(
    rows: TrainingRows,
    total: Sum,
    stopping: Stopping,
    start: Start | None = None,
    *,
    preconditioner: Preconditioner = "auto",
) -> list[Result]:
    """Minimise to a relative gap of stopping.tol; one result per output.

    "auto" takes whichever preconditioner should be faster, step by step. The primal, the gap and
    the number of steps belong to all outputs together.
    """
    first = begin(rows, total, stopping.n_threads, start)
    found = _last(descend(first, stopping, preconditioner), stopping)
    return found.results(stopping.tol)


def begin(rows: TrainingRows, total: Sum, n_threads: int, start: Start | None = None) -> Iterate:
    """Return the point to start from: zero, or an earlier model."""
    space = _Space(rows, total.n_outputs, n_threads)
    theta = space.zeros()
    if start is not None and start.coef is not None:
        theta = space.join(np.atleast_2d(start.coef), np.atleast_1d(start.intercept))
    return Iterate(space, total, theta, space.scores(theta))


class Iterate:
    """A point on the way, its intercepts solved for, and what has been computed there.

    What depends on the scores alone stays valid under another layout; see `under`.
    """

    def __init__(self, space: _Space, total: Sum, theta: Floats, F: Floats) -> None:
        shift = total.best_shift(F)
        self.space, self.total = space, total
        self.theta = space.levelled(space.shifted(theta, shift))
        self.F = F + shift[:, None]
        if space.n_outputs > 1:  # what all classes have in common changes nothing, and is kept at 0
            common = self.theta[:, -1].mean()
            self.theta[:, -1] -= common
            self.F -= common
        self.n_iter, self.promised = 0, np.inf
        self.extra: Floats | None = None  # curvature of rows
        self.n_raised, self.is_cautious = 0, False
        self.n_product: int | None = None  # rows that products went through on the way here

    def under(self, layout: Layout) -> Iterate:
        """Return the same point for other variances; `sums`, `curvature` and `blocks` are kept."""
        other = copy(self)
        for name in ("pull", "value", "gap"):
            other.__dict__.pop(name, None)
        rows = self.space.rows.with_layout(layout)
        other.space = _Space(rows, self.space.n_outputs, self.space.n_threads)
        return other

    def raised(self, D: Floats) -> Iterate:
        """Return the same point with extra curvature for rows that a step led astray.

        The step moved scores by D. A row whose loss rose by more than its quadratic model said gets
        the curvature that would have said so.
        """
        rise = self.total.each(self.F + D) - self.total.each(self.F)
        rise -= np.einsum("ki,ki->i", self.total.gradient(self.F), D)
        said = 0.5 * np.einsum("ki,ki->i", self.step_curvature.times(D), D)
        squares = np.maximum(np.einsum("ki,ki->i", D, D), np.finfo(float).tiny)
        more = np.where(rise > 2.0 * said, 2.0 * (rise - said) / squares, 0.0)
        other = self.cautious()
        other.extra = more if self.extra is None else self.extra + more
        other.n_raised = self.n_raised + 1
        return other

    def cautious(self) -> Iterate:
        """Return the same point with more curvature where losses are nearly straight."""
        other = copy(self)
        other.__dict__.pop("step_curvature", None)
        other.is_cautious = True
        return other

    @cached_property
    def step_curvature(self) -> Curvature:
        """The second derivatives that steps are made with."""
        at = self.total.curvature(self.F, cautious=True) if self.is_cautious else self.curvature
        return at if self.extra is None else at.raised(self.extra)

    @property
    def is_bare(self) -> bool:
        """Whether steps are made with the losses' own second derivatives."""
        return self.extra is None and not self.is_cautious

    @property
    def parameters(self) -> Floats:
        """The layout's parameters, (n_outputs, n_parameters)."""
        return self.theta[:, :-1]

    @cached_property
    def losses(self) -> float:
        """The sum of the losses."""
        return self.total.value(self.F)

    @cached_property
    def pull(self) -> Floats:
        """The gradient of the penalty."""
        return self.space.stiffen(self.theta)

    @cached_property
    def value(self) -> float:
        """P."""
        return 0.5 * _dot(self.theta, self.pull) + self.losses

    @cached_property
    def sums(self) -> Floats:
        """The gradient of the losses."""
        return self.space.sums(self.total.gradient(self.F))

    @property
    def gradient(self) -> Floats:
        """The gradient of P."""
        return self.pull + self.sums

    @cached_property
    def gap(self) -> float:
        """The duality gap."""
        return self.space.gap(self.gradient)

    @cached_property
    def curvature(self) -> Curvature:
        """The second derivatives of the losses."""
        return self.total.curvature(self.F)

    @cached_property
    def blocks(self) -> list[list[Floats]]:
        """The diagonal blocks of the losses' Hessian by bands, for each output and group."""
        return self.space.blocks(self.curvature.diagonal)

    @cached_property
    def ties(self) -> Floats:
        """What ties the tables to the intercept in the Hessian, (n_outputs, n_parameters)."""
        return self.space.ties(self.curvature.diagonal, self.blocks)

    def is_converged(self, tol: float) -> bool:
        """Tell whether the gap is within tol, or the last step promised a tenth of it."""
        least = min(self.gap, 10.0 * self.promised)
        return bool(least <= tol * self.value) if self.value > 0 else True

    def results(self, tol: float) -> list[Result]:
        """Return the models of all outputs, and their certificate."""
        coef = self.space.layout.extended(self.parameters)
        relative = self.gap / self.value if self.value > 0 else 0.0
        return [
            Result(
                coef=coef[k],
                intercept=float(self.theta[k, -1]),
                primal=self.value,
                dual=self.value - self.gap,
                gap=relative,
                n_iter=self.n_iter,
                converged=self.is_converged(tol),
                certified=relative <= tol,
            )
            for k in range(len(coef))
        ]


def _last(states: Iterator[Iterate], stopping: Stopping) -> Iterate:
    """Return the last state; on Ctrl-C the last that was reached, keeping the exception."""
    found = next(states)
    try:
        for state in states:
            found = state
    except KeyboardInterrupt as error:
        stopping.watch.fail(error)
    return found


def descend(
    at: Iterate,
    stopping: Stopping,
    preconditioner: Preconditioner = "auto",
    accuracy: float = CG_ACCURACY,
) -> Iterator[Iterate]:
    """Go down step by step."""
    chooser = _Chooser(at, preconditioner)
    radius = np.inf
    while True:
        yield at
        left = min(at.gap, at.promised) / at.value if at.value > 0 else 0.0
        stop = at.n_iter > 0 and stopping.watch.on_pass(at.n_iter, left, at.space.n_rows)
        if stop or at.is_converged(stopping.tol) or at.n_iter == stopping.max_iter:
            return
        first = at.n_iter < N_ROUGH and not at.is_converged(ROUGH_ABOVE)
        own = ROUGH_ACCURACY if first else accuracy
        found, radius = _step(at, chooser, radius, stopping, own)
        if found is None:
            return
        chooser.grow(at, found)
        at = found


def one_step(at: Iterate, stopping: Stopping, accuracy: float) -> Iterate:
    """Make one cautious step; the same point if none leads down."""
    found, _ = _step(at.cautious(), _Chooser(at, "auto"), np.inf, stopping, accuracy)
    return at if found is None else found


def _step(
    at: Iterate, chooser: _Chooser, radius: float, stopping: Stopping, accuracy: float
) -> tuple[Iterate | None, float]:
    """Make one step; and the next region. None if no step leads down.

    Where a step leads up, the rows that led astray get more curvature, for another one; then a part
    of it will do; then more rows take part, then the region becomes smaller.
    """
    model, enough = chooser.model(at), ENOUGH * stopping.tol * at.value
    while True:
        step = _conjugate_gradients(model, at.gradient, radius, stopping, accuracy, enough)
        chooser.note(step.n_products)
        scores = at.space.scores(step.to) if step.scores is None else step.scores
        moved, trust, share = _best_share(at, step, scores)
        # Near the optimum the decrease drowns in rounding, and the model is to be trusted.
        if trust > LEAST_TRUST or step.decrease <= 1e-13 * abs(at.value):
            if trust < 0.25 or share < 1.0:
                radius = min(0.25, share) * step.length
            elif trust > 0.75 and step.at_edge:
                radius = 2.0 * radius
            moved.n_iter = at.n_iter + 1
            moved.extra = None if at.extra is None else KEPT * at.extra
            moved.n_product = chooser.n_product
            doubtful = step.at_edge or trust < 0.5 or share < 1.0 or not model.is_whole
            moved.promised = np.inf if doubtful else step.decrease
            return moved, radius
        if at.n_raised < MOST_RAISED:
            at = at.raised(scores)
            model = chooser.model(at)
        elif not model.is_whole:
            chooser.grow_sample()
            model = chooser.model(at)
        else:
            radius = SHARES[-1] * step.length
        if stopping.watch.poll() or radius <= 1e-300:
            return None, radius


def _best_share(at: Iterate, step: _Step, scores: Floats) -> tuple[Iterate, float, float]:
    """Go the whole step, or a share of it if that leads up and curvature was raised for it.

    Return where it leads, how much of the promised decrease came, and the share. `scores` are the
    step's own.
    """
    for share in SHARES if at.n_raised == MOST_RAISED else SHARES[:1]:
        moved = Iterate(at.space, at.total, at.theta + share * step.to, at.F + share * scores)
        promised = share * (2.0 - share) * step.decrease
        trust = (at.value - moved.value) / promised if promised > 0 else 0.0
        if trust > LEAST_TRUST:
            break
    return moved, trust, share


@dataclass
class _Step:
    to: Floats
    scores: Floats | None  # of all rows, if the model was of all
    decrease: float  # of the quadratic model
    n_products: int  # with the Hessian
    length: float  # in the norm of the preconditioner
    at_edge: bool


def _conjugate_gradients(
    model: _Model,
    gradient: Floats,
    radius: float,
    stopping: Stopping,
    accuracy: float,
    enough: float,
) -> _Step:
    """Minimise gradient's + 1/2 s'H s over steps s no longer than the radius.

    What is left of the gradient may be `accuracy` of it, or so little that the gap of the model is
    `enough`.
    """
    space = model.space
    step, step_scores = np.zeros_like(gradient), space.zero_scores()
    residual = -gradient
    residual[:, -1] = 0.0  # as the intercepts follow every step, and have followed the last
    z = model.precondition(residual)
    direction, rz = z, _dot(residual, z)
    goal, decrease = accuracy**2 * rz, 0.0
    squared, along, direction_squared = 0.0, 0.0, rz  # in the norm of the preconditioner
    at_edge = False
    n_products = 0
    while n_products < MAX_CG and rz > 0.0:
        n_products += 1
        direction_scores, product = model.times(direction)
        t = rz / _dot(direction, product)
        longer = squared + 2.0 * t * along + t * t * direction_squared
        at_edge = longer >= radius**2
        if at_edge:
            root = np.sqrt(along**2 + direction_squared * (radius**2 - squared))
            t = (radius**2 - squared) / max(along + root, np.finfo(float).tiny)
            longer = radius**2
        decrease += t * _dot(direction, residual) - 0.5 * t * t * _dot(direction, product)
        step, step_scores = step + t * direction, step_scores + t * direction_scores
        squared = longer
        if at_edge or stopping.watch.poll():
            break
        residual = residual - t * product
        z = model.precondition(residual)
        previous, rz = rz, _dot(residual, z)
        # The gap of the model is at least rz / 2, as its Hessian is at least the penalty's.
        if rz <= goal or (rz <= 2.0 * enough and space.gap(residual) <= enough):
            break
        beta = rz / previous
        along = beta * (along + t * direction_squared)
        direction_squared = rz + beta**2 * direction_squared
        direction = z + beta * direction
    scores = step_scores if model.is_whole else None
    return _Step(step, scores, decrease, n_products, float(np.sqrt(squared)), at_edge)


class _Space:
    """Vectors theta (n_outputs, n_parameters + 1): the layout's parameters, and b at the end.

    Parameters that are not used (a feature is constant, or has fewer bins than others) are 0 and
    take no part; the penalty is that of the others alone.
    """

    def __init__(self, rows: TrainingRows, n_outputs: int, n_threads: int) -> None:
        self.rows, self.n_outputs, self.n_threads = rows, n_outputs, n_threads
        self.layout, self.n_rows = rows.layout, rows.n_rows
        self.used = self.layout.used

    def zeros(self) -> Floats:
        return np.zeros((self.n_outputs, len(self.used) + 1))

    def zero_scores(self) -> Floats:
        return np.zeros((self.n_outputs, self.n_rows))

    def join(self, parameters: Floats, b: Floats) -> Floats:
        return np.column_stack([np.where(self.used, parameters, 0.0), b])

    def shifted(self, theta: Floats, shift: Floats) -> Floats:
        out = theta.copy()
        out[:, -1] += shift
        return out

    def levelled(self, theta: Floats) -> Floats:
        """Move what all levels of a category have in common to the intercept.

        No score changes by that, and the penalty is least; else it would be a direction in which
        the Hessian is almost flat.
        """
        out = theta.copy()
        pairs = zip(self.layout.groups, self.layout.split(out[:, :-1]), strict=True)
        for group, part in pairs:
            if group.is_levelled:
                out[:, -1] += group.take_level(part)
        return out

    def scores(self, theta: Floats) -> Floats:
        """F (n_outputs, n_rows)."""
        return self.rows.scores(theta[:, :-1], self.n_threads) + theta[:, -1:]

    def sums(self, R: Floats) -> Floats:
        """Return the gradient of sum(R * F) by theta."""
        return self.join(self.rows.sums(R, self.n_threads), R.sum(axis=1))

    def stiffen(self, theta: Floats) -> Floats:
        """Return the gradient of the penalty."""
        return self.join(self.layout.stiffen(theta[:, :-1]), np.zeros(self.n_outputs))

    def gap(self, gradient: Floats) -> float:
        """Return 1/2 g'K g; the gradient by b is 0 and counts as such."""
        g = np.where(self.used, gradient[:, :-1], 0.0)
        return 0.5 * _dot(g, self.layout.soften(g))

    def blocks(self, H: Floats) -> list[list[Floats]]:
        """Return the blocks of sum_i h_i B_i B_i' on its diagonal, for each row h of H and group.

        By bands, in shapes (n_features, stride, support); a gap's row holds the sum of h over gaps.
        """
        return self.rows.blocks(H, self.n_threads)

    def ties(self, H: Floats, blocks: list[list[Floats]]) -> Floats:
        """Return sum_i h_i B_i for each row h of H, (n_outputs, n_parameters).

        Functions that sum to one have it in their blocks; else it takes a pass over the rows.
        """
        if not all(group.embedding.basis.is_partition for group in self.layout.groups):
            return self.rows.raw_sums(H, self.n_threads)
        return np.stack([self.layout.join([_row_sums(part) for part in own]) for own in blocks])


def _row_sums(blocks: Floats) -> Floats:
    """Sum the rows of symmetric matrices given by bands (n, size, support): (n, size)."""
    out = blocks.sum(axis=2)
    for p in range(1, blocks.shape[2]):
        out[:, p:] += blocks[:, :-p, p]
    return np.asarray(out)


class _Model(Protocol):
    space: _Space  # of the rows that products go through
    is_whole: bool  # whether these are all

    def times(self, direction: Floats) -> tuple[Floats, Floats]: ...

    def precondition(self, theta: Floats) -> Floats: ...


class _Chooser:
    """Chooses the preconditioner of the next step by what the last one took.

    Both ways are priced in numbers that are multiplied and added somewhere in memory.
    """

    def __init__(self, at: Iterate, preconditioner: str) -> None:
        space = self.space = at.space
        n = int(space.used.sum()) + 1
        self.n_sample = min(space.n_rows, ROWS_PER_COEFFICIENT * n)
        per_row = sum(_entries_per_row(group) for group in space.layout.groups)
        n_terms = sum(group.n_features for group in space.layout.groups)
        per_row *= space.rows.n_values / (space.rows.n_rows * max(1, n_terms))
        self.dense_price = 0.5 * self.n_sample * float(per_row) ** 2 + n**3 / 30
        per_value = 2.0 if space.rows.is_coded else PRICE_UNCODED
        self.price_per_row = per_value * space.rows.n_values / space.n_rows  # of a product
        if preconditioner == "banded" or not forms_hessian(space.layout):
            self.dense_price = np.inf
        elif preconditioner == "dense":
            self.dense_price = 0.0
        # The first step is from zero, where all rows weigh alike: an easy one.
        self.last_products = 10
        # Products with the Hessian may go through a sample, as far as steps then lead on.
        has_levels = any(group.levels is not None for group in space.layout.groups)
        n_first = LARGER_SAMPLE if has_levels or space.n_outputs > 1 else FIRST_SAMPLE
        self.n_product = space.n_rows if space.n_rows <= 2 * n_first else n_first
        if at.n_product is not None:
            self.n_product = max(self.n_product, min(at.n_product, space.n_rows))

    def model(self, at: Iterate) -> _Model:
        part = _Part(at, self.n_product)
        if self.last_products * self.price_per_row * part.space.n_rows <= self.dense_price:
            return _Banded(part)
        self.dense_price = 0.0  # dense, and so it stays
        return _Dense(part, self.n_sample)

    def grow(self, before: Iterate, after: Iterate) -> None:
        """Take a larger sample if the gap fell by little."""
        if after.gap > GROW_ABOVE * before.gap:
            self.grow_sample()

    def grow_sample(self) -> None:
        """Take a larger sample, or all rows."""
        n = SAMPLE_GROWTH * self.n_product
        self.n_product = self.space.n_rows if 2 * n > self.space.n_rows else n

    def note(self, n_products: int) -> None:
        self.last_products = n_products


class _Part:
    """The Hessian's own view of a point: all rows, or some n of them, which stand for all.

    Rows are taken by how much they add to the Hessian, and weigh accordingly; where a model is sure
    of most rows, few of them make nearly all of it.
    """

    def __init__(self, at: Iterate, n: int) -> None:
        self.is_whole = n >= at.space.n_rows
        self.all_rows, self.all_curvature = at.space, at.step_curvature
        self.space, self.curvature = self.all_rows, self.all_curvature
        if self.is_whole and at.is_bare:
            self.blocks, self.ties = at.blocks, at.ties
            return
        if not self.is_whole:
            h, rows = self.curvature.diagonal.sum(axis=0), at.space.rows
            numbers, weights = _sample(h, n, in_order=rows.is_on_disk)
            self.space = _Space(rows.some(numbers), at.space.n_outputs, at.space.n_threads)
            self.curvature = self.curvature.some(numbers, weights)
        self.blocks = self.space.blocks(self.curvature.diagonal)
        self.ties = self.space.ties(self.curvature.diagonal, self.blocks)


def _sample(h: Floats, n: int, in_order: bool) -> tuple[AnyArray, Floats]:
    """Return the numbers of about n rows, and weights by which sums over them stand for all.

    Row i is taken with probability p_i = min(1, h_i / t), such that n are expected, and weighs
    1 / p_i. As rows are in random order, those are taken at which the sum of p passes a whole
    number. If `in_order`, all rows are as probable, and the first are taken.
    """
    if in_order or not h.sum() > 0.0:
        return np.arange(n), np.full(n, len(h) / n)
    h = h + EVENLY * h.mean()
    surely, n_sure = np.zeros(len(h), dtype=bool), -1
    while int(surely.sum()) > n_sure:
        n_sure = int(surely.sum())
        t = h[~surely].sum() / max(n - n_sure, 1)
        surely |= h >= t
    p = np.where(surely, 1.0, h / t if t > 0.0 else 0.0)
    passed = np.floor(np.cumsum(p) + 0.5)
    numbers = np.flatnonzero(np.diff(passed, prepend=0.0) > 0.0)
    return numbers, 1.0 / p[numbers]


class _ByPasses:
    """The Hessian as two passes over the rows."""

    def __init__(self, part: _Part) -> None:
        self.space, self.curvature, self.is_whole = part.space, part.curvature, part.is_whole

    def times(self, direction: Floats) -> tuple[Floats, Floats]:
        """Return the scores of a direction and its product with the Hessian.

        The intercepts follow: the direction's own are replaced by those at which the product by
        them is 0.
        """
        direction[:, -1] = 0.0
        scores = self.space.scores(direction)
        direction[:, -1] = self.curvature.level(scores)
        scores += direction[:, -1:]
        product = self.space.stiffen(direction) + self.space.sums(self.curvature.times(scores))
        return scores, product


class _Banded(_ByPasses):
    """Preconditioned by the diagonal blocks M_j, one per feature, and the intercept b.

    A curve can move the mean score as b can. So b is measured at the mean of the curves,
    b' = b + sum_j u_j'theta_j / s, with u_j `ties` and s the sum of second derivatives, and in
    place of M_j stands M_j - u_j u_j' / s. All that is said of tables, in which a gap has a value
    of its own, and not of parameters, in which it has a deviation from its curve's mean.
    """

    def __init__(self, part: _Part) -> None:
        super().__init__(part)
        s = np.maximum(part.curvature.diagonal.sum(axis=1), np.finfo(float).tiny)
        self.outputs = [
            _Arrow(self.space.layout, blocks, u, float(of_b))
            for blocks, u, of_b in zip(part.blocks, part.ties, s, strict=True)
        ]

    def precondition(self, theta: Floats) -> Floats:
        return np.stack([arrow.solve(r) for arrow, r in zip(self.outputs, theta, strict=True)])


class _Arrow:
    """The blocks of one output, factored, and what ties them to the intercept."""

    def __init__(self, layout: Layout, blocks: list[Floats], ties: Floats, of_b: float) -> None:
        self.layout, self.of_b = layout, of_b
        pairs = zip(layout.groups, blocks, strict=True)
        self.factors = [_factored(group, part) for group, part in pairs]
        self.ties = np.where(layout.used, ties, 0.0) / of_b
        parts = zip(layout.groups, self.factors, layout.split(self.ties), strict=True)
        self.solved, self.left = [], []  # M_j^{-1} u_j, and 1 - u_j'M_j^{-1}u_j / s
        for group, factor, u in parts:
            x = dpbtrs(factor, u.ravel())[0].reshape(group.shape)
            self.solved.append(x)
            self.left.append(np.maximum(1.0 - of_b * (u * x).sum(axis=1), LEAST_LEFT))

    def solve(self, r: Floats) -> Floats:
        out = np.empty_like(r)
        in_tables = np.where(self.layout.used, self.layout.scatter(r[:-1]), 0.0)
        centred = in_tables - self.ties * r[-1]
        for group, factor, u, x, left, part, to in zip(
            self.layout.groups,
            self.factors,
            self.layout.split(self.ties),
            self.solved,
            self.left,
            self.layout.split(centred),
            self.layout.split(out[:-1]),
            strict=True,
        ):
            y = dpbtrs(factor, part.ravel())[0].reshape(group.shape)
            along = self.of_b * (u * y).sum(axis=1) / left
            to[:] = y + x * along[:, None]
        out[-1] = r[-1] / self.of_b - self.ties @ out[:-1]
        out[:-1] = np.where(self.layout.used, self.layout.from_tables(out[:-1]), 0.0)
        return out


def _factored(group: TermGroup, blocks: Floats) -> Floats:
    """Factor the blocks plus the penalty of one group, an upper banded matrix."""
    used, bands = group.used, penalised_bands(group, blocks)
    bands[:, :, 0] += ~used  # ones, so that it can be factored
    n_bands = bands.shape[2]
    upper = np.zeros((n_bands, used.size))
    for p in range(n_bands):
        flat = bands[:, :, p].ravel()
        upper[n_bands - 1 - p, p:] = flat[: len(flat) - p]
    factor: Floats = cholesky_banded(upper)
    return factor


def penalised_bands(group: TermGroup, blocks: Floats) -> Floats:
    """Add the penalty to blocks (n_features, stride, support), 0 where a parameter is not used.

    The bands are (n_features, stride, n_bands): entry [j, k, p] stands at (k, k + p) of the matrix
    of feature j. A gap is not tied to its curve here.
    """
    used, support = group.used, blocks.shape[2]
    penalty, scale = group.embedding.penalty, group.embedding.scale
    n_bands = min(group.size, max(support, penalty.bandwidth + 1))
    out = np.zeros((*group.shape, n_bands))
    for p in range(min(support, n_bands)):  # both coefficients must take part
        both = used[:, p:] & used[:, : group.stride - p]
        out[:, : group.stride - p, p] = blocks[:, : group.stride - p, p] * both
    stiffness = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    bands = penalty.stiffness_bands(group.edge_weights) * stiffness[:, None, None]
    out[:, : group.size, : bands.shape[2]] += bands
    if group.has_gaps:
        g = group.gap_scale
        out[:, -1, 0] += np.divide(1.0, g, out=np.zeros_like(g), where=g > 0)
    return out


def _entries_per_row(group: TermGroup) -> float:
    """Return how many functions of a group are not zero in a row."""
    # Of two functions, as a 0/1 column has them, one is zero.
    n_free = group.embedding.used.sum(axis=1)
    most = np.minimum(np.maximum(n_free - 1, 1), group.embedding.basis.support)
    return float(most[n_free > 0].sum())


class _Dense(_ByPasses):
    """Preconditioned by the whole Hessian of each output, from the first n_sample rows.

    Rows are in random order, so these are a sample.
    """

    def __init__(self, part: _Part, n_sample: int) -> None:
        super().__init__(part)
        space, curvature = part.all_rows, part.all_curvature
        self.of_all = space
        raw = space.used.copy()
        for group, own in zip(space.layout.groups, space.layout.split(raw), strict=True):
            if group.has_gaps:  # a gap counts in its curve, even if it has no deviation
                own[:, -1] = True
        self.raw = np.flatnonzero(raw)
        self.place_of = np.full(len(raw), -1, dtype=np.int64)
        self.place_of[self.raw] = np.arange(len(self.raw))
        self.free = np.append(self.place_of[space.used], len(self.raw))
        self.places = np.append(np.flatnonzero(space.used), len(raw))
        matrices = [self._matrix(h, n_sample) for h in curvature.diagonal]
        self.factors = [cho_factor(H, overwrite_a=False) for H in matrices]
        self.exact = matrices[0] if n_sample == space.n_rows and space.n_outputs == 1 else None

    def _matrix(self, h: Floats, n_sample: int) -> Floats:
        space, n = self.of_all, len(self.raw) + 1
        share = n_sample / space.n_rows
        H: Floats = _core.hessian_some(
            space.rows.groups,
            self.place_of,
            n,
            np.ascontiguousarray(h[:n_sample]) / share,
            1.0,
            space.n_threads,
        ).reshape(n, n)
        for group, places in zip(
            space.layout.groups, space.layout.split(self.place_of), strict=True
        ):
            self._finish_group(H, group, places)
        return np.ascontiguousarray(H[np.ix_(self.free, self.free)])

    def _finish_group(self, H: Floats, group: TermGroup, places: AnyArray) -> None:
        """Tie gaps to their curves, and add the penalty."""
        used, bands = group.used, penalised_bands(group, np.zeros((*group.shape, 1)))
        for j in np.flatnonzero(used.any(axis=1)):
            at = places[j]
            if group.has_gaps:
                there = np.flatnonzero(group.embedding.used[j])
                to, gap, m = at[there], at[-1], group.mean[j, there]
                H[to] += m[:, None] * H[gap]
                H[:, to] += H[:, gap][:, None] * m
            for p in range(bands.shape[2]):
                k = np.flatnonzero(bands[j, : group.stride - p, p])
                H[at[k], at[k + p]] += bands[j, k, p]
                if p:
                    H[at[k + p], at[k]] += bands[j, k, p]

    def times(self, direction: Floats) -> tuple[Floats, Floats]:
        if self.exact is None:
            return super().times(direction)
        out = np.zeros_like(direction)
        out[0, self.places] = self.exact @ direction[0, self.places]
        return self.space.scores(direction), out

    def precondition(self, theta: Floats) -> Floats:
        out = np.zeros_like(theta)
        for k, factor in enumerate(self.factors):
            out[k, self.places] = cho_solve(factor, theta[k, self.places])
        return out


def _dot(a: Floats, b: Floats) -> float:
    return float(np.vdot(a, b))
