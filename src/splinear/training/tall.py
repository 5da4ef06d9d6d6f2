"""Training of AdditiveSVC and AdditiveSVR on many rows per parameter: by passes over all rows."""

from __future__ import annotations

from dataclasses import replace

from splinear.solvers.margin_proof import solve_and_certify
from splinear.solvers.margin_sums import RowMargins, has_ramps
from splinear.solvers.memory import MemoryPlan
from splinear.solvers.problem import Problem, Result, Start, Stopping
from splinear.solvers.rows import TrainingRows
from splinear.training.running import one_blas_thread

__all__ = ["is_tall", "proven_by_passes"]

# Where Newton's method was measured to be several times as fast as dual coordinate descent.
LEAST_ROWS, ROWS_PER_PARAMETER = 50_000, 20
MOST_STEPS = 30  # where classes hardly overlap steps are many, and visits of rows are better


def is_tall(rows: TrainingRows, problem: Problem, start: Start | None) -> bool:
    """Tell whether passes over all rows should be faster than visits of one row after the other.

    Dual variables to start from are no help to them; a sparse X has too few values per row, and
    under a limit of memory each row has room for what visits need.
    """
    many = rows.n_rows >= max(LEAST_ROWS, ROWS_PER_PARAMETER * rows.layout.n_parameters)
    plain = rows.is_coded and rows.plan == MemoryPlan() and has_ramps(problem.loss)
    return many and plain and start is None


def proven_by_passes(rows: TrainingRows, problem: Problem, stopping: Stopping) -> Result:
    """Solve one problem, and certify what was found on X itself."""
    own = replace(stopping, max_iter=min(stopping.max_iter, MOST_STEPS))
    with one_blas_thread():
        [found] = solve_and_certify(rows, RowMargins([problem]), own)
    assert found.slopes is not None
    return replace(found, alpha=-problem.y * found.slopes, slopes=None)
