"""Newton's method along a path of strengths, each solution leading to the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
    factors: Sequence[float],
    total: Callable[[float], Sum],
    stopping: Stopping,
    bias: float,
    start: Start | None = None,
) -> list[list[Result]]:
    """Minimise total(factor) for each factor in turn; one result per output for each of them.

    Fewer than there are factors if the watch stopped it.
    """
    path: list[list[Result]] = []
    for k, factor in enumerate(factors):
        if k > 0:
            start = _next_start(path, factors[max(0, k - 2) : k + 1])
        path.append(newton.solve(rows, total(factor), stopping, bias, start))
        if stopping.watch.poll():
            break
    return path


def _next_start(path: list[list[Result]], factors: Sequence[float]) -> Start:
    """Go on from the last model; `factors` are those of the last two (or one) and of the next."""
    coef, intercept = _model(path[-1])
    if len(path) > 1 and factors[0] != factors[1]:
        before, now, to = np.log(factors)
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
