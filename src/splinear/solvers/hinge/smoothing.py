"""Hinge-like losses by few passes over all rows: Newton's method on smoothed losses.

For several outputs at once, it minimizes over the parameters theta (n_parameters,) of a layout and
the intercept b

    P = 1/2 theta' S theta + 1/2 b^2 / B^2 + sum_i c_i l(y_i f_i - t_i),   f_i = f(x_i) + b,

where l is the hinge, the squared hinge or the epsilon-insensitive loss: the problem of dual
coordinate descent. Each step is a Newton step for the same sum with smoothed losses l_g (see
`margin_sums`). Its Hessian is S plus a sum over the rows whose margin is within about g of the
kink, so products with it need these rows only. Conjugate gradients are preconditioned by the
diagonal blocks of features. The length of a step minimizes the smoothed sum along it.

The derivatives R of the smoothed losses with respect to scores are feasible for the unsmoothed
losses. So

    P(theta, b) - P* <= sum_i (the row's part of it) + 1/2 q'K q,   q = S theta + sum_i R_i B_i,

with K the inverse of S (both with the intercept included), is a duality gap of the unsmoothed
problem, and costs no more than the pass of the gradient. The lowest P of all steps minus the
largest dual value P - gap of all steps is the gap that ends the method. The rows' part is the cost
of smoothing; when it dominates, the width g is reduced.

The starting point is the solution on an eighth of the rows (`Rows.first`), with eight times
their weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from splinear import _core
from splinear._types import Floats
from splinear.objective.blocks import Arrow
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.margin_sums import MarginSums, Measures, RowMargins
from splinear.objective.problem import Result, Start, Stopping
from splinear.objective.rows import Rows
from splinear.objective.space import Space, added

__all__ = ["solve"]

WIDEST = 4.0  # at which all rows of a hinge are on the ramp if all scores are 0
LEAST_WIDTH = 1e-9
SPENT_ON_WIDTH = 0.3  # share of the tolerance that the rows' part of the gap should have
NARROWER, AT_MOST = 0.125, 0.5  # bounds of the factor by which a width is reduced
SMOOTHED_ENOUGH = 0.5  # widths are reduced if the other part of the gap is below this share
CG_ACCURACY, MAX_CG = 0.1, 100  # relative residual in the preconditioner's norm; iterations
GOOD_STEP = 0.1  # slope at the end of a good step, relative to that at its start
SHARES = np.array([0.02, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 3.0])
FIRST_SHARE, LEAST_ROWS, FIRST_TOL = 8, 16_000, 0.05  # of the solution on few rows
MOST_IDLE = 30  # steps without an improvement of the gap

_LIMITS = _core.StepLimits(  # of a step, without a trust region and without a proof
    radius=np.inf,
    accuracy=CG_ACCURACY,
    gap=0.0,
    max_products=MAX_CG,
    keeps_scores=False,
    is_quadratic=False,
    farthest=0.0,
)


def solve(
    rows: Rows, total: MarginSums, stopping: Stopping, start: Start | None = None
) -> list[Result]:
    """Minimize every sum to a relative gap of stopping.tol, and return one result per output.

    All outputs take part in each pass; those that are solved do not move. n_iter counts steps. The
    results' `slopes` are the R of the largest dual value.
    """
    if start is None or start.coef is None:
        start = _from_few(rows, total, stopping)
    state = _State.begin(rows, total, stopping, start)
    n_iter = n_idle = 0
    while True:
        is_better = state.look()
        n_idle = 0 if is_better else n_idle + 1
        gap = float(state.relative_gaps.max())
        n_bent = int(state.n_bent.max())
        stop = n_iter > 0 and stopping.watch.on_pass(n_iter, gap, n_bent)
        if stop or state.is_done.all() or n_iter >= stopping.max_iter or n_idle >= MOST_IDLE:
            return state.results(n_iter)
        try:
            state.step()
        except KeyboardInterrupt as error:
            stopping.watch.fail(error)
            return state.results(n_iter)
        n_iter += 1


def _from_few(rows: Rows, total: MarginSums, stopping: Stopping) -> Start | None:
    """Return a start at the solution on a share of the rows; None if there are few rows.

    With fewer rows than parameters the classes are separable, which takes far more steps and is of
    little use.
    """
    n = rows.n_rows // FIRST_SHARE
    if rows.n_rows < LEAST_ROWS or n < rows.layout.n_parameters:
        return None
    few = rows.first(n)
    own = Stopping(max(FIRST_TOL, stopping.tol), stopping.max_iter, n_threads=stopping.n_threads)
    found = solve(few, total.first(few.n_rows), own)
    return Start(np.stack([one.coef for one in found]), np.array([one.intercept for one in found]))


@dataclass(eq=False)
class _State:
    """The current point of every output, and the best ones so far."""

    space: Space
    total: MarginSums
    stopping: Stopping
    theta: Floats
    F: Floats
    ramps: Floats
    gradient: Floats
    n_bent: Floats
    best: Floats  # theta of the lowest primal value
    R: Floats | None  # of the largest dual value
    primal: Floats
    dual: Floats

    @classmethod
    def begin(
        cls, rows: Rows, total: MarginSums, stopping: Stopping, start: Start | None
    ) -> _State:
        """Return the state at zero, or at a start."""
        n = total.kind.n_outputs
        space = Space(rows, n, stopping.n_threads, total.kind.bias)
        theta, F = space.zeros(), space.zero_scores()
        ramps = np.tile([WIDEST, 0.0, 0.0], (n, 1))
        if start is not None and start.coef is not None:
            theta = space.join(np.atleast_2d(start.coef), np.atleast_1d(start.intercept))
            F, ramps = space.scores(theta), np.tile([1.0, 0.0, 0.0], (n, 1))
        state = cls(
            space,
            total,
            stopping,
            theta,
            F,
            ramps,
            gradient=theta,
            n_bent=np.zeros(n),
            best=theta,
            R=None,
            primal=np.full(n, np.inf),
            dual=np.full(n, -np.inf),
        )
        if start is not None and not total.kind.is_smooth:
            found = total.measured(F, ramps)
            state.ramps[:, 1:] = found.mean_slopes()
            found = total.measured(F, state.ramps)
            state.ramps[:, 0] *= _factor(stopping.tol, found.losses, found.parts, WIDEST)
        return state

    @property
    def relative_gaps(self) -> Floats:
        """The gap of every output, relative to P."""
        known = np.isfinite(self.primal)
        scale = np.where(known & (self.primal > 0.0), self.primal, 1.0)
        return np.where(known, np.maximum(self.primal - self.dual, 0.0) / scale, np.inf)

    @property
    def is_done(self) -> NDArray[np.bool_]:
        """Whether each output is solved."""
        return np.asarray(self.relative_gaps <= self.stopping.tol)

    def look(self) -> bool:
        """Measure the point, reduce widths where due, and return whether a gap has improved."""
        before = self.relative_gaps
        narrow = self._measure()
        if narrow.any() and not self.is_done.all():
            self._measure()
        after = self.relative_gaps
        return bool((after < 0.99 * before).any() or not np.isfinite(before).all())

    def _measure(self) -> NDArray[np.bool_]:
        """Compute P, its gradient and the gap; return whether each output's width was reduced."""
        space, was_done = self.space, self.is_done
        R, found = _sloped(self.total, self.F, self.ramps)
        pull = space.penalty_gradient(self.theta)
        self.gradient = pull + space.sums(R)
        self.n_bent = found.n_bent
        primal = 0.5 * _dots(self.theta, pull) + found.losses
        distance = 0.5 * _dots(self.gradient, self.space.from_penalty_gradient(self.gradient))
        self._note(primal, primal - found.parts - distance, R)
        is_due = ~was_done & ~self.is_done & (distance <= SMOOTHED_ENOUGH * found.parts)
        if not is_due.any() or self.total.kind.is_smooth:
            return np.zeros_like(is_due)
        factor = _factor(self.stopping.tol, primal, found.parts, AT_MOST)
        widths = np.maximum(factor * self.ramps[:, 0], LEAST_WIDTH)
        ramps = np.column_stack([widths, found.mean_slopes()])
        self.ramps = np.where(is_due[:, None], ramps, self.ramps)
        return is_due

    def _note(self, primal: Floats, dual: Floats, R: Floats) -> None:
        """Keep the lowest primal and the largest dual values."""
        lower, higher = primal < self.primal, dual > self.dual
        self.best = np.where(lower[:, None], self.theta, self.best)
        if self.R is None or higher.all():
            self.R = R
        elif higher.any():
            self.R = np.where(higher[:, None], R, self.R)
        self.primal = np.where(lower, primal, self.primal)
        self.dual = np.where(higher, dual, self.dual)

    def step(self) -> None:
        """Take a Newton step of the best length."""
        H = self.total.bends(self.F, self.ramps)
        residual = np.where(self.is_done[:, None], 0.0, -self.gradient)
        direction = _conjugate_gradients(_Hessian(self.space, H), residual, self.stopping)
        scores = self.space.scores(direction)
        share = self._best_share(direction, scores)[:, None]
        self.theta = self.theta + share * direction
        if len(share) == 1:
            self.F = self.space.moved(self.F, scores, float(share[0, 0]))
        else:
            self.F = self.F + share * scores

    def _best_share(self, direction: Floats, scores: Floats) -> Floats:
        """Return the step length that minimizes each smoothed sum: the root of its derivative."""
        pull = self.space.penalty_gradient(direction)
        first, second = _dots(self.theta, pull), _dots(direction, pull)
        begin = _dots(self.gradient, direction)

        def slopes(shares: Floats) -> Floats:
            own = self.total.along(self.F, scores, self.ramps, shares)
            return np.asarray(own + first[:, None] + second[:, None] * shares)

        whole = slopes(np.ones(1))[:, 0]
        if (np.abs(whole) <= GOOD_STEP * np.abs(begin)).all():
            return np.ones(len(whole))
        found = np.column_stack([begin, slopes(SHARES)])
        places = np.append(0.0, SHARES)
        return np.array([_root(places, own) for own in found])

    def results(self, n_iter: int) -> list[Result]:
        """Return the models of lowest primal value, with the best proof."""
        coef = self.space.layout.extended(self.best[:, :-1])
        gaps, done = self.relative_gaps, self.is_done
        assert self.R is not None
        return [
            Result(
                coef=coef[k],
                intercept=float(self.best[k, -1]) if self.total.kind.bias else 0.0,
                primal=float(self.primal[k]),
                dual=float(self.dual[k]),
                gap=float(gaps[k]),
                n_iter=n_iter,
                converged=bool(done[k]),
                certified=bool(done[k]),
                slopes=self.R[k],
            )
            for k in range(len(coef))
        ]


