"""AdditiveRegressor: least squares with curves, each as smooth as the data ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from sklearn.base import RegressorMixin

from splinear._compat import StrOptions
from splinear._types import AnyArray, Floats, Table
from splinear.solvers.choosing import choose, final_edf
from splinear.solvers.losses import SquaredError
from splinear.solvers.memory import Need
from splinear.solvers.path import newton_path
from splinear.solvers.problem import Problem, Result, Start, Stopping
from splinear.solvers.rows import TrainingRows
from splinear.solvers.smooth import Separable
from splinear.solvers.watch import Progress
from splinear.tables.opening import open_table
from splinear.tables.target import read_numbers
from splinear.terms.base import Advice, Term
from splinear.training.advice import advise_smooth
from splinear.training.estimator import AdditiveEstimator
from splinear.training.memory import Demand
from splinear.training.parameters import positive
from splinear.training.running import one_blas_thread
from splinear.training.table import read_rows

__all__ = ["AdditiveRegressor"]

LARGEST_TARGET = 1e37


class AdditiveRegressor(RegressorMixin, AdditiveEstimator):
    """Additive regression by least squares, every curve as smooth as the data ask for.

    Learns f(x) = b + sum_k f_k(x), each f_k the curve of a feature of numbers or the effects of a
    category's levels, by minimising

        sum_i c_i (y_i - f(x_i))^2 / 2 + 1/2 sum_k coef_k' S_k coef_k / t_k

    over the coefficients and b, which is not penalised. S_k penalises rough curves (see the terms),
    and t_k, the variance of a term relative to that of the residuals, comes from the data by
    restricted maximum likelihood (REML), or is C s_k^2 for a given C.

    Parameters
    ----------
    curve, terms
        As in AdditiveClassifier.
    loss : {"squared_error"}, default="squared_error"
        The loss of the residual r: r^2 / 2. For an insensitive zone see AdditiveSVR.
    C : float or None, default=None
        None: the data choose how smooth each term is. A number weighs the losses, alike for all
        terms: larger fits closer.
    categorical_features, missing, tol, max_iter, time_limit, callback, warm_start, max_memory, \
n_jobs, random_state, verbose
        As in AdditiveClassifier.

    Attributes
    ----------
    terms_, intercept_, feature_importances_, n_iter_, dual_gap_, certified_, objective_, \
