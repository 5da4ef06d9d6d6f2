"""Newton's method along a path of problems, each solution being the start for the next."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from splinear.solvers import newton
from splinear.solvers.problem import Result, Start, Stopping
from splinear.solvers.rows import TrainingRows
from splinear.solvers.smooth import Sum

__all__ = ["newton_path"]


def newton_path(
    rows: TrainingRows,
    totals: Iterable[Sum],
    stopping: Stopping,
    bias: float,
    start: Start | None = None,
) -> list[list[Result]]:
    """Minimise each total in turn; one result per output for each of them.

    Fewer than there are totals if the watch stopped it.
    """
    path: list[list[Result]] = []
    for total in totals:
        path.append(newton.solve(rows, total, stopping, bias, start))
        if stopping.watch.poll():
            break
        start = Start(
            coef=np.stack([found.coef for found in path[-1]]),
            intercept=np.array([found.intercept for found in path[-1]]),
        )
    return path