def _sloped(total: MarginSums, F: Floats, ramps: Floats) -> tuple[Floats, Measures]:
    """Return slopes and measures, in one pass if the rows are in this process."""
    if isinstance(total, RowMargins):
        return total.sloped(F, ramps)
    return total.slopes(F, ramps), total.measured(F, ramps)


def _factor(tol: float, primal: Floats, parts: Floats, most: float) -> Floats:
    """Return the factor of the widths; the rows' part of the gap grows with their square."""
    aim = SPENT_ON_WIDTH * tol * primal
    return np.clip(np.sqrt(aim / np.maximum(parts, np.finfo(float).tiny)), NARROWER, most)


def _root(places: Floats, slopes: Floats) -> float:
    """Return where increasing slopes become 0, or the last place if they do not."""
    above = np.flatnonzero(slopes > 0.0)
    if not len(above):
        return float(places[-1]) if slopes[0] < 0.0 else 0.0
    k = int(above[0])
    if k == 0:
        return 0.0
    low, high = slopes[k - 1], slopes[k]
    return float(places[k - 1] + (places[k] - places[k - 1]) * low / (low - high))


class _Hessian:
    """The Hessian of the smoothed sums, and its diagonal blocks."""

    def __init__(self, space: Space, H: Floats) -> None:
        self.space, self.H = space, H
        self.bent = _bent(space, H)  # None if rows are elsewhere, and `times` is used
        if self.bent is None:
            blocks, totals = space.blocks(H), H.sum(axis=1)
            ties = space.ties(H, blocks)
        else:
            parts = [(own, h[None], own.blocks(h[None])) for own, _, h in self.bent]
            blocks = [found[0] for _, _, found in parts]
            ties = np.concatenate([own.ties(h, found) for own, h, found in parts])
            totals = np.concatenate([own.totals(h) for own, h, _ in parts])
        of_b = np.maximum(totals + space.precision_of_b, np.finfo(float).tiny)
        self.outputs = [
            Arrow(space, own, u, float(b)) for own, u, b in zip(blocks, ties, of_b, strict=True)
        ]

    def precondition(self, theta: Floats) -> Floats:
        """Return the product with an approximate inverse."""
        solved = [own.solve(theta[k : k + 1]) for k, own in enumerate(self.outputs)]
        return solved[0] if len(solved) == 1 else np.concatenate(solved)

    def solved(self, residual: Floats, stopping: Stopping) -> Floats:
        """Return the result of conjugate gradients for every output, for rows in this process."""
        assert self.bent is not None
        parts = zip(self.outputs, self.bent, residual, strict=True)
        found = [
            own.least(space, rows, h, -left, _LIMITS, stopping.watch).to
            for own, (space, rows, h), left in parts
        ]
        return np.asarray(found[0] if len(found) == 1 else np.concatenate(found))

    def times(self, theta: Floats) -> Floats:
        """Return the product with theta, by passes over rows that are elsewhere."""
        space = self.space
        return space.penalty_gradient(theta) + space.sums(self.H * space.scores(theta))


