"""Training by dual coordinate descent: what AdditiveSVC and AdditiveSVR share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from splinear._types import Floats, Table
from splinear.model.layout import Layout
from splinear.solvers import dual_cd
from splinear.solvers.problem import Problem, Result, Start, Stopping
from splinear.solvers.rows import TrainingRows
from splinear.terms.base import Advice
from splinear.training.advice import advise_fixed
from splinear.training.estimator import AdditiveEstimator
from splinear.training.parameters import positive
from splinear.training.running import side_by_side

__all__ = ["DualEstimator", "follow_problems"]

SHARES = (*np.geomspace(1.0, 1e-6, 25), 0.0)  # of dual variables to start from


class DualEstimator(AdditiveEstimator):
    """An additive estimator whose outputs are problems for dual coordinate descent."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's own form)
        **AdditiveEstimator._parameter_constraints,
        "C": [positive()],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [positive()],
    }

    @property
    def _bias(self) -> float:
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _advice(self, table: Table) -> Advice:
        return advise_fixed(table)

    def _last_fit(self, layout: Layout, n_outputs: int, n_rows: int) -> list[Start] | None:
        """Return the dual variables of the last fit, if it was to as many rows."""
        alpha = getattr(self, "_alpha", None)
        if not self.warm_start or alpha is None or alpha.shape != (n_outputs, n_rows):
            return None
        return [Start(alpha=a * (self.C / self._alpha_C)) for a in alpha]

    def _keep_alpha(self, rows: TrainingRows, results: Sequence[Result]) -> None:
        """Keep the dual variables for warm_start."""
        alphas = [rows.restore(found.alpha) for found in results if found.alpha is not None]
        if self.warm_start and alphas:
            self._alpha, self._alpha_C = np.stack(alphas), self.C

    def _before(self) -> list[Start]:
        """Return the last model, which partial_fit stays close to."""
        pairs = zip(self._model.parameters, self._model.intercept, strict=True)
        return [Start(coef=theta, intercept=float(b), proximal=True) for theta, b in pairs]


def follow_problems(
    rows: TrainingRows,
    problem_of: Callable[[int], Problem],
    labels: Sequence[object],
    stopping: Stopping,
    before: list[Start] | None,
    Cs: Sequence[float],
    *,
    keep_alpha: bool,
) -> list[list[Result]]:
    """Solve one problem per label, side by side, for each C in turn; results per C.

    problem_of(k) poses problem k for C = 1. Fewer lists than Cs if the watch stopped it.
    """
    width = min(stopping.n_threads, len(labels), rows.plan.width)
    inner = replace(stopping, n_threads=stopping.n_threads // width)

    def follow(k: int) -> list[Result]:
        problem = problem_of(k).scaled(float(Cs[0]))
        start = None if before is None else _feasible(before[k], rows, problem, inner.n_threads)
        watch = stopping.watch.of(labels[k])
        factors = [float(C) / float(Cs[0]) for C in Cs]
        own = replace(inner, watch=watch)
        return dual_cd.follow_path(rows, problem, own, factors, start, keep_alpha=keep_alpha)

    tasks = [lambda k=k: follow(k) for k in range(len(labels))]
    paths = side_by_side(tasks, width, stopping.watch)
    return [list(results) for results in zip(*paths, strict=False)]  # some may have stopped


def _feasible(start: Start, rows: TrainingRows, problem: Problem, n_threads: int) -> Start:
    """Bring dual variables, one per row of X, into the order and the bounds of the problem.

    They are multiplied by the number, 1 at most, that makes the dual objective largest: far from
    those of the problem, they would be worse than none.
    """
    if start.alpha is None:
        return start
    lowest, highest = problem.loss.range(problem.cost)
    alpha: Floats = np.clip(rows.place(start.alpha), lowest, highest)
    slopes = (alpha * problem.y)[None]
    sums = rows.sums(slopes, n_threads)
    of_bias = problem.bias * float(slopes.sum())
    square = float(np.vdot(sums, rows.layout.soften(sums))) + of_bias**2
    gain = 0.0 if problem.targets is None else float(alpha @ problem.targets)
    counts = np.flatnonzero(problem.cost)
    some, cost = alpha[counts], problem.cost[counts]

    def dual(share: float) -> float:
        own = float(problem.loss.dual(share * some, cost).sum())
        return own + share * gain - 0.5 * share**2 * square

    return replace(start, alpha=max(SHARES, key=dual) * alpha)
