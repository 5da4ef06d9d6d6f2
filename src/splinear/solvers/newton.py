"""Newton's method for smooth losses: primal, with a trust region and free intercepts.

Minimizes, over the parameters theta (n_outputs, n_parameters) of a layout and b (n_outputs,),

    P = sum_k 1/2 theta_k' S_k theta_k / t_k + L(F),   F = f(x) + b,

summed over outputs, with L a sum of losses of the scores (see `objective.loss_sums`); b is
not penalized. Each step minimizes the quadratic model of P within a trust region by conjugate
gradients, which stop at its boundary (Steihaug's method); see `objective.model`.

After every step the intercepts are solved for exactly. The losses' derivatives at F are then
feasible dual variables, and the duality gap is 1/2 g'K g, with g the gradient of P with respect to
theta and K the inverse of the penalty's matrix: a certificate, as in dual coordinate descent. Where
the penalty is weak, K is large, and that gap becomes small only long after the requested accuracy
has been reached. So a short step that used all rows offers other dual variables, the derivatives of
its quadratic model at its end,

    R = L'(F) + L''(F) D,      with D the scores of the step.

They also sum to zero for every output, because the intercepts follow every direction of the step.
The gap to R at theta + s, with s the step, has two parts. The first, 1/2 q'K q, is that of the
model: q = S (theta + s) + sum_i R_i B_i is the gradient of the model at s, which is the residual of
conjugate gradients and can be made as small as needed. The second is that of the losses,
L(F + D) + L*(R) - sum(R (F + D)). It is 0 for the squared error. The third derivative of a logistic
loss is at most its second, h, so R_i is within about h_i D_i^2 / 2 of the derivative at F_i + D_i,
and the second part is about sum_i h_i D_i^4 / 8: at most max_i D_i^2 / 4 times the decrease of the
step. This estimate only decides when the gap is worth computing: both parts are then computed
exactly, and R is feasible as long as no score moves by more than 1. Either gap is a difference
between P and a dual value, so it is a proof. The method ends when one of them is within tol, and
otherwise only at its limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from splinear.objective.loss_sums import LossSum
from splinear.objective.model import Banded, Dense, Inverted, Model, Part
from splinear.objective.objective import Objective
from splinear.objective.point import Point
from splinear.objective.problem import Result, Start, Stopping, stack
from splinear.objective.rows import Rows
from splinear.objective.step import Aim, Step
from splinear.objective.watch import Watch
from splinear.objective.whole_hessian import entries_per_row, forms_hessian
from splinear.solvers.faces import bring_inside, step_inside

__all__ = ["Chooser", "Preconditioner", "descend", "follow_path", "last", "one_step", "solve"]

Preconditioner = Literal["auto", "banded", "dense"]

LEAST_TRUST = 1e-4  # smallest share of the predicted decrease at which a step is accepted
NOISE, NOISE_OF_CODES = 1e-13, 1e-9  # of the objective; sums over codes are single precision
MOST_RAISED = 1  # times that curvature is added after a rejected step
KEPT = 0.25  # share of this extra curvature that is kept for the next step
SHARES = (1.0, 0.25, 0.0625)  # shares of a step that are tried after that
MOST_IDLE, IDLE = 10, 1e-4  # steps that neither halve the gap nor gain this share of tol
RESOLVED = 1e-6  # of the first objective; smaller values are not resolved on codes
CG_ACCURACY = 0.1  # share of the gradient that may remain: a step then divides the gap by about 100
# The first steps lead to points with a different Hessian, and need not be accurate.
N_ROUGH, ROUGH_ABOVE, ROUGH_ACCURACY = 2, 0.1, 0.3

ROWS_PER_COEFFICIENT = 12  # rows of the sample for the dense preconditioner
CHEAP_SAMPLE = 5_000  # the same, at least

# Rows of the first sample for products. It is larger for several outputs, and for terms with
# levels, which may be missing from a small sample.
FIRST_SAMPLE, LARGER_SAMPLE = 5_000, 10_000
SAMPLE_GROWTH, GROW_ABOVE = 4, 0.5
FEW_PRODUCTS = 12  # up to this many in a step, the preconditioner is reused for the next one
WORTH_SOLVING = 8  # forming and factoring the whole Hessian may cost as much as this many products

# Surrogates of losses with a kink: shares of the tolerance for their own gap and for what smoothing
# costs; how far a width is reduced at a time; how well wide ones are solved, relative to that cost.
OF_SURROGATE, OF_SMOOTHING = 0.4, 0.3
NARROWEST, AT_MOST = 0.125, 0.5
SMOOTHED_ENOUGH, FIRST_TOL = 0.5, 0.1

# How far the next start extrapolates the last change of the model, which is measured relative to
# the change of log C. Models change less and less, so not all the way.
REACH = 0.5


def solve(
    rows: Rows,
    total: LossSum,
    stopping: Stopping,
    start: Start | None = None,
    *,
    preconditioner: Preconditioner = "auto",
) -> list[Result]:
    """Minimize to a relative gap of stopping.tol, and return one result per output.

    "auto" chooses the preconditioner that should be faster, step by step. The primal value, the gap
    and the number of steps are those of all outputs together.
    """
    first = Objective.of(rows, total, stopping.n_threads).begin(start)
    if total.loss.exact is not total.loss:
        return _narrowing(first, stopping, preconditioner)
    found = last(descend(first, stopping, preconditioner), stopping)
    return found.results(stopping.tol)


def _narrowing(at: Point, stopping: Stopping, preconditioner: Preconditioner) -> list[Result]:
    """Minimize losses with a kink through surrogates that become narrower; see `Loss.surrogate`.

    The slopes of a surrogate are feasible for the losses themselves. So every point has a gap of
    these: that of the surrogate, and what smoothing costs, which is what a smaller width reduces.
    """
    tol = stopping.tol
    while True:
        value, gap, smoothing = at.exactly()
        own = max(OF_SURROGATE * tol, SMOOTHED_ENOUGH * smoothing / value if value > 0.0 else 0.0)
        watch = stopping.watch.after(at.n_iter)
        left = replace(stopping, tol=min(own, FIRST_TOL), watch=watch)
        left = replace(left, max_iter=max(1, stopping.max_iter - at.n_iter))
        n_before, at.n_iter = at.n_iter, 0
        at = last(descend(at, left, preconditioner), left)
        at.n_iter += n_before
        found = at.settled()
        value, gap, smoothing = found.exactly()
        is_over = stopping.watch.reason is not None or at.n_iter >= stopping.max_iter
        if gap <= tol * value or is_over:
            break
        aim = OF_SMOOTHING * tol * value
        factor = np.sqrt(aim / smoothing) if smoothing > aim else AT_MOST
        narrower = at.total.loss.narrowed(float(np.clip(factor, NARROWEST, AT_MOST)))
        if narrower is None:
            break
        n_iter, at = at.n_iter, at.by(at.total.by(narrower))
        at.n_iter = n_iter
    return found.results(tol)


def last(states: Iterator[Point], stopping: Stopping) -> Point:
    """Return the last state; on Ctrl-C, the last one reached, and tell the watch."""
    found = next(states)
    try:
        for state in states:
            found = state
    except KeyboardInterrupt as error:
        stopping.watch.fail(error)
    return found


def descend(
    at: Point,
    stopping: Stopping,
    preconditioner: Preconditioner = "auto",
    accuracy: float = CG_ACCURACY,
) -> Iterator[Point]:
    """Yield the starting point and the point after every step.

    Also ends after several steps without progress, which occur if the tolerance is out of reach.
    The gap of the last point is then based on the best lower bound of the objective found so far.
    """
    chooser = Chooser(at, preconditioner)
    if at.space.cone is not None:
        at = bring_inside(at, at.space.cone, chooser.model)
    radius, n_idle, least, bound = np.inf, 0, at.gap, at.value - at.gap
    # Sums over codes are in single precision, so values far below the first one are not resolved.
    lowest, floor = at.value, RESOLVED * at.value if at.space.rows.is_coded else 0.0
    while True:
        yield at
        left, n_rows = at.relative_gap, at.space.n_rows
        stop = at.n_iter > 0 and stopping.watch.on_pass(at.n_iter, left, n_rows)
        is_over = at.n_iter == stopping.max_iter or n_idle == MOST_IDLE
        if stop or is_over or at.is_converged(stopping.tol):
            return
        first = at.n_iter < N_ROUGH and not at.is_converged(ROUGH_ABOVE)
        own = ROUGH_ACCURACY if first else accuracy
        found, radius = _step(at, chooser, radius, stopping, own)
        if found is None:
            return
        chooser.grow(at, found)
        leads_on = floor < found.value < lowest - IDLE * stopping.tol * lowest
        n_idle = 0 if leads_on or found.gap < 0.5 * least else n_idle + 1
        lowest = min(lowest, found.value)
        least, bound = min(least, found.gap), max(bound, found.value - found.gap)
        if n_idle == MOST_IDLE:
            found.gap = min(found.gap, max(found.value - bound, least))
        at = found


def one_step(at: Point, stopping: Stopping, accuracy: float) -> Point:
    """Return the point after one cautious step, or `at` if no step decreases the objective."""
    found, _ = _step(at.cautious(), Chooser(at, "auto"), np.inf, stopping, accuracy)
    return at if found is None else found


def _step(
    at: Point, chooser: Chooser, radius: float, stopping: Stopping, accuracy: float
) -> tuple[Point | None, float]:
    """Return the point after one step and the next radius.

    The point is None if no step decreases the objective. If a step increases it, curvature is added
    for the rows that caused this, and the step is computed again; if that does not help, shares of
    it are tried; then the sample of rows grows, and finally the radius shrinks.
    """
    model, aim = chooser.model(at), Aim(accuracy, stopping.tol * at.value, at.total.is_quadratic)
    while True:
        step = _least(model, at, radius, stopping.watch, aim)
        chooser.note(step.n_products)
        moved, trust, share = _best_share(at, step)
        # Near the optimum the decrease is below rounding errors, and the model is trusted.
        noise = (NOISE_OF_CODES if at.space.rows.is_coded else NOISE) * abs(at.value)
        drowns = step.decrease <= noise and moved.value <= at.value + noise
        if trust > LEAST_TRUST or drowns:
            if trust < 0.25 or share < 1.0:
                radius = min(0.25, share) * step.length
            elif trust > 0.75 and step.at_edge:
                radius = 2.0 * radius
            moved.n_iter = at.n_iter + 1
            moved.extra = None if at.extra is None else KEPT * at.extra
            moved.n_product = chooser.n_product
            if model.is_whole and share == 1.0:
                _prove(at, moved, step, stopping.tol)
            return moved, radius
        # The curvature of a quadratic objective is known; a step fails only if its sample is small.
        if at.n_raised < MOST_RAISED and not (at.total.is_quadratic and not model.is_whole):
            at = at.raised(step)
            model = chooser.model(at)
        elif not model.is_whole:
            chooser.grow_sample()
            model = chooser.model(at)
        else:
            radius = SHARES[-1] * step.length
        if stopping.watch.poll() or radius <= 1e-300:
            return None, radius


def _best_share(at: Point, step: Step) -> tuple[Point, float, float]:
    """Return the next point, its decrease relative to the predicted one, and the step's share.

    Shares below 1 are tried only if a step increases the objective despite added curvature.
    """
    for share in SHARES if at.n_raised == MOST_RAISED else SHARES[:1]:
        moved = at.moved(step, share)
        promised = share * (2.0 - share) * step.decrease
        trust = (at.value - moved.value) / promised if promised > 0 else 0.0
        if trust > LEAST_TRUST:
            break
    return moved, trust, share


def _prove(at: Point, moved: Point, step: Step, tol: float) -> None:
    """Use the gap to the dual variables of the step's model, if it proves convergence."""
    aim = Aim(0.0, tol * moved.value, at.total.is_quadratic)
    if step.left + aim.beyond_model(at.space.scores_of(step), step.decrease) <= aim.gap:
        duals = at.duals(step)
        gap = moved.gap_to(duals)
        if gap <= aim.gap:
            moved.gap, moved.proof = gap, duals


