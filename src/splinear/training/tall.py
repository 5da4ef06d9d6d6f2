"""Problems of dual coordinate descent, solved by what is faster: passes over all rows if tall."""

from __future__ import annotations

from dataclasses import replace

from splinear.solvers.hinge import dual_cd, smoothing
from splinear.solvers.problems.losses import SquaredHinge
from splinear.solvers.problems.margin_sums import RowMargins, has_ramps
from splinear.solvers.problems.problem import Problem, Result, Start, Stopping
from splinear.solvers.rows.training_rows import TrainingRows
from splinear.training.running import one_blas_thread

__all__ = ["has_many_rows", "is_tall", "solve", "suits_newton"]

LEAST_ROWS = 50_000  # with fewer, dual coordinate descent is soon done
ROWS_PER_PARAMETER = 16
ROWS_PER_SMOOTH_PARAMETER = 2  # where the loss has a derivative: few steps instead of many passes
LEAST_PARAMETERS = 512  # the same
LEAST_COLUMNS = 80  # whose codes take more memory than what passes need beyond them, several times
MOST_STEPS = 40  # of Newton's method: where they do not suffice few rows count, and more will not
WARM_GAP = 0.2  # relative, of dual variables that are worth starting from


def has_many_rows(n_rows: int, n_parameters: int) -> bool:
    """Tell whether there are so many rows per parameter that classes usually overlap."""
    return n_rows >= ROWS_PER_PARAMETER * n_parameters


def is_tall(rows: TrainingRows, problem: Problem) -> bool:
    """Tell whether there are so many rows per parameter that most dual variables are at a bound.

    Dual coordinate descent moves them there step by step. Passes over all rows need more memory.
    """
    n, n_parameters = rows.n_rows, rows.layout.n_parameters
    many_rows = n >= LEAST_ROWS and has_many_rows(n, n_parameters)
    wide = n_parameters >= LEAST_PARAMETERS and rows.n_values >= LEAST_COLUMNS * n
    in_memory = rows.is_coded and not rows.plan.is_bounded
    return many_rows and wide and in_memory and has_ramps(problem.loss)


def suits_newton(rows: TrainingRows, problem: Problem) -> bool:
    """Tell whether Newton's method on the problem itself is faster than either way below."""
    enough = rows.n_rows >= ROWS_PER_SMOOTH_PARAMETER * rows.layout.n_parameters
    return enough and isinstance(problem.loss, SquaredHinge) and not rows.plan.is_bounded


def solve(rows: TrainingRows, problem: Problem, stopping: Stopping, start: Start | None) -> Result:
    """Solve one problem to a relative gap of stopping.tol; its dual variables come with it."""
    if start is not None or not is_tall(rows, problem):
        return dual_cd.solve(rows, problem, stopping, start, keep_alpha=True)
    few = replace(stopping, max_iter=min(stopping.max_iter, MOST_STEPS))
    with one_blas_thread():
        [found] = smoothing.solve(rows, RowMargins([problem], n_threads=few.n_threads), few)
    assert found.slopes is not None
    found = replace(found, alpha=-problem.y * found.slopes, slopes=None)
    left = stopping.max_iter - found.n_iter
    if found.converged or left <= 0 or stopping.watch.reason is not None:
        return found
    start = Start(alpha=found.alpha) if found.gap <= WARM_GAP else None
    own = replace(stopping, max_iter=left, watch=stopping.watch.after(found.n_iter))
    again = dual_cd.solve(rows, problem, own, start, keep_alpha=True)
    return replace(again, n_iter=again.n_iter + found.n_iter)
