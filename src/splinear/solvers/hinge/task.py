"""The problem of one output, and where its solver begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from splinear._types import Floats
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.problem import Problem, Start, Stopping
from splinear.objective.training_set import TrainingSet
from splinear.solvers.hinge.primal import check_forms

__all__ = ["Task", "tasks_of"]

WARM_GAP = 0.2  # relative gap up to which dual variables are worth starting from
SHARES = (*np.geomspace(1.0, 1e-6, 25), 0.0)  # factors tried for dual variables of a warm start


@dataclass(frozen=True, eq=False)
class Task:
    """The problem of one output, posed when its turn comes: its arrays are as long as the rows.

    Attributes
    ----------
    rows : TrainingRows
    pose : callable
        pose() returns the problem for C = 1.
    C : float
        The first C that is trained for.
    stopping : Stopping
    begin : Start or None
        In training order; its dual variables need not be feasible.
    """

    rows: TrainingRows
    pose: Callable[[], Problem]
    C: float
    stopping: Stopping
    begin: Start | None

    def posed(self) -> tuple[Problem, Start | None]:
        """Return the problem for C = 1, and a feasible start."""
        problem, start = self.pose(), self.begin
        if start is not None:
            scaled = problem.scaled(self.C)
            start = _feasible(start, self.rows, scaled, self.stopping.n_threads)
        return problem, start


def tasks_of(
    data: TrainingSet,
    bias: float,
    stopping: Stopping,
    C: float,
    starts: Sequence[Start] | None,
    outputs: Sequence[int] | None = None,
) -> tuple[list[Task], int]:
    """Return the tasks of all outputs, or of some, and how many are to be done in parallel.

    `starts` are in training order.
    """
    rows, loss = data.rows, data.loss
    numbers = range(loss.n_outputs) if outputs is None else outputs
    width = min(stopping.n_threads, len(numbers), rows.plan.width)
    problem_of = data.problems(bias)
    if rows.layout.cone is not None:
        check_forms(loss, starts)
        starts = None
    tasks = []
    for at, k in enumerate(numbers):
        watch = stopping.watch.of(loss.label(k))
        own = replace(stopping, n_threads=stopping.n_threads // width, watch=watch)
        start = None if starts is None else starts[at]
        tasks.append(Task(rows, partial(problem_of, k), C, own, start))
    return tasks, width


def _feasible(start: Start, rows: TrainingRows, problem: Problem, n_threads: int) -> Start:
    """Return a start with its dual variables, in training order, within their bounds.

    They are multiplied by the factor in [0, 1] that maximizes the dual objective. If the relative
    gap remains above WARM_GAP, they are dropped: a start far from the solution takes longer than a
    start at zero, whose relative gap is 1.
    """
    if start.alpha is None:
        return start
    lowest, highest = problem.loss.range(problem.cost)
    alpha: Floats = np.clip(start.alpha, lowest, highest)
    slopes = (alpha * problem.y)[None]
    sums = rows.sums(slopes, n_threads)
    parameters, b = rows.layout.soften(sums), problem.bias * float(slopes.sum())
    square = float(np.vdot(sums, parameters)) + b**2
    gain = 0.0 if problem.targets is None else float(alpha @ problem.targets)
    counts = np.flatnonzero(problem.cost)
    some, cost = alpha[counts], problem.cost[counts]

    def dual(share: float) -> float:
        own = float(problem.loss.dual(share * some, cost).sum())
        return own + share * gain - 0.5 * share**2 * square

    share = max(SHARES, key=dual)
    scores = share * (rows.scores(parameters, n_threads)[0] + problem.bias * b)
    losses = problem.loss.of_margin(problem.margin(scores)[counts])
    primal = 0.5 * share**2 * square + float(cost @ losses)
    helps = primal - dual(share) <= WARM_GAP * primal
    return replace(start, alpha=share * alpha if helps else None)
