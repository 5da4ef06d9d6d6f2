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
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.solvers import dual_cd
from splinear.solvers.iterate import Space
from splinear.solvers.margin_sums import MarginSums
from splinear.solvers.passes import RowPasses
from splinear.solvers.problem import Problem, Result, Start, Stopping
from splinear.solvers.rows import TrainingRows
from splinear.solvers.watch import Watch

__all__ = ["Ways", "solve"]

FIRST = 6000  # rows of the first set, at least: they are in random order
CLOSER = 0.3  # of the gap over all rows, or of the tolerance: what is asked of a set
NEAR = 0.2  # a margin that is so close may soon be too small
GROWTH = 2  # times as many rows as have dual variables may join them
MOST_ROUNDS = 60

Tasks = Sequence[Callable[[], None]]


def _in_turn(tasks: Tasks, n_threads: int, watch: Watch) -> object:
    del n_threads, watch
    return [task() for task in tasks]


@dataclass(frozen=True)
class Ways:
    """How rows come to dual coordinate descent, and how its problems are run."""

    near: Callable[[AnyArray], TrainingRows]  # the rows of these numbers, where the core reads them
    run: Callable[[Tasks, int, Watch], object] = _in_turn  # side by side, on this many threads


def solve(
    rows: RowPasses,
    total: MarginSums,
    problems: Sequence[Problem],
    stopping: Stopping,
    ways: Ways,
    start: Start | None = None,
) -> list[Result]:
    """Minimize every problem to a relative gap of stopping.tol; one result per output.

    `total` are the sums of the problems' losses over all rows. Of a start, the dual variables
    (n_outputs, n_rows) are taken. n_iter counts rounds.
    """
    space = Space(rows, len(problems), stopping.n_threads, total.kind.bias)
    alpha = None if start is None else start.alpha
    outputs = [
        _Output.begin(problem, rows, None if alpha is None else alpha[k])
        for k, problem in enumerate(problems)
    ]
    n_rounds = 0
    while True:
        try:
            _round(outputs, space, total, stopping, ways)
        except KeyboardInterrupt as error:
            stopping.watch.fail(error)
        n_rounds += 1
        gap = max(own.gap for own in outputs)
        stop = stopping.watch.on_pass(n_rounds, gap, max(len(own.numbers) for own in outputs))
        is_over = n_rounds >= min(stopping.max_iter, MOST_ROUNDS)
        if stop or is_over or gap <= stopping.tol:
            return [own.result(n_rounds, stopping.tol) for own in outputs]


def _round(
    outputs: Sequence[_Output], space: Space, total: MarginSums, stopping: Stopping, ways: Ways
) -> None:
    """Solve the working sets of all outputs that are not done, and look at all rows."""
    asked = [own for own in outputs if not own.is_done(stopping.tol)]
    width = min(max(stopping.n_threads, 1), max(len(asked), 1))
    numbers = np.unique(np.concatenate([own.numbers for own in asked]))
    near, inside = ways.near(numbers), replace(stopping, n_threads=stopping.n_threads // width)
    ways.run([partial(own.ask, near, numbers, inside) for own in asked], width, stopping.watch)
    theta = np.stack([np.append(own.coef, own.intercept) for own in outputs])
    F = space.scores(theta)
    losses, parts = total.gaps(F, np.stack([own.slopes for own in outputs]))
    penalties = 0.5 * np.einsum("kp,kp->k", theta, space.stiffen(theta))
    for own, one, part, scores in zip(outputs, penalties + losses, parts, _here(F), strict=True):
        own.look(float(one), float(part), scores)


def _here(F: Any) -> Floats:
    """Return scores on the host."""
    return np.asarray(F)


@dataclass(eq=False)
class _Output:
    """One problem: its working set, its dual variables, and the best model that was met."""

    problem: Problem
    numbers: AnyArray
    alpha: Floats
    coef: Floats
    best: tuple[Floats, float]
    primal: float
    intercept: float = 0.0
    dual: float = 0.0  # of dual variables that are 0
    proof: Floats = field(init=False)  # the dual variables of that value

    def __post_init__(self) -> None:
        self.proof = np.zeros(len(self.alpha))

    @classmethod
    def begin(cls, problem: Problem, rows: RowPasses, alpha: Floats | None) -> _Output:
        """Begin at the model without curves, or at dual variables."""
        n, coef = rows.n_rows, np.zeros(rows.layout.n_parameters)
        primal = float(problem.cost @ problem.loss.value(problem.margin(np.zeros(n))))
        numbers = np.arange(min(FIRST, n))
        if alpha is None:
            alpha = np.zeros(n)
        elif alpha.any():
            alpha, numbers = alpha.copy(), np.flatnonzero(alpha)
        return cls(problem, numbers, alpha, coef, (coef, 0.0), primal)

    @property
    def gap(self) -> float:
        """The gap as a share of the primal value."""
        return max(self.primal - self.dual, 0.0) / (self.primal or 1.0)

    @property
    def slopes(self) -> Floats:
        """The derivatives of the losses by scores, of the dual variables."""
        return -self.problem.y * self.alpha

    def is_done(self, tol: float) -> bool:
        """Tell whether the gap is small enough."""
        return self.gap <= tol

    def ask(self, near: TrainingRows, among: AnyArray, stopping: Stopping) -> None:
        """Solve for the working set, rows `among` being near."""
        tol = CLOSER * max(min(self.gap, 1.0), stopping.tol)
        own = replace(stopping, tol=tol, watch=replace(stopping.watch, tell=None))
        some = near.some(np.searchsorted(among, self.numbers))
        begin = Start(alpha=self.alpha[self.numbers])
        found = dual_cd.solve(some, self.problem.some(self.numbers), own, begin, keep_alpha=True)
        assert found.alpha is not None
        self.alpha[self.numbers] = found.alpha
        self.coef, self.intercept = found.coef, found.intercept

    def look(self, primal: float, parts: float, F: Floats) -> None:
        """Note what all rows say, and choose the next working set."""
        if primal < self.primal:
            self.primal, self.best = primal, (self.coef, self.intercept)
        if primal - parts > self.dual:
            self.dual, self.proof = primal - parts, self.alpha.copy()
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
            alpha=self.proof,
            slopes=-self.problem.y * self.proof,
        )
