"""Training of AdditiveSVC and AdditiveSVR by dual coordinate descent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real

import numpy as np

from splinear._compat import Interval
from splinear._types import Constraints
from splinear.estimators.trainer import Duals, Trained
from splinear.losses.base import Loss
from splinear.objective.local.memory import NEED_DUAL, BytesPerRow
from splinear.objective.margin_sums import MarginSums, RowMargins
from splinear.objective.problem import Result, Start, Stopping, stack
from splinear.objective.running import one_blas_thread, side_by_side
from splinear.objective.training_set import Response, TrainingSet, WeightedRows
from splinear.solvers.choosing_c import choose_cost
from splinear.solvers.hinge import ways
from splinear.solvers.hinge.margin_proof import solve_margins
from splinear.solvers.hinge.task import tasks_of
from splinear.tables.table import Table
from splinear.terms.advice import advise_fixed
from splinear.terms.base import Advice

__all__ = ["DUAL_PARAMETERS", "DualTrainer", "PassTrainer"]

MAX_BIAS = 1e8  # squared norms are added to its square: beyond 1e16 they would lose all digits

DUAL_PARAMETERS: Constraints = {
    "C": [Interval(Real, 0, 1e200, closed="right"), None],  # squares of more overflow
    "fit_intercept": ["boolean"],
    "intercept_scaling": [Interval(Real, 0, MAX_BIAS, closed="right")],
}


@dataclass(frozen=True)
class DualTrainer:
    """Trains one problem per output, several of them in parallel.

    For each output it minimizes 1/2 |w|^2 + 1/2 b^2 + C sum_i c_i loss(y_i, w'phi(x_i) + B b).

    Attributes
    ----------
    C : float or None
        None to choose it on rows held out: see `chosen`, which must be called before all else.
    bias : float
        B; 0 for a model without intercept.
    keep_duals : bool
        Whether dual variables are kept for a warm start.
    """

    C: float | None
    bias: float
    keep_duals: bool = False

    merges_copies = False  # C is given, so a weight of 2 is two rows

    @property
    def _given(self) -> float:
        if self.C is None:
            raise ValueError("C must be chosen first.")
        return self.C

    def advice(self, table: Table, n_units: float) -> Advice:
        """Return the default number of bins under one C for all terms."""
        del n_units
        return advise_fixed(table)

    def need(self, loss: Loss) -> BytesPerRow:
        """Return the memory per row of one problem."""
        del loss
        return NEED_DUAL

    def width(self, loss: Loss, n_threads: int) -> int:
        """Return how many outputs are trained in parallel."""
        return min(n_threads, loss.n_outputs)

    def path_unit(self, response: Response) -> float:
        """Return the unit of the scores: |w|^2 grows with its square, the losses linearly."""
        return response.loss.spread(response.unexplained)

    def margins(self, response: Response, rows: WeightedRows) -> RowMargins:
        """Return the sums of losses of all outputs, for C, over rows in this process."""
        problem_of, C = response.problems(rows, self.bias), self._given
        return RowMargins([problem_of(k).scaled(C) for k in range(response.loss.n_outputs)])

    def with_duals(
        self, models: list[Start] | None, duals: Duals | None, shape: tuple[int, int]
    ) -> list[Start] | None:
        """Return starts at the last models, with their dual variables; None if rows were others.

        `shape` is (n_outputs, n_rows), and `models` are None if theirs differs.
        """
        if duals is None or duals.alpha.shape != shape:
            return None
        models = models or [Start()] * shape[0]
        pairs = zip(models, duals.alpha * (self._given / duals.C), strict=True)
        return [replace(model, alpha=alpha) for model, alpha in pairs]

    def fit(self, data: TrainingSet, stopping: Stopping, starts: list[Start] | None) -> Trained:
        """Train all outputs for C."""
        rows, C = data.rows, self._given
        keeps = self.keep_duals and rows.layout.cone is None  # no help to shape-constrained curves

        # Pose: a task per output, and one array for all of them, so that the coefficients of many
        # classes are not stored twice.
        tasks, width = tasks_of(data, self.bias, stopping, C, _placed(data, starts))
        parameters = np.empty((len(tasks), rows.layout.n_parameters))

        # Train, each by the way that suits it, and certify.
        pairs = zip(tasks, parameters, strict=True)
        jobs = [partial(ways.train, task, into, keeps_alpha=keeps) for task, into in pairs]
        results = side_by_side(jobs, width, stopping.watch)

        # Store: dual variables in the order of X, and models in the units of y.
        alphas = [rows.restore(one.alpha) for one in results if one.alpha is not None]
        duals = Duals(np.stack(alphas), C) if alphas else None
        results = data.restored([replace(found, alpha=None) for found in results])
        return Trained(data, rows.layout, results, duals=duals)

    def follow(
        self,
        data: TrainingSet,
        stopping: Stopping,
        Cs: Sequence[float],
        starts: list[Start] | None = None,
    ) -> list[list[Result]]:
        """Train all outputs for each C in turn."""
        tasks, width = tasks_of(data, self.bias, stopping, Cs[0], _placed(data, starts))
        jobs = [partial(ways.follow, task, Cs) for task in tasks]
        paths = side_by_side(jobs, width, stopping.watch)
        # Some outputs may have been stopped before others.
        return [data.restored(of_C) for of_C in zip(*paths, strict=False)]

    def chosen(self, data: TrainingSet, stopping: Stopping) -> DualTrainer:
        """Return the trainer with a C chosen on rows held out, if there is none."""
        if self.C is not None:
            return self
        unit = self.path_unit(data.response) / data.weighted.mean_weight
        return replace(self, C=choose_cost(data, self.bias, stopping, unit))


def _placed(data: TrainingSet, starts: list[Start] | None) -> list[Start] | None:
    """Return starts in the units of solvers, with their dual variables in training order."""
    if starts is None:
        return None
    place = data.rows.place
    return [
        one if one.alpha is None else replace(one, alpha=place(one.alpha))
        for one in data.centered(starts)
    ]


@dataclass(frozen=True)
class PassTrainer:
    """Trains the problems of DualTrainer on rows held by a GPU or by Dask workers.

    Attributes
    ----------
    margins : callable
        margins(data) returns the sums of losses over all rows of a training set.
    """

    margins: Callable[[TrainingSet], MarginSums]

    def fit(self, data: TrainingSet, stopping: Stopping, starts: list[Start] | None) -> Trained:
        """Train all outputs for C."""
        if data.rows.layout.cone is not None:
            raise ValueError(
                "Spline(monotone=..., curvature=...) takes AdditiveSVC(loss='squared_hinge'), "
                "AdditiveClassifier or AdditiveRegressor; AdditiveClassifier on a cluster."
            )
        start = None if starts is None else Start(*stack(data.centered(starts)))
        with one_blas_thread():
            results = solve_margins(data.rows, self.margins(data), stopping, start)
        results = data.restored([replace(found, alpha=None, slopes=None) for found in results])
        return Trained(data, data.rows.layout, results)
