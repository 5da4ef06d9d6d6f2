"""The choice between dual coordinate descent and passes over all rows, which suit tall tables."""

from __future__ import annotations

from dataclasses import replace

from splinear.losses import SquaredHinge
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.margin_sums import RowMargins, has_ramps
from splinear.objective.problem import Problem, Result, Start, Stopping
from splinear.objective.running import one_blas_thread
from splinear.solvers.hinge import dual_cd, smoothing

__all__ = ["has_many_rows", "is_tall", "solve", "suits_newton"]

LEAST_ROWS = 50_000  # with fewer rows, dual coordinate descent is fast enough
ROWS_PER_PARAMETER = 16
ROWS_PER_SMOOTH_PARAMETER = 2  # for a differentiable loss, where Newton's method needs few steps
LEAST_PARAMETERS = 512  # with fewer, dual coordinate descent is fast enough
LEAST_COLUMNS = 80  # whose codes take several times the memory that passes add


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
