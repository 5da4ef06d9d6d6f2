"""Hinge losses by very few passes over all rows, where few of them support the model.

Dual coordinate descent on a part of the rows alone, a working set, solves the problem of all rows
if the others have no loss. A round solves that of a working set, and scores all rows, of all
outputs in one pass; the next set are the rows with dual variables that are not 0, and those whose
margin says that they will have one. The dual variables of all other rows are 0. They are feasible
whatever the set is, and their weights those of the model; so what is between the primal value of
all rows and the dual value is the duality gap of the whole problem, and one pass tells it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.solvers import dual_cd
from splinear.solvers.iterate import Space
from splinear.solvers.margin_sums import RowMargins
from splinear.solvers.problem import Problem, Result, Start, Stopping
from splinear.solvers.rows import TrainingRows

__all__ = ["SolveSome", "solve"]

FIRST = 3000  # rows of the first set, at least: they are in random order
FIRST_TOL = 0.3  # of the first set's own gap
CLOSER = 0.3  # of the gap over all rows, or of the tolerance: what is asked of a set
NEAR = 0.2  # a margin that is so close may soon be too small
GROWTH = 2  # times as many rows as have dual variables may join them
MOST_ROUNDS = 60

SolveSome = Callable[[int, AnyArray, Floats, Stopping], Result]


def solve(
    rows: TrainingRows,
    problems: Sequence[Problem],
    stopping: Stopping,
    solve_some: SolveSome | None = None,
) -> list[Result]:
    """Minimize every problem to a relative gap of stopping.tol; one result per output.

    `solve_some` solves problem k for the rows of some numbers, from dual variables of theirs, and
    returns new ones; None: by dual coordinate descent. n_iter counts rounds.
    """
    ask = solve_some or _by_descent(rows, problems)
    total, n = RowMargins(problems), rows.n_rows
    space = Space(rows, len(problems), stopping.n_threads, total.bias)
    first, coef = np.arange(min(FIRST, n)), np.zeros(rows.layout.n_parameters)
    outputs = [_Output(problem, first, np.zeros(n), coef) for problem in problems]
    n_rounds = 0
    while True:
        for k, own in enumerate(outputs):
            if not own.is_done(stopping.tol):
                own.ask(ask, k, stopping)
        theta = np.stack([np.append(own.coef, own.intercept) for own in outputs])
        F = space.scores(theta)
        n_rounds += 1
        losses, parts = total.gaps(F, np.stack([own.slopes for own in outputs]))
        penalties = 0.5 * np.einsum("kp,kp->k", theta, space.stiffen(theta))
        for k, own in enumerate(outputs):
            own.look(float(penalties[k] + losses[k]), float(parts[k]), F[k])
        gap = max(own.gap for own in outputs)
        stop = stopping.watch.on_pass(n_rounds, gap, max(len(own.numbers) for own in outputs))
        is_over = n_rounds >= min(stopping.max_iter, MOST_ROUNDS)
        if stop or is_over or gap <= stopping.tol:
            return [own.result(n_rounds, stopping.tol) for own in outputs]


@dataclass(eq=False)
class _Output:
    """One problem: its working set, its dual variables, and the best model that was met."""

    problem: Problem
    numbers: AnyArray
    alpha: Floats
    coef: Floats
    intercept: float = 0.0
    best: tuple[Floats, float] | None = None
    primal: float = np.inf
    dual: float = -np.inf

    @property
    def gap(self) -> float:
        """The gap as a share of the primal value."""
        if not np.isfinite(self.primal):
            return np.inf
        return max(self.primal - self.dual, 0.0) / (self.primal or 1.0)

    @property
    def slopes(self) -> Floats:
        """The derivatives of the losses by scores that prove the gap."""
        return -self.problem.y * self.alpha

    def is_done(self, tol: float) -> bool:
        """Tell whether the gap is small enough."""
        return self.gap <= tol

    def ask(self, solve_some: SolveSome, k: int, stopping: Stopping) -> None:
        """Solve for the working set."""
        tol = max(CLOSER * min(self.gap, 1.0), CLOSER * stopping.tol)
        own = replace(stopping, tol=tol, watch=replace(stopping.watch, tell=None))
        found = solve_some(k, self.numbers, self.alpha[self.numbers], own)
        assert found.alpha is not None
        self.alpha[self.numbers] = found.alpha
        self.coef, self.intercept = found.coef, found.intercept

    def look(self, primal: float, parts: float, F: Floats) -> None:
        """Note what all rows say, and choose the next working set."""
        if primal < self.primal:
            self.primal, self.best = primal, (self.coef, self.intercept)
        self.dual = max(self.dual, primal - parts)
        has_dual = self.alpha != 0.0
        m = self.problem.margin(F)
        ends = self.problem.loss.at_no_cost or (-np.inf, np.inf)
        room = np.minimum(m - ends[0], ends[1] - m)  # inside of where there is no loss
        joins = np.flatnonzero((room < NEAR) & ~has_dual & (self.problem.cost > 0))
        most = max(GROWTH * int(np.count_nonzero(has_dual)), FIRST)
        if len(joins) > most:
            joins = joins[np.argpartition(room[joins], most)[:most]]
        has_dual[joins] = True
        self.numbers = np.flatnonzero(has_dual)

    def result(self, n_rounds: int, tol: float) -> Result:
        """Return the best model, with its proof."""
        assert self.best is not None
        done = self.is_done(tol)
        return Result(
            coef=self.best[0],
            intercept=self.best[1],
            primal=self.primal,
            dual=self.dual,
            gap=self.gap,
            n_iter=n_rounds,
            converged=done,
            certified=done,
            alpha=self.alpha,
            slopes=self.slopes,
        )


def _by_descent(rows: TrainingRows, problems: Sequence[Problem]) -> SolveSome:
    """Return dual coordinate descent on rows that are here."""

    def solve_some(k: int, numbers: AnyArray, alpha: Floats, stopping: Stopping) -> Result:
        some, own = rows.some(numbers), problems[k].some(numbers)
        return dual_cd.solve(some, own, stopping, Start(alpha=alpha), keep_alpha=True)

    return solve_some
