"""AdditiveRegressor: f(x) = b + sum_j f_j(x_j) for a number as target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, Literal

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions

from splinear._base import AdditiveModel, feasible, one_blas_thread
from splinear._columns import read_rows
from splinear._types import AnyArray, Floats, KnotRules
from splinear.io import open_table
from splinear.losses import EpsilonInsensitive, Loss, SquaredError
from splinear.solvers.memory import Need
from splinear.solvers.problem import Problem, Result, Start, Stopping
from splinear.solvers.rows import TrainingRows
from splinear.solvers.smooth import Separable
from splinear.solvers.watch import Progress

__all__ = ["AdditiveRegressor"]


class AdditiveRegressor(RegressorMixin, AdditiveModel):
    """Additive regression with the curves of AdditiveClassifier.

    Learns f(x) = m + b + sum_j f_j(x_j), every f_j a spline, Fourier or Hermite curve, by
    minimising

        1/2 sum_j |T^{-1} coef_j|^2 / s_j^2 + 1/2 b^2 + C sum_i c_i loss(f(x_i) - y_i)

    over the curves' coefficients coef_j (n_basis,) and b, m being the weighted mean of y. The
    penalty is that of AdditiveClassifier.

    Parameters
    ----------
    basis : {"bspline", "fourier", "hermite"}, default="bspline"
        The family of curves.
    degree : int, default=1
        B-splines: the degree of the pieces, 0 to 3. Fourier: the number of frequencies. Hermite:
        the degree of the polynomial.
    n_bins : int or sequence of int, default=10
        B-splines: the number of pieces between a feature's lowest and highest training value, so
        that there are n_bins + degree coefficients. With quantile knots also the number of pieces
        of the warp, for every basis. A sequence has one number a feature; `coef_` then has room for
        the most.
    penalty_order : int, default=1
        The order d of the penalty: 0, 1, 2, ... for B-splines; 1 or 2 for Fourier and Hermite.
        Order 0 shrinks the coefficients themselves, 1 their slope, 2 their curvature.
    knots : {"auto", "uniform", "quantile"}, sequence or dict, default="auto"
        "uniform" makes pieces of equal width. "quantile" puts knots where the values are: at each
        value if there are no more than n_bins + 1, else at quantiles, half of them of the rows and
        the others of the distinct values. A feature may then have fewer pieces than n_bins.
        "auto" makes pieces of equal width unless a feature has a long tail: if its 5 % and 95 %
        quantiles are closer together than a fifth of its range, its knots are those of "quantile",
        with more between them where there are not enough.
        A sequence has one entry a feature: one of these words, or the knots themselves, two or more
        numbers in ascending order, the first and last of which are the ends of the feature's range.
        A dict from column name or position to such an entry leaves the other features to "auto".
    scale : {"unit", "native", "standard"}, default="unit"
        "unit" treats every feature as if it ran from 0 to 1; "native" lets features of wide range
        vary more, in their own units; "standard" (Hermite only) measures a feature in standard
        deviations from its mean instead of mapping its range to [-1, 1].
    through_zero : bool or "auto", default="auto"
        Whether every curve is zero at zero, f_j(0) = 0, so that zeros of a sparse X cost nothing.
        "auto" does so if X is sparse. B-splines then start at zero, with the first function away
        from it, and take no negative values; with knots="auto" a column of few values has a knot at
        each. Of Fourier and Hermite only odd functions are left.
    extrapolation : {"constant", "linear", "error"}, default="constant"
        What a value outside a feature's range counts as in prediction: "constant", as the nearest
        end; "linear", on a straight line with the curve's slope at that end; "error" refuses it.
        The range is that of the training values, or of the knots where they are given. Training
        always counts it as the nearest end.
    loss : {"squared_error", "epsilon_insensitive"}, default="squared_error"
        The loss of the residual r = f(x) - y: r^2 / 2, or max(0, |r| - epsilon).
    epsilon : float, default=0.1
        Residuals up to this size cost nothing under loss="epsilon_insensitive"; in units of y.
    C : float, default=1.0
        The weight of the losses: larger fits closer. For the squared loss 1 / C is the strength of
        a ridge penalty.
    fit_intercept : bool, default=True
        Whether to learn the intercept m + b; if not, it is 0.
    intercept_scaling : float, default=1.0
        B: b is B times a penalised weight, so a larger B penalises it less.
    smoothness : {"C", "reml"}, default="C"
        How smooth the curves are: as the penalty and C say, alike for all features; or, for
        loss="squared_error", each as the data ask for, by restricted maximum likelihood. C then
        plays no part.
    missing : {"error", "level"}, default="error"
        What NaN (or None) in X means: an error; or, in a feature that has some in fit, a value of
        its own, with a level that is learned.
    categorical : array-like of int, str or bool, default=None
        Features that are categories, by position, by name or as a mask. Columns of a data frame
        that hold text or categories are so anyway. Every level has a column of 0 and 1 in the
        model, named like "colour=red". Its effect is the step of that column's curve from 0 to 1,
        which D_1 shrinks towards zero as D_0 would shrink a coefficient of the level.
    unseen : {"ignore", "error"}, default="ignore"
        Levels at prediction that were not there in fit: they count as none, or are an error.
    solver : {"auto", "dual_cd", "newton"}, default="auto"
        "dual_cd" is dual coordinate descent, for both losses; "newton" is Newton's method, for the
        squared loss. "auto" is newton where it can be.
    tol : float, default=1e-3
        Stop at this relative duality gap: the objective is then within this share of the optimum.
    max_iter : int, default=1000
        The most passes over the data (dual_cd) or steps (newton).
    time_limit, callback, warm_start, n_jobs, random_state, verbose, max_memory
        As in AdditiveClassifier.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_columns, n_basis)
        The coefficients in the basis: f_j(x) = coef_[0, j] @ B(x).
    intercept_ : ndarray of shape (1,)
        m + b.
    degrees_of_freedom_ : ndarray of shape (n_columns,)
        Only with smoothness="reml": how much of its freedom each curve uses.
    n_iter_, dual_gap_, objective_, columns_, embedding_, n_features_in_, feature_names_in_
        As in AdditiveClassifier.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from splinear import AdditiveRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AdditiveRegressor(C=0.1).fit(X, y)
    >>> model.score(X, y) > 0.5
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's own form)
        **AdditiveModel._parameter_constraints,
        "loss": [StrOptions({"squared_error", "epsilon_insensitive"})],
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        basis: Literal["bspline", "fourier", "hermite"] = "bspline",
        degree: int = 1,
        n_bins: int | Sequence[int] = 10,
        penalty_order: int = 1,
        knots: KnotRules = "auto",
        scale: Literal["unit", "native", "standard"] = "unit",
        through_zero: bool | Literal["auto"] = "auto",
        extrapolation: Literal["constant", "linear", "error"] = "constant",
        loss: Literal["squared_error", "epsilon_insensitive"] = "squared_error",
        epsilon: float = 0.1,
        C: float = 1.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        smoothness: Literal["C", "reml"] = "C",
        missing: Literal["error", "level"] = "error",
        categorical: Sequence[int | str | bool] | AnyArray | None = None,
        unseen: Literal["ignore", "error"] = "ignore",
        solver: Literal["auto", "dual_cd", "newton"] = "auto",
        tol: float = 1e-3,
        max_iter: int = 1000,
        time_limit: float | None = None,
        callback: Callable[[Progress], Any] | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        max_memory: int | str | None = None,
    ) -> None:
        self.basis = basis
        self.degree = degree
        self.n_bins = n_bins
        self.penalty_order = penalty_order
        self.knots = knots
        self.scale = scale
        self.through_zero = through_zero
        self.extrapolation = extrapolation
        self.loss = loss
        self.epsilon = epsilon
        self.C = C
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.smoothness = smoothness
        self.missing = missing
        self.categorical = categorical
        self.unseen = unseen
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.callback = callback
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.max_memory = max_memory

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> AdditiveRegressor:
        """Learn the curves.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers; or a table with missing values and categories, of which a float64
            matrix is made (see `missing` and `categorical`). float32 and float64 are read as they
            are, without a copy; other types in pieces (as a float64 copy where tol < 1e-3).
            Or data on disk, read in chunks: a numpy.memmap, the name of a .npy, Parquet or LIBSVM
            file, a list of .npy or Parquet files, a folder of Parquet files, or a
            pyarrow.dataset.Dataset.
        y : array-like of shape (n_samples,)
            The targets. With X in files also the name of a Parquet column, a list of .npy files,
            or None for those of a LIBSVM file.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C per row. A row of weight 2 counts as two rows, one of weight 0 as none.

        Returns
        -------
        self
        """
        self._validate_params()
        X, y, weights, kept = read_rows(self, X, y, sample_weight, reset=True, y_numeric=True)
        before = self._last_fit(X.shape[0], 1)
        self.embedding_ = self._learn_embedding(X, kept, weights)
        rows = self._prepare(X, kept, self._draw_seed(), self._plan_memory(X, 1, weights))
        self._learn(rows, self._read_target(y, kept), weights, kept, before)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> AdditiveRegressor:
        """Learn from a chunk of rows, starting from what was learned from those before.

        The first chunk fixes the ranges of the features (and quantile knots) and the mean m. Every
        chunk minimises

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
        if not hasattr(self, "coef_"):
            return self.fit(X, y, sample_weight)
        self._validate_params()
        X, y, weights, kept = read_rows(self, X, y, sample_weight, reset=False, y_numeric=True)
        offset = float(self.intercept_[0])
        before = [Start(coef=self.coef_[0], intercept=offset, proximal=True)]
        rows = self._prepare(X, kept, self._draw_seed(), self._plan_memory(X, 1, weights))
        self._learn(rows, self._read_target(y, kept), weights, kept, before, offset)
        return self

    def predict(self, X: Any) -> Floats:
        """Compute f(x); values outside a feature's range count as `extrapolation` says.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in fit

        Returns
        -------
        values : ndarray of shape (n_samples,)
        """
        return self._scores(X)[:, 0]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Give R^2, the share of the targets' variance that is predicted.

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

    def _read_target(self, y: AnyArray, kept: AnyArray | None) -> Floats:
        del kept
        return y.astype(np.float64)

    def _learn(
        self,
        rows: TrainingRows,
        y: Floats,
        weights: Floats | None,
        kept: AnyArray | None,
        before: list[Start] | None,
        mean: float | None = None,
    ) -> None:
        self._check_smoothness()
        stopping = self._stopping(rows)
        with one_blas_thread():
            if self.smoothness == "reml":
                problem = self._problem(rows, y, weights, self._mean(y, weights), 1.0)
                rows, _ = self._tune(rows, [Separable(problem, SquaredError())], stopping)
            [results] = self._train(rows, y, weights, kept, stopping, before, mean=mean)
        self._finish(rows, results, stopping.watch)

    def _train(
        self,
        rows: TrainingRows,
        y: Floats,
        weights: Floats | None,
        kept: AnyArray | None,
        stopping: Stopping,
        before: list[Start] | None = None,
        factors: Sequence[float] = (1.0,),
        mean: float | None = None,
    ) -> list[list[Result]]:
        """Train with C times each of the factors; one list, of one result, a factor.

        `weights` (n,) may be 0 for rows that were prepared. The curves are fitted to what the mean
        leaves over; None: that of y.
        """
        del kept
        mean = self._mean(y, weights) if mean is None else mean
        problem = self._problem(rows, y, weights, mean, self._strength)
        start = None
        if before is not None:
            start = replace(before[0], intercept=before[0].intercept - mean)
            start = feasible(start, rows, problem)
        path = self._follow(rows, problem, stopping, start, factors)
        return [[replace(found, intercept=found.intercept + mean)] for found in path]

    def _mean(self, y: Floats, weights: Floats | None) -> float:
        return float(np.average(y, weights=weights)) if self.fit_intercept else 0.0

    def _problem(
        self, rows: TrainingRows, y: Floats, weights: Floats | None, mean: float, C: float
    ) -> Problem:
        return Problem(
            y=np.ones(rows.n_rows, dtype=np.int8),
            targets=rows.place(y - mean),
            loss=self._make_loss(),
            cost_negative=C,
            cost_positive=C,
            weights=None if weights is None else rows.place(weights),
            bias=self._bias,
        )

    def _need(self, n_outputs: int, *, weighted: bool) -> Need:
        # The targets as floats, what the mean leaves of them, and that in the order of training.
        return super()._need(n_outputs, weighted=weighted) + Need(shared=16, each=8)

    def _make_loss(self) -> Loss:
        if self.loss == "squared_error":
            return SquaredError()
        return EpsilonInsensitive(float(self.epsilon))
