"""Newton's method for smooth losses: primal, with a trust region and free intercepts.

Minimizes, over the parameters theta (n_outputs, n_parameters) of a layout and b (n_outputs,),

    P = sum_k 1/2 theta_k' S_k theta_k / t_k + L(F),   F = f(x) + b,

summed over outputs, with L a sum of losses of the scores (see `solvers.problems.loss_sums`); b is
not penalized. Each step minimizes the quadratic model of P within a trust region by conjugate
gradients, which stop at its boundary (Steihaug's method); see `hessian` for the model.

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

from collections.abc import Iterator

import numpy as np

from splinear._types import Floats
from splinear.solvers.newton.faces import bring_inside, step_inside
from splinear.solvers.newton.hessian import Chooser, Preconditioner, QuadraticModel
from splinear.solvers.newton.iterate import Iterate, added, begin, dot
from splinear.solvers.newton.passes import RowPasses
from splinear.solvers.newton.steps import ENOUGH, MAX_CG, Aim, Length, Step
from splinear.solvers.problems.loss_sums import LossSum
from splinear.solvers.problems.problem import Result, Start, Stopping
from splinear.solvers.problems.watch import Watch

__all__ = ["Iterate", "begin", "descend", "last", "one_step", "solve"]

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


def solve(
    rows: RowPasses,
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
    first = begin(rows, total, stopping.n_threads, start)
    found = last(descend(first, stopping, preconditioner), stopping)
    return found.results(stopping.tol)


def last(states: Iterator[Iterate], stopping: Stopping) -> Iterate:
    """Return the last state; on Ctrl-C, the last one reached, and tell the watch."""
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
    """Yield the starting point and the point after every step.

    Also ends after several steps without progress, which occur if the tolerance is out of reach.
    The gap of the last point is then based on the best lower bound of the objective found so far.
    """
    chooser = Chooser(at, preconditioner)
    if at.space.cone is not None:
        at = bring_inside(at, at.space.cone, chooser)
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


def one_step(at: Iterate, stopping: Stopping, accuracy: float) -> Iterate:
    """Return the point after one cautious step, or `at` if no step decreases the objective."""
    found, _ = _step(at.cautious(), Chooser(at, "auto"), np.inf, stopping, accuracy)
    return at if found is None else found


def _step(
    at: Iterate, chooser: Chooser, radius: float, stopping: Stopping, accuracy: float
) -> tuple[Iterate | None, float]:
    """Return the point after one step and the next radius.

    The point is None if no step decreases the objective. If a step increases it, curvature is added
    for the rows that caused this, and the step is computed again; if that does not help, shares of
    it are tried; then the sample of rows grows, and finally the radius shrinks.
    """
    model, aim = chooser.model(at), Aim(accuracy, stopping.tol * at.value, at.total.is_quadratic)
    while True:
        step = _least(model, at, radius, stopping.watch, aim)
        chooser.note(step.n_products)
        scores = at.space.scores(step.to) if step.scores is None else step.scores
        moved, trust, share = _best_share(at, step, scores)
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
                _prove(at, moved, step, scores, stopping.tol)
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


def _best_share(at: Iterate, step: Step, scores: Floats) -> tuple[Iterate, float, float]:
    """Return the next point, its decrease relative to the predicted one, and the step's share.

    Shares below 1 are tried only if a step increases the objective despite added curvature.
    `scores` are those of the step.
    """
    for share in SHARES if at.n_raised == MOST_RAISED else SHARES[:1]:
        theta = at.space.snapped(at.theta + share * step.to)
        moved = Iterate(at.space, at.total, theta, at.space.moved(at.F, scores, share))
        promised = share * (2.0 - share) * step.decrease
        trust = (at.value - moved.value) / promised if promised > 0 else 0.0
        if trust > LEAST_TRUST:
            break
    return moved, trust, share


def _prove(at: Iterate, moved: Iterate, step: Step, scores: Floats, tol: float) -> None:
    """Use the gap to the dual variables of the step's model, if it proves convergence."""
    aim = Aim(0.0, tol * moved.value, at.total.is_quadratic)
    if step.left + aim.beyond_model(scores, step.decrease) <= aim.gap:
        R = at.total.gradient(at.F)
        R += at.step_curvature.times(scores)
        gap = moved.gap_to(R)
        if gap <= aim.gap:
            moved.gap, moved.proof = gap, R


def _least(model: QuadraticModel, at: Iterate, radius: float, watch: Watch, aim: Aim) -> Step:
    """Minimize the model over steps within the radius, and within the cone if there is one."""
    if (cone := at.space.cone) is not None:
        return step_inside(model, at, cone, radius, watch, aim)
    found = model.least(at.gradient, radius, watch, aim)
    return _conjugate_gradients(model, at.gradient, radius, watch, aim) if found is None else found


def _conjugate_gradients(
    model: QuadraticModel, gradient: Floats, radius: float, watch: Watch, aim: Aim
) -> Step:
    """Minimize gradient's + 1/2 s'H s over steps s no longer than the radius."""
    space = model.space
    step, step_scores = np.zeros_like(gradient), space.zero_scores()
    residual = -gradient
    if space.is_free:  # intercepts are optimal: this is 0 up to rounding
        residual[:, -1] = 0.0
    z = space.leveled(model.precondition(residual))
    direction, rz = z, dot(residual, z)
    goal, decrease, left = aim.accuracy**2 * rz, 0.0, np.inf
    length, at_edge, n_products = Length(radius, direction=rz), False, 0
    while n_products < MAX_CG and rz > 0.0:
        n_products += 1
        own_scores, product = model.times(direction)
        curvature = dot(direction, product)
        if not 0.0 < curvature < np.inf:  # rounding errors dominate
            break
        t, at_edge = length.go(rz / curvature)
        decrease += t * dot(direction, residual) - 0.5 * t * t * curvature
        step = added(step, t, direction)
        step_scores = space.moved(step_scores, own_scores, t) if model.is_whole else step_scores
        if at_edge or watch.poll():
            break
        residual = added(residual, -t, product)
        z = space.leveled(model.precondition(residual))
        previous, rz = rz, dot(residual, z)
        # The gap of the model is at least rz / 2, as its Hessian is at least the penalty's.
        left = space.gap(residual, step) if rz <= 2.0 * ENOUGH * aim.gap else np.inf
        if left <= ENOUGH * aim.gap:
            break
        # If only the gap of the model is still too large, it is worth continuing.
        if rz <= goal and not (model.is_whole and aim.is_near(step_scores, decrease)):
            break
        direction = added(z, rz / previous, direction)
        length.turn(t, rz / previous, rz)
    scores = step_scores if model.is_whole else None
    return Step(step, scores, decrease, left, n_products, float(np.sqrt(length.step)), at_edge)