def _least(model: Model, at: Point, radius: float, watch: Watch, aim: Aim) -> Step:
    """Minimize the model over steps within the radius, and within the cone if there is one."""
    if (cone := at.space.cone) is not None:
        return step_inside(model, at, cone, radius, watch, aim)
    return model.least(at.gradient, radius, watch, aim)


class Chooser:
    """Chooses the preconditioner of the next step, given the number of products in the last one.

    The cost of both is measured in numbers that are multiplied and added somewhere in memory.
    """

    def __init__(self, at: Point, preconditioner: str) -> None:
        space = self.space = at.space
        n = space.layout.n_free_of_curves + 1
        # As many rows as are needed, or as take no longer than factoring. Of all rows, the matrix
        # is the same whichever function of a curve the intercept replaces.
        per_row, factoring = 0.5 * entries_per_row(space) ** 2, n**3 / 30
        n_cheap = max(CHEAP_SAMPLE, int(factoring / max(per_row, 1.0)))
        self.n_sample = min(space.n_rows, max(ROWS_PER_COEFFICIENT * n, n_cheap))
        self.dense_price = self.n_sample * per_row + factoring
        per_row = space.rows.n_values / space.n_rows
        self.price_per_row = space.rows.value_price * per_row  # of a product
        if space.rows.pairs is not None:
            self.price_per_row += space.rows.pairs.price * space.rows.pairs.n_pairs
        if preconditioner == "banded" or not forms_hessian(space.layout):
            self.dense_price = np.inf
        elif preconditioner == "dense" or space.cone is not None:
            self.dense_price = 0.0  # in a cone, steps by products take very many of them
        self.keeps = space.cone is not None  # whether a preconditioner is kept for later steps
        self.kept: Dense | None = None
        # The first step starts from zero, where all rows have about the same weight, and is easy.
        self.last_products = 10
        # Products with the Hessian may use a sample, as long as the steps make progress.
        has_levels = any(group.levels is not None for group in space.layout.groups)
        n_first = LARGER_SAMPLE if has_levels or space.n_outputs > 1 else FIRST_SAMPLE
        self.n_product = space.n_rows if space.n_rows <= 2 * n_first else n_first
        if not space.rows.is_here:  # a pass over all rows costs far more than one over the sample
            self.n_product = max(1, space.rows.n_sampled)  # 0: all rows
        if space.cone is not None and self.dense_price == 0.0:  # few products, may prove a gap
            self.n_product = space.n_rows
        elif at.n_product is not None:
            self.n_product = max(self.n_product, min(at.n_product, space.n_rows))
        if at.total.is_quadratic and preconditioner == "auto" and self._can_solve(n):
            self.n_product = self.n_sample = space.n_rows
            self.dense_price, self.keeps = 0.0, True

    def _can_solve(self, n: int) -> bool:
        """Return whether forming the (n, n) Hessian costs no more than a few products with it.

        A quadratic objective is minimized by one step with it.
        """
        space = self.space
        is_plain = space.n_outputs == 1 and not space.layout.pairs and space.cone is None
        if not (is_plain and space.rows.is_here and forms_hessian(space.layout)):
            return False
        price = 0.5 * space.n_rows * entries_per_row(space) ** 2 + n**3 / 30
        return price <= WORTH_SOLVING * self.price_per_row * space.n_rows

    def model(self, at: Point) -> Model:
        """Return the model of the next step."""
        part = Part(at, self.n_product)
        if self.kept is not None and self.last_products <= FEW_PRODUCTS:
            return self.kept.under(part)
        if self._is_hard and (inverse := part.inverse()) is not None:
            return Inverted(part, inverse)
        if self.last_products * self.price_per_row * part.space.n_rows <= self.dense_price:
            return Banded(part)
        self.dense_price = 0.0  # dense from now on
        dense = Dense(part, self.n_sample)
        self.kept = dense if self.keeps else None
        return dense

    @property
    def _is_hard(self) -> bool:
        """Whether blocks are a poor preconditioner: several outputs, or many products before."""
        is_many = self.space.n_outputs > 1 or self.last_products > FEW_PRODUCTS
        return is_many and self.space.cone is None

    def grow(self, before: Point, after: Point) -> None:
        """Enlarge the sample if the gap fell by little."""
        if after.gap > GROW_ABOVE * before.gap:
            self.grow_sample()

    def grow_sample(self) -> None:
        """Use a larger sample, or all rows."""
        n, most = SAMPLE_GROWTH * self.n_product, self.space.rows.n_sampled
        is_enough = n <= most and 2 * n <= self.space.n_rows
        self.n_product = n if is_enough else max(most + 1, self.space.n_rows)

    def note(self, n_products: int) -> None:
        """Record how many products a step took."""
        self.last_products = n_products


