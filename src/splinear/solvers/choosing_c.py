"""The choice of C on rows held out, by a short path, at about the cost of one fit.

C is multiplied by 4 as long as the mean loss of the held-out rows falls, and divided by 4 if it
does not fall at first. Every model is the start for the next. Of many rows, a sixth is trained on;
small tables, whose fits are fast, are divided into folds. Of many classes, some are trained. The
losses of held-out rows are smoother functions of C than their errors, and chose as well where both
were tried: MNIST, USPS, pedestrians, text, and tables of docs/defaults.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.problem import Problem, Result, Start, Stopping
from splinear.objective.running import side_by_side
from splinear.objective.training_set import TrainingSet
from splinear.solvers.hinge.task import tasks_of
from splinear.solvers.hinge.ways import follow

__all__ = ["choose_cost", "rows_for_choice"]

FIRST, FACTOR = 1.0 / 16.0, 4.0  # of C, in the unit of the scores
LEAST, MOST = FIRST / FACTOR**5, FIRST * FACTOR**6
FEW, N_FOLDS = 1_000, 4  # a table of at most so many rows is divided into folds
TOO_FEW = 2 * N_FOLDS  # rows, without which folds lack a class and constant models seem best
LEAST_FIT, SHARE = 3_000, 6  # rows that are trained on: one in SHARE, but at least LEAST_FIT
HELD_OUT, MOST_HELD_OUT = 0.25, 5_000  # rows
MOST_OUTPUTS = 8  # classes or labels that are trained; their losses have the same scale
BETTER = 0.995  # relative to the smallest loss so far: what another C must reach
TOL, MOST_PASSES = 0.05, 50  # of the models that are compared; larger C need more passes


def choose_cost(data: TrainingSet, bias: float, stopping: Stopping, unit: float) -> float:
    """Return the C of the smallest loss on rows held out.

    `bias` is B, and `unit` the unit of C; see Trainer.path_unit. It is returned if there are too
    few rows to hold any out. If the watch stops the choice, the best C so far is returned.
    """
    watch = stopping.watch.during("C")
    own = replace(
        stopping,
        tol=max(stopping.tol, TOL),
        max_iter=min(stopping.max_iter, MOST_PASSES),
        watch=watch,
    )
    unit = unit if 0.0 < unit < np.inf else 1.0
    splits = _splits(data, bias)
    if not splits:
        return unit
    best = start = FIRST * unit
    lowest, last = _loss(splits, own, start, None)
    for factor, end in ((FACTOR, MOST), (1.0 / FACTOR, LEAST)):
        C, found = start, last
        while not watch.poll() and end * unit != C:
            C *= factor
            loss, found = _loss(splits, own, C, found)
            if not loss < BETTER * lowest or watch.reason is not None:
                break
            lowest, best = loss, C
        if best != start:
            break
    return best


@dataclass(frozen=True, eq=False)
class _Split:
    """Rows to train on, and the problems of the rows that are held out, `at` their places.

    `outputs` are those that are trained.
    """

    fit: TrainingSet
    bias: float
    rows: TrainingRows
    at: AnyArray
    outputs: Sequence[int]
    held_out: Sequence[Problem]

    def trained(
        self, stopping: Stopping, C: float, last: tuple[float, list[Result]] | None
    ) -> list[Result]:
        """Train for C, starting from another C and its results on the same rows."""
        starts = None
        if last is not None:
            starts = [
                Start(
                    coef=found.coef,
                    intercept=found.intercept,
                    alpha=None if found.alpha is None else C / last[0] * found.alpha,
                )
                for found in last[1]
            ]
        tasks, width = tasks_of(self.fit, self.bias, stopping, C, starts, self.outputs)
        jobs = [partial(follow, task, [C], keeps_alpha=True) for task in tasks]
        return [found[0] for found in side_by_side(jobs, width, stopping.watch)]

    def loss(self, results: Sequence[Result], n_threads: int) -> tuple[float, float]:
        """Return the sum of the losses of the held-out rows, and that of their weights."""
        F: Floats = self.rows.scores(np.stack([found.coef for found in results]), n_threads)
        loss = weight = 0.0
        for found, scores, problem in zip(results, F, self.held_out, strict=True):
            cost = problem.cost
            m = problem.margin(scores[self.at] + found.intercept)
            loss, weight = (
                loss + float(cost @ problem.loss.of_margin(m)),
                weight + float(cost.sum()),
            )
        return loss, weight


Last = list[tuple[float, list[Result]]]


def _loss(
    splits: Sequence[_Split], stopping: Stopping, C: float, last: Last | None
) -> tuple[float, Last]:
    """Return the mean loss of all held-out rows for one C, and the models of all splits."""
    models: Last = []
    loss = weight = 0.0
    own = replace(stopping, watch=stopping.watch.at(C))
    for k, split in enumerate(splits):
        results = split.trained(own, C, None if last is None else last[k])
        models.append((C, results))
        of_split = split.loss(results, stopping.n_threads)
        loss, weight = loss + of_split[0], weight + of_split[1]
        if own.watch.reason is not None:
            return np.inf, models
    return (loss / weight if weight > 0 else np.inf), models


def _splits(data: TrainingSet, bias: float) -> list[_Split]:
    """Divide the rows, which are in random order; return no splits if they are too few."""
    rows, n = data.rows, data.rows.n_rows
    if n < TOO_FEW:
        return []
    if n > FEW:
        n_fit, n_both = _sizes(n)
        both = data.with_rows(rows.first(n_both))
        return [_split(data.with_rows(rows.first(n_fit)), both, np.arange(n_fit, n_both), bias)]
    fold = np.arange(n) % N_FOLDS
    return [
        _split(
            data.within(rows.restore((fold != k).astype(np.float64)) > 0),
            data,
            np.flatnonzero(fold == k),
            bias,
        )
        for k in range(N_FOLDS)
    ]


def _split(fit: TrainingSet, both: TrainingSet, at: AnyArray, bias: float) -> _Split:
    problem_of = both.problems(bias)
    n = both.loss.n_outputs
    outputs = np.unique(np.linspace(0, n - 1, min(n, MOST_OUTPUTS)).astype(int)).tolist()
    return _Split(fit, bias, both.rows, at, outputs, [problem_of(k).some(at) for k in outputs])


def _sizes(n: int) -> tuple[int, int]:
    """Return how many of n rows are trained on, and how many are needed in all."""
    n_held_out = min(int(HELD_OUT * n), MOST_HELD_OUT)
    n_fit = min(n - n_held_out, max(LEAST_FIT, n // SHARE))
    return n_fit, n_fit + n_held_out


def rows_for_choice(n: int) -> int:
    """Return how many of n rows are needed."""
    return n if n <= FEW else _sizes(n)[1]
