"""Newton's method and passes over all rows instead of dual coordinate descent, and the choice.

Passes over all rows suit tall tables. Newton's method suits a differentiable loss of many rows, and
is the only one that takes shape constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from splinear.losses import SquaredHinge
from splinear.losses.base import Loss
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.loss_sums import Separable
from splinear.objective.margin_sums import RowMargins, has_ramps
from splinear.objective.problem import Problem, Result, Start, Stopping
from splinear.objective.running import one_blas_thread
from splinear.solvers import newton
from splinear.solvers.hinge import dual_cd, smoothing
from splinear.solvers.proofs.certificate import minimize_and_certify

__all__ = [
    "check_forms",
    "follow_primal",
    "has_many_rows",
    "is_tall",
    "proven_primal",
    "solve",
    "suits_newton",
]

LEAST_ROWS = 50_000  # with fewer rows, dual coordinate descent is fast enough
ROWS_PER_PARAMETER = 16
ROWS_PER_SMOOTH_PARAMETER = 2  # for a differentiable loss, where Newton's method needs few steps
LEAST_PARAMETERS = 512  # with fewer, dual coordinate descent is fast enough
LEAST_COLUMNS = 80  # whose codes take several times the memory that passes add
MOST_COSTS = 1e35  # sums over codes are in single precision, up to 3e38


def has_many_rows(n_rows: int, n_parameters: int) -> bool:
    """Return whether there are so many rows per parameter that classes usually overlap."""
    return n_rows >= ROWS_PER_PARAMETER * n_parameters


def is_tall(rows: TrainingRows, problem: Problem) -> bool:
    """Return whether to solve by passes over all rows, because rows per parameter are many.

    Most dual variables are then at a bound, to which dual coordinate descent would move them one by
    one. Passes need more memory.
    """
    n, n_parameters = rows.n_rows, rows.layout.n_parameters
    many_rows = n >= LEAST_ROWS and has_many_rows(n, n_parameters)
    wide = n_parameters >= LEAST_PARAMETERS and rows.n_values >= LEAST_COLUMNS * n
    in_memory = rows.is_coded and not rows.plan.is_bounded
    return many_rows and wide and in_memory and has_ramps(problem.loss)


def suits_newton(rows: TrainingRows, problem: Problem) -> bool:
    """Return whether Newton's method on the primal problem is faster than `solve`."""
    enough = rows.n_rows >= ROWS_PER_SMOOTH_PARAMETER * rows.layout.n_parameters
    return enough and isinstance(problem.loss, SquaredHinge) and not rows.plan.is_bounded


def solve(rows: TrainingRows, problem: Problem, stopping: Stopping, start: Start | None) -> Result:
    """Solve one problem to a relative gap of stopping.tol; the result includes alpha."""
    if start is not None or not is_tall(rows, problem):
        return dual_cd.solve(rows, problem, stopping, start, keep_alpha=True)
    # 200,000 x 100 (`waves` in benchmarks/sets.py): .5 s of one core, against 2.3 s.
    with one_blas_thread():
        [found] = smoothing.solve(
            rows, RowMargins([problem], n_threads=stopping.n_threads), stopping
        )
    assert found.slopes is not None
    return replace(found, alpha=-problem.y * found.slopes, slopes=None)


def check_forms(loss: Loss, starts: Sequence[Start] | None) -> None:
    """Raise if shape-constrained curves cannot be trained with this loss, or by partial_fit."""
    if any(start.proximal for start in starts or ()):
        raise ValueError(
            "partial_fit takes no Spline with monotone or curvature; use fit, or leave them out."
        )
    if not isinstance(loss, SquaredHinge):
        raise ValueError(
            "Spline(monotone=..., curvature=...) needs a loss that has derivatives: "
            "AdditiveSVC(loss='squared_hinge'), AdditiveClassifier or AdditiveRegressor."
        )


def follow_primal(
    rows: TrainingRows,
    problem: Problem,
    stopping: Stopping,
    Cs: Sequence[float],
    start: Start | None = None,
) -> list[Result]:
    """Return the solutions for each C in turn, each started from the previous one.

    C multiplies all costs. There are fewer results than Cs if the watch stopped it.
    """
    path: list[Result] = []
    with one_blas_thread():
        for C in Cs:
            total = _summed(problem.scaled(float(C)))
            start = Start(path[-1].coef, path[-1].intercept) if path else start
            own = replace(stopping, watch=stopping.watch.at(float(C)))
            [found] = newton.solve(rows, total, own, start)
            path.append(found if problem.bias else replace(found, intercept=0.0))
            if stopping.watch.poll():
                break
    return path


def proven_primal(
    rows: TrainingRows, problem: Problem, stopping: Stopping, start: Start | None = None
) -> Result:
    """Solve one problem, certify the solution on X itself, and return it with its alpha."""
    total = _summed(problem)
    with one_blas_thread():
        [found] = minimize_and_certify(rows, total, stopping, start)
    assert found.slopes is not None
    intercept = found.intercept if problem.bias else 0.0
    return replace(found, intercept=intercept, alpha=-problem.y * found.slopes, slopes=None)


def _summed(problem: Problem) -> Separable:
    """Return the sum of squared hinge losses; raise if it overflows in single precision."""
    with np.errstate(over="ignore"):
        most = float(np.sum(problem.cost))
    if most > MOST_COSTS:
        raise ValueError(
            f"loss='squared_hinge' cannot be computed where C and the weights of all rows multiply "
            f"to {most:.2g}, more than {MOST_COSTS:g}; lower C or the weights."
        )
    return Separable(problem, bias=problem.bias)
