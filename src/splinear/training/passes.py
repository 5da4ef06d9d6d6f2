"""Training of AdditiveSVC by passes over all rows, of all outputs at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

from splinear.model.layout import Layout
from splinear.solvers.hinge.margin_proof import ExactPasses, SolveMargins, solve_margins
from splinear.solvers.problems.margin_sums import MarginSums
from splinear.solvers.problems.problem import Start, Stopping, stack
from splinear.training.running import one_blas_thread
from splinear.training.set import TrainingSet
from splinear.training.trainer import LastFit, Trained, starts_like

__all__ = ["PassTrainer"]


@dataclass(frozen=True)
class PassTrainer:
    """The problems of DualTrainer, for rows that are elsewhere.

    Attributes
    ----------
    margins : callable
        From a set to the sums of losses over all its rows.
    solver : callable
        From a set to what minimizes them.
    """

    margins: Callable[[TrainingSet], MarginSums]
    solver: Callable[[TrainingSet], SolveMargins]

    def starts(
        self, last: LastFit, layout: Layout, n_outputs: int, n_rows: int
    ) -> list[Start] | None:
        """Start from the last model, if it has the same shape."""
        del n_rows
        return starts_like(last.model, layout, n_outputs)

    def fit(self, data: TrainingSet, stopping: Stopping, starts: list[Start] | None) -> Trained:
        """Train all outputs for C."""
        if data.rows.layout.cone is not None:
            raise ValueError(
                "Spline(monotone=..., curvature=...) takes AdditiveSVC(loss='squared_hinge'), "
                "AdditiveClassifier or AdditiveRegressor; AdditiveClassifier on a cluster."
            )
        start = None if starts is None else Start(*stack(data.centered(starts)))
        rows = cast(ExactPasses, data.rows)
        with one_blas_thread():
            results = solve_margins(rows, self.margins(data), stopping, start, self.solver(data))
        results = data.restored([replace(found, alpha=None, slopes=None) for found in results])
        return Trained(data, data.rows.layout, results)