def _bent(space: Space, H: Floats) -> list[tuple[Space, TrainingRows, Floats]] | None:
    """Return the rows on the ramp of each output; None if rows are not in this process."""
    rows = space.rows
    if not isinstance(rows, TrainingRows):
        return None
    out = []
    for h in H:
        numbers, own = _core.nonzero_rows(np.ascontiguousarray(h), space.n_threads)
        some = rows
        if 2 * len(numbers) > rows.n_rows or rows.is_on_disk:
            own = h
        else:
            some = rows.some(numbers, space.n_threads)
        out.append((Space(some, 1, space.n_threads, space.bias), some, own))
    return out


def _conjugate_gradients(hessian: _Hessian, residual: Floats, stopping: Stopping) -> Floats:
    """Solve for every output, each with its own step lengths; 0 for those without residual."""
    if hessian.bent is not None:
        return hessian.solved(residual, stopping)
    found = np.zeros_like(residual)
    z = hessian.precondition(residual)
    direction, rz = z, _dots(residual, z)
    goal = CG_ACCURACY**2 * rz
    goes_on = rz > 0.0
    for _ in range(MAX_CG):
        if not goes_on.any() or stopping.watch.poll():
            break
        product = hessian.times(direction)
        curvature = _dots(direction, product)
        goes_on &= curvature > 0.0
        t = np.where(goes_on, rz / np.where(goes_on, curvature, 1.0), 0.0)[:, None]
        found, residual = _added(found, t, direction), _added(residual, -t, product)
        z = hessian.precondition(residual)
        previous, rz = rz, _dots(residual, z)
        goes_on &= rz > goal
        beta = np.where(goes_on, rz / np.where(previous > 0.0, previous, 1.0), 0.0)[:, None]
        direction = np.where(goes_on[:, None], _added(z, beta, direction), 0.0)
    return found


def _added(to: Floats, shares: Floats, more: Floats) -> Floats:
    """Return to + shares * more, computed in place, with shares (n, 1) per row."""
    if len(to) == 1:
        return added(to, float(shares[0, 0]), more)
    to += shares * more
    return to


def _dots(a: Floats, b: Floats) -> Floats:
    """Return the inner products of corresponding rows, (n,)."""
    return np.asarray(np.einsum("kp,kp->k", a, b))
