"""Training of AdditiveSVC by passes over all rows, for all outputs at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

from splinear.model.layout import Layout
from splinear.objective.margin_sums import MarginSums
from splinear.objective.problem import Start, Stopping, stack
from splinear.solvers.hinge.margin_proof import ExactPasses, solve_margins
from splinear.training.running import one_blas_thread
from splinear.training.set import TrainingSet
from splinear.training.trainer import LastFit, Trained, starts_like

__all__ = ["PassTrainer"]


@dataclass(frozen=True)
class PassTrainer:
    """Trains the problems of DualTrainer on rows held by a GPU or by Dask workers.

    Attributes
    ----------
    margins : callable
        margins(data) returns the sums of losses over all rows of a training set.
    """

    margins: Callable[[TrainingSet], MarginSums]

    def starts(
        self, last: LastFit, layout: Layout, n_outputs: int, n_rows: int
    ) -> list[Start] | None:
        """Return starts at the last model; None if its shape differs."""
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
            results = solve_margins(rows, self.margins(data), stopping, start)
        results = data.restored([replace(found, alpha=None, slopes=None) for found in results])
        return Trained(data, data.rows.layout, results)
