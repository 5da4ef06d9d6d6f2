"""Newton's method on the primal problem, for a loss that has derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from splinear.losses import SquaredHinge
from splinear.losses.base import Loss
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.loss_sums import Separable
from splinear.objective.problem import Problem, Result, Start, Stopping
from splinear.objective.running import one_blas_thread
from splinear.solvers import newton
from splinear.solvers.proofs.certificate import minimize_and_certify

__all__ = ["check_forms", "follow_primal", "proven_primal"]

MOST_COSTS = 1e35  # sums over codes are in single precision, up to 3e38


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
