"""The three ways to minimize losses of margins in this process, and the choice between them.

- Dual coordinate descent (`dual_cd`) takes every loss and every table.
- Newton's method on the primal problem (`primal`) suits a differentiable loss of many rows, and is
  the only one that takes shape constraints.
- Newton's method on a smoothed loss (`smoothing`), in passes over all rows, suits tall tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from splinear._types import Floats
from splinear.losses import SquaredHinge
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.margin_sums import has_ramps
from splinear.objective.problem import Problem, Result, Start
from splinear.solvers.hinge.dual_cd import follow_path
from splinear.solvers.hinge.one_problem import OneProblem
from splinear.solvers.hinge.primal import follow_primal, proven_primal
from splinear.solvers.hinge.task import Task
from splinear.solvers.proofs.certificate import solve_and_certify

__all__ = ["follow", "has_many_rows", "is_primal", "is_tall", "suits_newton", "train"]

LEAST_ROWS = 50_000  # with fewer rows, dual coordinate descent is fast enough
ROWS_PER_PARAMETER = 16
ROWS_PER_SMOOTH_PARAMETER = 2  # for a differentiable loss, where Newton's method needs few steps
LEAST_PARAMETERS = 512  # with fewer, dual coordinate descent is fast enough
LEAST_COLUMNS = 80  # whose codes take several times the memory that passes add


def train(task: Task, into: Floats, *, keeps_alpha: bool) -> Result:
    """Solve a problem by the way that suits it, and certify the solution on X itself.

    The coefficients are written to `into`, (n_parameters,).
    """
    rows, stopping = task.rows, task.stopping
    problem, start = task.posed()
    scaled = problem.scaled(task.C)
    if is_primal(rows, problem, start):
        found = proven_primal(rows, scaled, stopping, start)
    else:
        one = OneProblem(rows, scaled, stopping, start, is_tall(rows, scaled))
        [found] = solve_and_certify(rows, stopping, one.solve, one.certify, one.flat, refines=True)
    into[:] = found.coef
    # A view of alpha would keep the core's whole result alive, including the coefficients.
    alpha = found.alpha.copy() if keeps_alpha and found.alpha is not None else None
    return replace(found, coef=into, alpha=alpha)


def follow(task: Task, Cs: Sequence[float], *, keeps_alpha: bool = False) -> list[Result]:
    """Solve a problem on its rows as they are, for each C in turn, without a certificate on X.

    There are fewer results than Cs if the watch stopped it.
    """
    problem, start = task.posed()
    if is_primal(task.rows, problem, start):
        return follow_primal(task.rows, problem, task.stopping, Cs, start)
    return follow_path(task.rows, problem, task.stopping, Cs, start, keep_alpha=keeps_alpha)


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
    """Return whether Newton's method on the primal problem is faster than the dual."""
    enough = rows.n_rows >= ROWS_PER_SMOOTH_PARAMETER * rows.layout.n_parameters
    return enough and isinstance(problem.loss, SquaredHinge) and not rows.plan.is_bounded


def is_primal(rows: TrainingRows, problem: Problem, start: Start | None) -> bool:
    """Return whether a problem is solved by Newton's method on the primal problem.

    It must be under shape constraints, and is where that is faster.
    """
    if rows.layout.cone is not None:
        return True
    is_proximal = start is not None and start.proximal  # only the dual solver has this penalty
    return not is_proximal and suits_newton(rows, problem)