def follow_path(
    rows: Rows,
    total: LossSum,
    Cs: Sequence[float],
    stopping: Stopping,
    start: Start | None = None,
) -> list[list[Result]]:
    """Minimize with all variances times each C in turn; return one result per output for each C.

    There are fewer results if the watch stopped the path.
    """
    path: list[list[Result]] = []
    for k, C in enumerate(Cs):
        if k > 0:
            start = _next_start(path, Cs[max(0, k - 2) : k + 1])
        here = rows.with_layout(rows.layout.scaled(C))
        own = replace(stopping, watch=stopping.watch.at(float(C)))
        path.append(solve(here, total, own, start))
        if stopping.watch.poll():
            break
    return path


def _next_start(path: list[list[Result]], Cs: Sequence[float]) -> Start:
    """Extrapolate the last models; `Cs` are the last one or two values, and the next."""
    coef, intercept = stack(path[-1])
    if len(path) > 1 and Cs[0] != Cs[1]:
        before, now, to = np.log(Cs)
        reach = REACH * min((to - now) / (now - before), 1.0)
        coef_before, intercept_before = stack(path[-2])
        coef = coef + reach * (coef - coef_before)
        intercept = intercept + reach * (intercept - intercept_before)
    return Start(coef=coef, intercept=intercept)
