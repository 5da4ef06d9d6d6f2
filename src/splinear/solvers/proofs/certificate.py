"""Objective and duality gap of a model on X itself, in whatever form solvers have read X.

Solvers read X as 16-bit codes (a sparse X in single precision), and their certificate is about X
rounded in this way. For any scores F and any feasible derivatives R of the losses with respect to
them, the Fenchel-Young inequality bounds how far a model theta is from the optimum:

    P(theta) - P* <= L(F) + L*(R) - sum(R F) + 1/2 q'K q,    q = S theta + sum_i R_i B_i,

with S the penalty's matrix and K its inverse. The R of a solver, -alpha_i y_i or the losses'
derivatives, is feasible for any X. So one pass over X in double precision, for F and for the sum
over B_i, proves a gap on X itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from splinear._types import Floats
from splinear.model.layout import Layout
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.loss_sums import LossSum, left_of, shared_of
from splinear.objective.objective import Objective
from splinear.objective.problem import Problem, Result, Start, Stopping, stack
from splinear.objective.space import Space, dot
from splinear.objective.watch import Watch
from splinear.solvers import newton
from splinear.solvers.proofs.rounding import rows_in_doubt

__all__ = [
    "certify_problem",
    "certify_sum",
    "fine_enough",
    "minimize_and_certify",
    "solve_and_certify",
    "with_gap",
]

AIM = 0.95  # share of the tolerance to reach on rounded rows; rounding may cost the rest
LEAST_AIM = 5e-4  # smallest tolerance on codes; what remains is about their rounding
LAST_AIM = 5e-5  # the same if X itself cannot follow: the limit of single precision
CLOSE = 0.4  # smallest share of that aim for which a second run on codes is worthwhile
TURNS = 3  # on codes with corrections for rounding
WORTH_IT = 0.9  # relative to the gap before: what a turn must reach for another to follow
SPARSE_AIM = 2e-5  # smallest tolerance on sparse rows in single precision, if X can follow
FEW = 20  # extra passes allowed on X itself, beyond as many as there were on rounded rows

Solve = Callable[[TrainingRows, Stopping, list[Result] | None], list[Result]]
Certify = Callable[[list[Result]], list[Result]]
FlatIfLower = Callable[[float], "list[Result] | None"]


def fine_enough(rows: TrainingRows, tol: float) -> TrainingRows:
    """Return rows for computations without a certificate: X itself if `tol` is very small."""
    can_tell = tol >= LEAST_AIM or not rows.is_coded or not rows.plan.holds_values
    return rows if can_tell else rows.exactly()


def solve_and_certify(
    rows: TrainingRows,
    stopping: Stopping,
    solve: Solve,
    certify: Certify,
    flat: FlatIfLower,
    *,
    refines: bool = False,
) -> list[Result]:
    """Solve on rounded rows, and continue on X itself if the gap on X is above stopping.tol.

    solve(rows, stopping, last) returns results, starting from the last ones or None;
    certify(results) returns them with their objective and gap on X; flat(value) returns the model
    without curves if its objective is below a value, and None otherwise.

    Before X itself, codes are tried again, which is much faster: with corrections for their
    rounding if `refines`, and otherwise to a smaller tolerance if rounding costs little. Training
    does not continue if X must not be in memory, or if passes or time are used up. The result is
    never worse than a flat model.
    """
    aim = _aim(rows, stopping.tol)
    solved = solve(rows, replace(stopping, tol=aim), None)
    found = _certified(certify, solved, 0, stopping.watch)
    closer = aim - 1.5 * max(map(_cost_of_rounding, found, solved))
    if aim < stopping.tol:  # the tolerance has been reached up to rounding
        most = min(stopping.max_iter, FEW + 2 * found[0].n_iter)
        stopping = replace(stopping, max_iter=most)
    if refines:
        found = _refined(rows, stopping, solve, certify, found)
    elif rows.is_coded and closer >= CLOSE * aim and not _is_over(found, stopping):
        found = _go_on(rows, replace(stopping, tol=closer), solve, certify, found)
    if rows.plan.holds_values and not _is_over(found, stopping):
        found = _go_on(rows.exactly(), stopping, solve, certify, _not_astray(found, stopping, flat))
    return _not_astray(found, stopping, flat)


def _not_astray(found: list[Result], stopping: Stopping, flat: FlatIfLower) -> list[Result]:
    """Return the flat model instead of one that is worse on X because of rounding."""
    if stopping.watch.in_haste or all(one.certified for one in found):
        return found
    try:
        lower = flat(found[0].primal)
    except KeyboardInterrupt as error:
        stopping.watch.fail(error)
        return found
    if lower is None:
        return found
    pairs = zip(lower, found, strict=True)
    return [replace(own, n_iter=one.n_iter, rounded=one.rounded) for own, one in pairs]


def _refined(
    rows: TrainingRows, stopping: Stopping, solve: Solve, certify: Certify, found: list[Result]
) -> list[Result]:
    """Solve on codes in several turns, each of which corrects for the rounding."""
    closely = replace(stopping, tol=max(AIM * stopping.tol, LAST_AIM))
    for _ in range(TURNS):
        is_astray = not found[0].gap < 1.0  # also if NaN
        if not rows.is_coded or is_astray or _is_over(found, stopping):
            break
        before, found = found, _go_on(rows, closely, solve, certify, found)
        if not found[0].gap < WORTH_IT * before[0].gap:
            break
    return found


def _is_over(found: list[Result], stopping: Stopping) -> bool:
    """Return whether there is a proof already, or passes or time are used up."""
    proven = all(one.certified for one in found)
    stopped = stopping.watch.reason is not None
    return proven or stopped or found[0].n_iter >= stopping.max_iter


def _go_on(
    on: TrainingRows, stopping: Stopping, solve: Solve, certify: Certify, found: list[Result]
) -> list[Result]:
    """Continue from `found` on other rows; return the new results if they are better on X."""
    n_iter, watch = found[0].n_iter, stopping.watch
    when = replace(stopping, max_iter=stopping.max_iter - n_iter, watch=watch.after(n_iter))
    try:
        solved = solve(on, when, found)
    except KeyboardInterrupt as error:  # before the first step
        watch.fail(error)
        return found
    again = _certified(certify, solved, n_iter, watch)
    if watch.in_haste:  # the new results have no certificate
        return found
    return again if again[0].certified or _is_lower(again[0], found[0]) else found


def _is_lower(one: Result, other: Result) -> bool:
    """Return whether `one` has the lower objective on X, or the same with a smaller gap."""
    if one.primal == other.primal or math.isnan(other.primal):
        return not one.gap > other.gap
    return one.primal < other.primal


def _cost_of_rounding(found: Result, solved: Result) -> float:
    """Return the gap on X minus that on rounded rows, at least 0; infinite if unknown."""
    cost = found.gap - solved.gap
    return max(cost, 0.0) if math.isfinite(cost) else math.inf


def _certified(certify: Certify, solved: list[Result], n_before: int, watch: Watch) -> list[Result]:
    """Return certified results, or uncertified ones after Ctrl-C; n_before is added to n_iter.

    `rounded` marks results that converged on rounded rows but not on X.
    """
    none = [replace(found, converged=False, certified=False) for found in solved]
    if watch.in_haste:
        return none
    try:
        certified = certify(solved)
    except KeyboardInterrupt as error:
        watch.fail(error)
        return none
    return [
        replace(
            found, n_iter=found.n_iter + n_before, rounded=own.converged and not found.certified
        )
        for found, own in zip(certified, solved, strict=True)
    ]


def _aim(rows: TrainingRows, tol: float) -> float:
    """Return the tolerance to use on rounded rows."""
    if not rows.is_coded:  # single precision suffices for nearly all tolerances
        return max(AIM * tol, SPARSE_AIM if rows.plan.holds_values else 0.0)
    return max(AIM * tol, LEAST_AIM if rows.plan.holds_values else LAST_AIM)


def certify_problem(
    rows: TrainingRows, problem: Problem, start: Start | None, found: Result, stopping: Stopping
) -> Result:
    """Return a result of dual coordinate descent with its objective and gap on X itself."""
    if found.alpha is None:
        raise ValueError("A certificate needs the dual variables.")
    coef, intercept, layout = found.coef, found.intercept, rows.layout
    before = 0.0
    losses = gap = slope = 0.0
    sums = np.zeros_like(coef)
    for piece in rows.values(rows_in_doubt(rows, problem, found, stopping.n_threads)):
        some, alpha = problem.some(piece.places), found.alpha[piece.places]
        F = piece.scores(coef[None], stopping.n_threads)[0]
        R = -some.y * alpha
        sums += piece.sums(R[None], stopping.n_threads)[0]
        slope += float(R.sum())
        own = _losses_and_gap(some, F + intercept, alpha)
        losses, gap = losses + own[0], gap + own[1]
    if start is not None and start.proximal and start.coef is not None:
        before = _penalty(layout, problem, start.coef, float(start.intercept))
        coef, intercept = coef - start.coef, intercept - float(start.intercept)
    b = intercept / problem.bias if problem.bias > 0 else 0.0
    penalty, distance = layout.distance(coef, sums)
    gap += 0.5 * distance + 0.5 * (b + problem.bias * slope) ** 2
    primal = 0.5 * penalty + 0.5 * b**2 + losses
    return with_gap(found, primal, gap, stopping.tol, before=before)


def _penalty(layout: Layout, problem: Problem, coef: Floats, intercept: float) -> float:
    """Return 1/2 |w|^2 of a model."""
    b = intercept / problem.bias if problem.bias > 0 else 0.0
    return 0.5 * layout.distance(coef, np.zeros_like(coef))[0] + 0.5 * b**2


def _losses_and_gap(problem: Problem, scores: Floats, alpha: Floats) -> tuple[float, float]:
    """Return the sum of the losses of some rows, and the sum of their parts of the gap."""
    counts = np.flatnonzero(problem.cost)
    cost, m = problem.cost[counts], problem.margin(scores)[counts]
    alpha = np.clip(alpha[counts], *problem.loss.range(cost))
    return float(cost @ problem.loss.of_margin(m)), float(
        problem.loss.dual_gap(alpha, m, cost).sum()
    )


def minimize_and_certify(
    rows: TrainingRows, total: LossSum, stopping: Stopping, start: Start | None
) -> list[Result]:
    """Minimize one sum of losses by Newton's method, and certify the result on X itself.

    Return one result per output, each with the slopes that prove its gap.
    """

    def solve(on: TrainingRows, when: Stopping, last: list[Result] | None) -> list[Result]:
        return newton.solve(on, total, when, start if last is None else Start(*stack(last)))

    def certify(results: list[Result]) -> list[Result]:
        return certify_sum(rows, total, results, stopping)

    def flat(worse: float) -> list[Result] | None:
        first = Objective.of(rows, total, stopping.n_threads).zero()
        return None if first.value >= worse else certify(first.results(stopping.tol))

    if not total.loss.convex:  # its slopes prove nothing
        solved = solve(rows, stopping, None)
        found = _certified(certify, solved, 0, stopping.watch)
        pairs = zip(found, solved, strict=True)
        return [replace(one, converged=own.converged, rounded=False) for one, own in pairs]
    return solve_and_certify(rows, stopping, solve, certify, flat)


def certify_sum(
    rows: TrainingRows, total: LossSum, results: list[Result], stopping: Stopping
) -> list[Result]:
    """Return results of Newton's method with their objective and gap on X itself.

    `results` are those of all outputs of the sum, which share objective and gap.
    """
    coef, total = np.stack([found.coef for found in results]), total.on_threads(stopping.n_threads)
    slopes = [found.slopes for found in results if found.slopes is not None]
    R = slopes[0][None] if len(slopes) == 1 else np.stack(slopes)
    F, sums = rows.on_values(coef, R, stopping.n_threads)
    intercepts = np.array([found.intercept for found in results])
    F += intercepts[:, None]
    space = Space(rows, len(results), stopping.n_threads, total.bias)
    theta = np.column_stack([coef, intercepts])
    pull = space.penalty_gradient(theta)
    losses, gap = total.exact(F, R)
    gap += space.gap(pull + space.join(sums, R.sum(axis=1)), theta)
    # R sums to 0 up to rounding; `tilt` bounds what a change of the intercepts could gain by it.
    tilt = 0.0
    primal = 0.5 * dot(theta, pull) + losses
    if space.is_free and primal != 0.0:
        tilt = float(np.abs(R.sum(axis=1)) @ np.abs(total.best_shift(F))) + left_of(total, F)
    shared = shared_of(total, F)
    known = [replace(found, shared=shared) for found in results]
    return [with_gap(found, primal, gap, stopping.tol, tilt) for found in known]


def with_gap(
    found: Result, primal: float, gap: float, tol: float, tilt: float = 0.0, before: float = 0.0
) -> Result:
    """Return a result with this objective and gap; `tilt` is a further part of the gap.

    The gap is relative to the objective and, where training continues from an earlier model, to
    1/2 |w_0|^2 of that model, `before`: the objective may be 0 at the optimum.
    """
    scale = primal + before
    relative = gap / scale if scale != 0.0 else 0.0
    proven = bool(relative <= tol and tilt <= tol * scale and math.isfinite(primal))
    return replace(
        found,
        primal=primal,
        dual=primal - gap,
        gap=relative,
        converged=proven,
        certified=proven,
    )
