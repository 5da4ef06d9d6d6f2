"""Newton's method for increasing C, each solution starting the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from splinear.solvers.newton import descent as newton
from splinear.solvers.problems.loss_sums import LossSum
from splinear.solvers.problems.problem import Result, Start, Stopping, stack
from splinear.solvers.rows.training_rows import TrainingRows

__all__ = ["newton_path"]

# How far the next start extrapolates the last change of the model, which is measured relative to
# the change of log C. Models change less and less, so not all the way.
REACH = 0.5


def newton_path(
    rows: TrainingRows,
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
        path.append(newton.solve(here, total, own, start))
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
