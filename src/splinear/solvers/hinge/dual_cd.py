"""Dual coordinate descent in the core, which computes the embedding on the fly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from splinear import _core
from splinear.losses.margin import MarginLoss
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.problem import Problem, Result, Start, Stopping
from splinear.objective.watch import Watch
from splinear.terms.group import TermGroup

__all__ = ["follow_path", "solve"]


def solve(
    rows: TrainingRows,
    problem: Problem,
    stopping: Stopping,
    start: Start | None = None,
    *,
    keep_alpha: bool = False,
) -> Result:
    """Solve the problem to a relative duality gap of stopping.tol."""
    return follow_path(rows, problem, stopping, [1.0], start, keep_alpha=keep_alpha)[0]


def follow_path(
    rows: TrainingRows,
    problem: Problem,
    stopping: Stopping,
    Cs: Sequence[float],
    start: Start | None = None,
    *,
    keep_alpha: bool = False,
) -> list[Result]:
    """Solve the problem for each C in turn, which multiplies all costs.

    The first problem begins at `start`; the others begin at the linear extrapolation of the last
    two solutions. There are fewer results than Cs if the watch stopped it.
    """
    problem = problem.scaled(float(Cs[0]))
    unit = _unit(rows, problem)
    start = start or Start()
    groups, norms = rows.in_unit(unit, stopping.n_threads)
    results, error = _core.train(
        groups,
        _compiled(problem.loss),
        problem.core(unit, norms),
        _core.DualOptions(
            tol=stopping.tol,
            max_iter=stopping.max_iter,
            seed=stopping.seed,
            n_threads=stopping.n_threads,
            keep_alpha=keep_alpha,
        ),
        _core.DualStart(
            alpha=None if start.alpha is None else start.alpha * unit,
            coef=np.ascontiguousarray(start.coef) if start.proximal else None,
            intercept=float(start.intercept) if start.proximal else 0.0,
        ),
        [float(C) / float(Cs[0]) for C in Cs],
        stopping.watch if len(Cs) == 1 else _PathWatch(stopping.watch, Cs),
    )
    if isinstance(error, BaseException):
        stopping.watch.fail(error)
    return [_out_of_unit(found, unit) for found in results]


@dataclass
class _PathWatch:
    """The watch of a path, which reports the C of every pass.

    For each C, the core makes at least one pass and counts from 1 on.
    """

    watch: Watch
    Cs: Sequence[float]
    n_begun: int = 0

    def poll(self) -> bool:
        """Return whether to stop now."""
        return self.watch.poll()

    def on_pass(self, n_iter: int, gap: float, n_active: int) -> bool:
        """Report progress, and return whether to stop."""
        self.n_begun += n_iter == 1
        C = float(self.Cs[max(self.n_begun, 1) - 1])
        return self.watch.at(C).on_pass(n_iter, gap, n_active)


def _unit(rows: TrainingRows, problem: Problem) -> float:
    """Return r^2, about the largest squared norm of an embedded row.

    Multiplying all embeddings by 1 / r and the costs by r^2 does not change the model, and keeps
    squared norms in the range of a float even if native units are as large as 1e300.
    """
    largest = max((float(_largest(group)) for group in rows.layout.groups), default=0.0)
    return min(max(largest, problem.bias**2), 1e280) or 1.0


def _compiled(loss: MarginLoss) -> _core.Loss:
    if (twin := loss.core()) is None:
        raise TypeError(f"Dual coordinate descent needs a loss with a compiled twin; got {loss!r}.")
    return twin


def _out_of_unit(found: _core.DualResult, unit: float) -> Result:
    alpha = found.alpha if len(found.alpha) else None
    if alpha is not None:
        alpha /= unit  # in place, to save memory
    return Result(
        coef=found.coef,
        intercept=found.intercept,
        primal=found.primal / unit,
        dual=found.dual / unit,
        gap=found.gap,
        n_iter=found.n_iter,
        converged=found.converged,
        certified=found.converged,
        alpha=alpha,
    )


def _largest(group: TermGroup) -> float:
    """Return the largest variance of a group's curves and gaps."""
    of_gaps = group.missing_variance.max(initial=0.0) if group.has_gaps else 0.0
    return max(float(group.embedding.variance.max(initial=0.0)), float(of_gaps))
