"""Training of AdditiveSVC by passes over all rows, of all outputs at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from splinear.model.layout import Layout
from splinear.solvers import smoothing
from splinear.solvers.margin_proof import ExactPasses, Solve, solve_and_certify
from splinear.solvers.margin_sums import MarginSums, RowMargins
from splinear.solvers.problem import Start, Stopping, stack
from splinear.training.dual import DualTrainer
from splinear.training.outputs.base import Target
from splinear.training.running import one_blas_thread
from splinear.training.set import TrainingSet
from splinear.training.trainer import LastFit, Trained, starts_of
from splinear.training.weighted import WeightedRows

__all__ = ["PassTrainer"]


@dataclass(frozen=True)
class PassTrainer(DualTrainer):
    """The problems of DualTrainer, by `splinear.solvers.smoothing`."""

    def starts(
        self, last: LastFit, layout: Layout, n_outputs: int, n_rows: int
    ) -> list[Start] | None:
        """Start from the last model, if it has the same shape."""
        del n_rows
        model = last.model
        same = [g.shape for g in model.layout.groups] == [g.shape for g in layout.groups]
        return starts_of(model) if same and model.n_outputs == n_outputs else None

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
            results = solve_and_certify(
                rows, self.margins(data), stopping, start, self.solver(data)
            )
        results = data.restored([replace(found, alpha=None, slopes=None) for found in results])
        return Trained(data, data.rows.layout, results)

    def margins(self, data: TrainingSet) -> MarginSums:
        """Return the sums of losses over all rows."""
        return self.posed(data.target, data.weighted)

    def solver(self, data: TrainingSet) -> Solve:
        """Return what minimizes the sums."""
        del data
        return smoothing.solve

    def posed(self, target: Target, rows: WeightedRows) -> RowMargins:
        """Return the sums of losses over rows that are here."""
        problem_of = target.problems(rows, self.loss, self.bias)
        return RowMargins([problem_of(k).scaled(self.C) for k in range(target.outputs.n_outputs)])