n_features_in_, feature_names_in_
        As in AdditiveClassifier.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from splinear import AdditiveRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> AdditiveRegressor(random_state=0).fit(X, y).score(X, y) > 0.5
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's own form)
        **AdditiveEstimator._parameter_constraints,
        "loss": [StrOptions({"squared_error"})],
        "C": [positive(), None],
    }

    def __init__(
        self,
        curve: Term | None = None,
        *,
        terms: dict[Any, Any] | None = None,
        loss: Literal["squared_error"] = "squared_error",
        C: float | None = None,
        categorical_features: Any = "from_dtype",
        missing: Literal["level", "error"] = "level",
        tol: float = 1e-3,
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
        self.loss = loss
        self.C = C
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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> AdditiveRegressor:
        """Learn the terms.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in AdditiveClassifier.fit
        y : array-like of shape (n_samples,)
            The targets. With X in files also the name of a Parquet column, a list of .npy files,
            or None for those of a LIBSVM file.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight c_i of each row. A row of weight 2 counts as two rows, one of 0 as none.

        Returns
        -------
        self
        """
        self._check_params()
        work = self._fresh()
        data = read_rows(work, X, y, sample_weight, y_numeric=True)
        target = work._read_target(data.y, data.kept)
        layout = work._lay_out(data)
        before = self._last_fit(layout, 1, data.table.shape[0])
        # The targets as floats, what their mean leaves over, and that in the order of training.
        need = work._need(1, weighted=data.weights is not None) + Need(shared=16, each=8)
        demand = Demand(1, need, newton=True)
        rows = work._prepare(data, layout, work._plan_memory(data, layout, demand, 1))
        stopping = work._stopping(rows)
        results, settled = work._learn(rows, target, data.weights, stopping, before)
        self._adopt(work)
        self._end(results, stopping.watch, settled=settled)
        return self

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

    def _advice(self, table: Table) -> Advice:
        return advise_smooth(table, chosen=self.C is None)

    def _read_target(self, y: AnyArray, kept: AnyArray | None) -> Floats:
        return read_numbers(y, kept)

    def _learn(
        self,
        rows: TrainingRows,
        y: Floats,
        weights: Floats | None,
        stopping: Stopping,
        before: list[Start] | None,
    ) -> tuple[list[Result], bool]:
        """Train and store; also tell whether smoothness was settled before something stopped it."""
        with one_blas_thread():
            edf, n_turns, settled = None, 0, True
            if self.C is None:
                targets, _, _ = _standardized(y, weights)
                chosen = choose(
                    rows,
                    lambda some: [self._total(some, targets, weights)],
                    stopping,
                    lambda some: some.weight(weights),
                    noise=True,
                )
                rows = rows.with_layout(chosen.layout)
                edf, n_turns = chosen.edf, chosen.n_turns
                settled = stopping.watch.reason is None
                stopping = replace(stopping, watch=stopping.watch.after(n_turns))
            [results] = self._train(rows, y, weights, None, stopping, before)
            if self.C is None and settled:
                totals = [self._total(rows, y, weights)]
                edf = final_edf(chosen, rows, totals, results, stopping.n_threads)
            scaled = rows if self.C is None else rows.with_layout(rows.layout.scaled(self.C))
            self._finish(scaled, results, weights, edf=edf, n_turns=n_turns)
        return results, settled

    def _total(self, rows: TrainingRows, targets: Floats, weights: Floats | None) -> Separable:
        problem = Problem(
            y=np.ones(rows.n_rows, dtype=np.int8),
            targets=rows.place(targets),
            loss=SquaredError(),
            cost_negative=1.0,
            cost_positive=1.0,
            weights=None if weights is None else rows.place(weights),
        )
        return Separable(problem, SquaredError())

    def _train(
        self,
        rows: TrainingRows,
        y: Floats,
        weights: Floats | None,
        kept: AnyArray | None,
        stopping: Stopping,
        before: list[Start] | None = None,
        Cs: Sequence[float] | None = None,
    ) -> list[list[Result]]:
        """Train for each C in turn, None: that of the estimator; one list, of one result, per C."""
        del kept
        strengths = [1.0 if self.C is None else float(self.C)] if Cs is None else list(Cs)
        targets, mean, unit = _standardized(y, weights)
        start = None
        if before is not None and before[0].coef is not None:
            start = Start(before[0].coef / unit, (before[0].intercept - mean) / unit)
        path = newton_path(rows, self._total(rows, targets, weights), strengths, stopping, start)
        return [[_restored(found, mean, unit) for found in results] for results in path]


def _standardized(y: Floats, weights: Floats | None) -> tuple[Floats, float, float]:
    """Return (y - mean) / unit, the mean and the unit; so sums of squares keep their digits.

    The unit is a power of 2, which changes no bits.
    """
    largest = float(np.abs(y).max())
    if largest > LARGEST_TARGET:
        raise ValueError(
            f"Targets of up to {largest:.2g} are too large for single precision, in which some "
            f"predictions are computed; divide y to have at most {LARGEST_TARGET:g}."
        )
    mean = float(np.average(y, weights=weights))
    targets = y - mean
    unit = float(np.exp2(np.frexp(np.abs(targets).max())[1]))
    targets /= unit
    return targets, mean, unit


def _restored(found: Result, mean: float, unit: float) -> Result:
    """Return the result for targets that have not been standardized."""
    return replace(
        found,
        coef=unit * found.coef,
        intercept=unit * found.intercept + mean,
        primal=unit**2 * found.primal,
        dual=unit**2 * found.dual,
    )
