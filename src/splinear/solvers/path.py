"""Newton's method along a path of strengths, each solution leading to the next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from splinear._types import Floats
from splinear.solvers import newton
from splinear.solvers.problem import Result, Start, Stopping
from splinear.solvers.rows import TrainingRows
from splinear.solvers.smooth import Sum

__all__ = ["newton_path"]

# How far the next start goes on in the direction of the last change, the change being measured by
# the logarithm of the strength: models change less and less, so not all the way.
REACH = 0.5


def newton_path(
    rows: TrainingRows,
    total: Sum,
    strengths: Sequence[float],
    stopping: Stopping,
    start: Start | None = None,
) -> list[list[Result]]:
    """Minimise with all variances times each strength in turn; one result per output for each.

    Fewer than there are strengths if the watch stopped it.
    """
    path: list[list[Result]] = []
    for k, strength in enumerate(strengths):
        if k > 0:
            start = _next_start(path, strengths[max(0, k - 2) : k + 1])
        here = rows.with_layout(rows.layout.scaled(strength))
        path.append(newton.solve(here, total, stopping, start))
        if stopping.watch.poll():
            break
    return path


def _next_start(path: list[list[Result]], strengths: Sequence[float]) -> Start:
    """Go on from the last model; `strengths` are those of the last two (or one) and of the next."""
    coef, intercept = _model(path[-1])
    if len(path) > 1 and strengths[0] != strengths[1]:
        before, now, to = np.log(strengths)
        reach = REACH * min((to - now) / (now - before), 1.0)
        coef_before, intercept_before = _model(path[-2])
        coef = coef + reach * (coef - coef_before)
        intercept = intercept + reach * (intercept - intercept_before)
    return Start(coef=coef, intercept=intercept)


def _model(results: list[Result]) -> tuple[Floats, Floats]:
    return (
        np.stack([found.coef for found in results]),
        np.array([found.intercept for found in results]),
    )
