"""Certificates on X itself for hinge-like losses that are solved by passes over all rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np

from splinear.objective.margin_sums import MarginSums
from splinear.objective.problem import Result, Start, Stopping, stack
from splinear.objective.rows import Rows
from splinear.objective.space import Space
from splinear.solvers.hinge import smoothing
from splinear.solvers.proofs.certificate import AIM, LAST_AIM, with_gap

__all__ = ["ExactPasses", "certify", "solve_margins"]


class ExactPasses(Rows, Protocol):
    """Rows that are available in full precision as well."""

    def exactly(self) -> Rows:
        """Return the same rows in full precision, in the same order."""
        ...


def solve_margins(
    rows: ExactPasses,
    total: MarginSums,
    stopping: Stopping,
    start: Start | None = None,
) -> list[Result]:
    """Solve on rounded rows, and continue on X itself if the gap on X is above stopping.tol."""
    aim = max(AIM * stopping.tol, LAST_AIM) if rows.is_coded else stopping.tol
    solved = smoothing.solve(rows, total, replace(stopping, tol=aim), start)
    found = _certified(rows, total, solved, stopping)
    n_iter = found[0].n_iter
    is_over = stopping.watch.reason is not None or n_iter >= stopping.max_iter
    if all(one.certified for one in found) or is_over or not rows.is_coded:
        return found
    left = replace(
        stopping,
        tol=AIM * stopping.tol,
        max_iter=stopping.max_iter - n_iter,
        watch=stopping.watch.after(n_iter),
    )
    again = smoothing.solve(rows.exactly(), total, left, Start(*stack(found)))
    again = [replace(one, n_iter=one.n_iter + n_iter) for one in again]
    again = _certified(rows, total, again, stopping)
    pairs = zip(found, again, strict=True)
    return [after if after.certified or after.gap < one.gap else one for one, after in pairs]


def _certified(
    rows: Rows, total: MarginSums, solved: list[Result], stopping: Stopping
) -> list[Result]:
    """Return certified results, or uncertified ones after Ctrl-C."""
    if not stopping.watch.in_haste:
        try:
            return certify(rows, total, solved, stopping)
        except KeyboardInterrupt as error:
            stopping.watch.fail(error)
    return [replace(found, converged=False, certified=False) for found in solved]


def certify(
    rows: Rows, total: MarginSums, results: list[Result], stopping: Stopping
) -> list[Result]:
    """Return results with the objective and gap of every output on X itself.

    One pass over X in full precision computes the scores and the sums of R, the results' `slopes`,
    which are feasible for any X; see `solvers.proofs.certificate`.
    """
    coef, intercepts = stack(results)
    slopes = [found.slopes for found in results if found.slopes is not None]
    R = slopes[0][None] if len(slopes) == 1 else np.stack(slopes)
    F, sums = rows.on_values(coef, R, stopping.n_threads)
    F = F + intercepts[:, None]
    losses, parts = total.gaps(F, R)
    space = Space(rows, len(results), stopping.n_threads, total.kind.bias)
    theta = space.join(coef, intercepts)
    pull = space.penalty_gradient(theta)
    q = pull + space.join(sums, np.asarray(R.sum(axis=1)))
    primal = 0.5 * np.einsum("kp,kp->k", theta, pull) + losses
    gap = parts + 0.5 * np.einsum("kp,kp->k", q, space.from_penalty_gradient(q))
    out = []
    for solved, value, left in zip(results, primal, gap, strict=True):
        found = with_gap(solved, float(value), float(left), stopping.tol)
        # It converged on rounded rows, but not on X.
        out.append(replace(found, rounded=solved.converged and not found.certified))
    return out
