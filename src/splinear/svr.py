"""AdditiveSVR: regression with an insensitive zone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, Literal

import numpy as np
from sklearn.base import RegressorMixin

from splinear._compat import Interval
from splinear._types import AnyArray, Floats
from splinear.model.layout import Layout
from splinear.solvers.losses import EpsilonInsensitive
from splinear.solvers.memory import Need
from splinear.solvers.problem import Problem, Result, Start, Stopping
from splinear.solvers.rows import TrainingRows
from splinear.solvers.watch import Progress
from splinear.tables.opening import open_table
from splinear.tables.target import read_numbers
from splinear.terms.base import Term
from splinear.training.dual import DualEstimator, follow_problems
from splinear.training.memory import Demand
from splinear.training.table import TrainingTable, read_rows

__all__ = ["AdditiveSVR"]


class AdditiveSVR(RegressorMixin, DualEstimator):
    """Additive support vector regression, by dual coordinate descent.

    Learns f(x) = m + b + sum_k f_k(x), m the mean of y, by minimising

        1/2 |w|^2 + 1/2 b^2 + C sum_i c_i max(0, |w'phi(x_i) + B b - (y_i - m)| - epsilon),

    with phi the embedding of the paper, as in AdditiveSVC.

    Parameters
    ----------
    curve, terms
        As in AdditiveSVC.
    epsilon : float, default=0.1
        Residuals up to this size cost nothing; in units of y.
    C : float, default=1.0
        The weight of the losses: larger fits closer.
    fit_intercept : bool, default=True
        Whether to learn the intercept m + b; if not, it is 0.
    intercept_scaling : float, default=1.0
        B: b is B times a penalised weight, so a larger B penalises it less. At most 1e8.
    categorical_features, missing, tol, max_iter, time_limit, callback, warm_start, max_memory, \
n_jobs, random_state, verbose
        As in AdditiveSVC.

    Attributes
    ----------
    terms_, intercept_, feature_importances_, n_iter_, dual_gap_, certified_, objective_, \
n_features_in_, feature_names_in_
        As in AdditiveSVC.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from splinear import AdditiveSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> AdditiveSVR(epsilon=10.0, C=10.0, random_state=0).fit(X, y).score(X, y) > 0.5
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's own form)
        **DualEstimator._parameter_constraints,
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        curve: Term | None = None,
        *,
        terms: dict[Any, Any] | None = None,
        epsilon: float = 0.1,
        C: float = 1.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        categorical_features: Any = "from_dtype",
        missing: Literal["level", "error"] = "level",
        tol: float = 1e-2,
        max_iter: int = 1000,
        time_limit: float | None = None,
        callback: Callable[[Progress], Any] | None = None,
        warm_start: bool = False,
        max_memory: int | str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.curve = curve
        self.terms = terms
        self.epsilon = epsilon
        self.C = C
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.categorical_features = categorical_features
        self.missing = missing
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.callback = callback
        self.warm_start = warm_start
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> AdditiveSVR:
        """Learn the terms.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in AdditiveClassifier.fit
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C per row. A row of weight 2 counts as two rows, one of weight 0 as none.

        Returns
        -------
        self
        """
        self._check_params()
        work = self._fresh()
        data = read_rows(work, X, y, sample_weight, y_numeric=True)
        layout = work._lay_out(data)
        before = self._last_fit(layout, 1, data.table.shape[0])
        return self._fit(work, data, layout, before, None)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> AdditiveSVR:
        """Learn from a chunk of rows, starting from what was learned from those before.

        The first chunk fixes ranges, knots, levels and the mean m. Every chunk minimises

            1/2 |w - w_before|^2 + C sum_{i in chunk} c_i loss(f(x_i) - y_i),

        w being the weights of the embedding: as close to the last model as the chunk allows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        if not hasattr(self, "terms_"):
            return self.fit(X, y, sample_weight)
        self._check_params()
        work = self._again()
        data = read_rows(work, X, y, sample_weight, columns=self._columns, y_numeric=True)
        work._check_finite(data)
        mean = float(self.intercept_[0])
        return self._fit(work, data, self._model.layout, self._before(), mean)

    def predict(self, X: Any) -> Floats:
        """Compute f(x).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in fit

        Returns
        -------
        values : ndarray of shape (n_samples,)
        """
        return self._scores(X)[:, 0]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return R^2, the share of the targets' variance that is predicted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in fit
        y : array-like of shape (n_samples,), or None or text, as in fit
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        r2 : float
        """
        X, y = open_table(X, y)
        return float(super().score(X, y, sample_weight))

    # -- training --------------------------------------------------------------------------------

    def _unit_of_cost(self, y: AnyArray) -> float:
        return float(np.std(y)) or 1.0

    def _read_target(self, y: AnyArray, kept: AnyArray | None) -> Floats:
        return read_numbers(y, kept)

    def _fit(
        self,
        work: AdditiveSVR,
        data: TrainingTable,
        layout: Layout,
        before: list[Start] | None,
        mean: float | None,
    ) -> AdditiveSVR:
        """Train `work` on what the mean leaves over, and take over what it has learned."""
        y = work._read_target(data.y, data.kept)
        # The targets as floats, what the mean leaves of them, and that in the order of training.
        need = work._need(1, weighted=data.weights is not None) + Need(shared=16, each=8)
        demand = Demand(1, need, newton=False)
        rows = work._prepare(data, layout, work._plan_memory(data, layout, demand, 1))
        stopping = work._stopping(rows)
        [results] = work._train(rows, y, data.weights, data.kept, stopping, before, mean=mean)
        work._finish(rows, results, data.weights)
        work._keep_alpha(rows, results)
        self._adopt(work)
        self._end(results, stopping.watch)
        return self

    def _train(
        self,
        rows: TrainingRows,
        y: Floats,
        weights: Floats | None,
        kept: AnyArray | None,
        stopping: Stopping,
        before: list[Start] | None = None,
        Cs: Sequence[float] | None = None,
        mean: float | None = None,
    ) -> list[list[Result]]:
        """Train for each C in turn; one list, of one result, per C.

        The curves are fitted to what `mean` leaves over; None: the weighted mean of y.
        """
        del kept
        if mean is None:
            mean = float(np.average(y, weights=weights)) if self.fit_intercept else 0.0
        if before is not None:
            before = [replace(start, intercept=start.intercept - mean) for start in before]
        problem = Problem(
            y=np.ones(rows.n_rows, dtype=np.int8),
            targets=rows.place(y - mean),
            loss=EpsilonInsensitive(float(self.epsilon)),
            cost_negative=1.0,
            cost_positive=1.0,
            weights=None if weights is None else rows.place(weights),
            bias=self._bias,
        )
        path = follow_problems(
            rows,
            lambda _: problem,
            [None],
            stopping,
            before,
            [self.C] if Cs is None else Cs,
            keep_alpha=self.warm_start,
        )
        return [
            [replace(found, intercept=found.intercept + mean) for found in results]
            for results in path
        ]
