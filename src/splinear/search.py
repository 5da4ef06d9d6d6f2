"""AdditiveClassifierCV and AdditiveRegressorCV: models that choose their own strength.

All folds share rows that were coded once; those held out weigh nothing. In each fold C grows along
a path, every solution being the start for the next.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.utils._param_validation import Interval, StrOptions

from splinear._base import AdditiveModel
from splinear._columns import read_rows
from splinear._folds import make_folds
from splinear._labels import ClassWeight
from splinear._path_search import Candidate, Data, follow_folds
from splinear._reading import Source, as_frame
from splinear._types import AnyArray, Floats, KnotRules
from splinear._validation import draw_seed
from splinear.classifier import AdditiveClassifier
from splinear.regressor import AdditiveRegressor
from splinear.solvers.watch import Progress, Watch

__all__ = ["AdditiveClassifierCV", "AdditiveRegressorCV"]

# Of the default path. In benchmarks/path.py the best values lie between 0.2 and 100.
C_RANGE = (1e-3, 1e2)
SEARCH_SHARE = 0.9  # of time_limit, so that time is left for the final fit
LEFT_OUT = ("C", "warm_start", "max_memory")  # parameters of the plain estimators that are not ours


class _StrengthSearch(AdditiveModel):
    """What both searches share."""

    _plain: ClassVar[type[AdditiveModel]]  # the estimator whose strength is chosen
    smoothness: Literal["C", "reml"] = "C"  # which is what is chosen

    _search_constraints: ClassVar[dict[str, list[Any]]] = {
        "penalty_order": [*AdditiveModel._parameter_constraints["penalty_order"], "array-like"],
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
    }

    @property
    def partial_fit(self) -> Any:
        """Refuse: choosing a strength takes all rows at once."""
        raise AttributeError(f"{type(self).__name__} has no partial_fit.")

    def _fit(self, X: Any, y: Any, sample_weight: Any, **options: Any) -> None:
        self._validate_params()
        began = time.monotonic()
        table, y, weights, kept = read_rows(self, X, y, sample_weight, reset=True, **options)
        if isinstance(table, Source):
            raise ValueError(
                f"{type(self).__name__} needs X in memory, or as a numpy.memmap; got {table}."
            )
        folds = make_folds(self.cv, table, y, kept, classifier=is_classifier(self))
        # Scorers are to see names, and features rather than columns of the model.
        as_given = hasattr(self, "feature_names_in_") or self.columns_.special
        data = Data(as_frame(X) if as_given else table, table, y, weights, kept, folds)
        best = self._search(data, began)
        model = best.model.set_params(C=self.C_)
        if self.time_limit is not None:
            left = began + self.time_limit - time.monotonic()
            model.time_limit = max(left, (1.0 - SEARCH_SHARE) * self.time_limit)
        try:
            model._learn(best.rows, model._read_target(y, kept), weights, kept, None)
        finally:  # an exception may come after a usable model was stored
            given = model.get_params(deep=False)
            self.__dict__ |= {name: v for name, v in vars(model).items() if name not in given}

    def _search(self, data: Data, began: float) -> Candidate:
        """Follow the path for every number of bins and order of the penalty; keep the best."""
        self.Cs_ = self._strengths(data.y)
        scorer = check_scoring(self._plain(), scoring=self.scoring)
        settings = list(product(_listed(self.n_bins), _listed(self.penalty_order)))
        scores = np.full((len(settings), len(data.folds), len(self.Cs_)), np.nan)
        models = self._models(settings)
        best, rows, prepared, n_unconverged = None, None, None, 0
        for k, model in enumerate(models):
            model.embedding_ = model._learn_embedding(data.table, data.kept, data.weights)
            if rows is None or prepared != model.n_bins:
                rows = model._prepare(data.table, data.kept, model._draw_seed())
                prepared = model.n_bins
            rows = replace(rows, embedding=model.embedding_)
            stopping = model._stopping(rows)
            if self.time_limit is not None:
                stopping.watch.deadline = began + SEARCH_SHARE * self.time_limit
            found = follow_folds(model, rows, data, self.Cs_, scorer, stopping)
            scores[k], n_unconverged = found.scores, n_unconverged + found.n_unconverged
            best = found if best is None or found.best_score > best.best_score else best
            if stopping.watch.reason is not None:
                break
        assert best is not None
        self._check_outcome(scores, best, stopping.watch)
        self._store(scores, best)
        self._warn(scores, n_unconverged, stopping.watch.reason)
        return best

    def _models(self, settings: Sequence[tuple[Any, int]]) -> list[AdditiveModel]:
        """Give the plain estimators to choose from; all with the same seed."""
        names = self._plain().get_params(deep=False)
        shared = {name: getattr(self, name) for name in names if hasattr(self, name)}
        # A whole number means to us what it means to the plain estimator.
        if not isinstance(self.random_state, Integral):
            shared["random_state"] = draw_seed(self.random_state)
        models = []
        for n_bins, order in settings:
            model = self._plain(**(shared | {"n_bins": n_bins, "penalty_order": order, "C": 1.0}))
            model._validate_params()
            model.n_features_in_, model.columns_ = self.n_features_in_, self.columns_
            model.through_zero_ = self.through_zero_
            if hasattr(self, "feature_names_in_"):
                model.feature_names_in_ = self.feature_names_in_
            models.append(model)
        return models

    def _strengths(self, y: AnyArray) -> Floats:
        """Give the values of C to compare, in increasing order."""
        if isinstance(self.Cs, Integral):
            return np.geomspace(*C_RANGE, int(self.Cs)) * self._unit_of_cost(y)
        Cs = np.sort(np.asarray(self.Cs, dtype=np.float64))
        if Cs.ndim != 1 or not len(Cs) or not np.all((Cs > 0) & np.isfinite(Cs)):
            raise ValueError(
                f"Cs must be a number of values, or a list of numbers above 0; got {self.Cs!r}."
            )
        return Cs

    def _unit_of_cost(self, y: AnyArray) -> float:
        del y
        return 1.0

    # -- what came out ---------------------------------------------------------------------------

    def _check_outcome(self, scores: Floats, best: Candidate, watch: Watch) -> None:
        if watch.error is not None:
            raise watch.error
        if best.best_score > -np.inf:
            return
        if watch.reason is None:
            raise ValueError(f"scoring={self.scoring!r} gave NaN for every value of C.")
        raise RuntimeError(
            f"{self._cause(watch.reason)} ended the search before any value of C was scored in all "
            f"{scores.shape[1]} folds. Allow more time, or ask for fewer folds or values of C."
        )

    def _store(self, scores: Floats, best: Candidate) -> None:
        lists = {
            name: _listed(values)
            for name, values in (("n_bins", self.n_bins), ("penalty_order", self.penalty_order))
            if not isinstance(values, Integral)
        }
        self.C_ = float(self.Cs_[best.best])
        self.best_params_ = {"C": self.C_} | {name: getattr(best.model, name) for name in lists}
        self.best_score_ = best.best_score
        lengths = [len(values) for values in lists.values()]
        self.scores_ = scores.reshape(*lengths, *scores.shape[1:])
        self.coef_path_, self.intercept_path_ = best.coef_path, best.intercept_path
        if self.verbose:
            print(f"best mean score {self.best_score_:.4f} at {self.best_params_}")

    def _warn(self, scores: Floats, n_unconverged: int, reason: str | None) -> None:
        said = []
        if reason is not None:
            done = int(np.count_nonzero(~np.isnan(scores).any(axis=1)))
            total = scores.shape[0] * scores.shape[2]
            said.append(
                f"{self._cause(reason)} ended the search after {done} of {total} settings; the "
                "best of these was chosen."
            )
        if n_unconverged:
            said.append(
                f"{n_unconverged} fits along the paths stopped after max_iter={self.max_iter} "
                f"before they reached tol={self.tol:g}. Raise max_iter or tol, or lower Cs."
            )
        for message in said:
            warnings.warn(message, ConvergenceWarning, stacklevel=5)

    def _cause(self, reason: str) -> str:
        return f"time_limit={self.time_limit} s" if reason == "time_limit" else "The callback"


def _constraints(plain: type[AdditiveModel]) -> dict[str, list[Any]]:
    """Give the constraints of the plain estimator's parameters that we have too, and our own."""
    kept = {k: v for k, v in plain._parameter_constraints.items() if k not in LEFT_OUT}
    return {**kept, **_StrengthSearch._search_constraints}


def _listed(values: Any) -> list[Any]:
    """Give the values to choose from; of n_bins one may be a list, with a number a feature."""
    several = [values] if isinstance(values, Integral) else values
    return [int(value) if isinstance(value, Integral) else list(value) for value in several]


class AdditiveClassifierCV(_StrengthSearch, AdditiveClassifier):
    """AdditiveClassifier that chooses C, and more if asked, by cross-validation.

    Every fold follows a path from small to large C, each solution being the start for the next.
    The model is then trained on all rows with the C whose mean score over the folds is best (the
    smallest such C). It is to the bit what AdditiveClassifier learns with `best_params_`.

    The ranges of the features (and quantile knots) come from all rows, those held out too: X is
    coded once for all folds. No label of a row held out is used.

    Parameters
    ----------
    Cs : int or array-like of float, default=20
        The values of C to compare; a number means as many from 0.001 to 100, at equal ratios.
    n_bins : int or sequence, default=10
        As in AdditiveClassifier; of several values the best is chosen. A value may itself be a list
        of one number a feature: `[[5, 10, 10]]` is a single value, for three features.
    penalty_order : int or sequence of int, default=1
        As in AdditiveClassifier; of several values the best is chosen.
    cv : int, splitter, iterable of splits or None, default=None
        How to divide the rows: None is 5 folds, which for one class a row hold equal shares of the
        classes. Splits by groups must be given as an iterable.
    scoring : str, callable or None, default=None
        What to compare: the name of a scorer of scikit-learn, or a callable
        scorer(estimator, X, y). None is the accuracy. Rows are weighted by sample_weight if the
        scorer takes weights. Probabilities are compared as they are without `calibration`.
    time_limit : float or None, default=None
        Seconds after which to stop: nine tenths for the search, the rest for the final fit. Of the
        values of C that were scored in all folds by then, the best is chosen, with a
        ConvergenceWarning; it is an error if there is none.
    callback : callable or None, default=None
        As in AdditiveClassifier, with the number of the fold as `progress.fold`. Returning True
        ends the search, as time_limit does.
    n_jobs : int or None, default=None
        Threads: folds are trained side by side. None is 1, -1 all cores. The result does not depend
        on it.
    basis, degree, knots, scale, extrapolation, loss, multi_class, class_weight, fit_intercept,
    intercept_scaling, missing, categorical, unseen, calibration, solver, tol, max_iter,
    random_state, verbose
        As in AdditiveClassifier.

    Attributes
    ----------
    C_ : float
        The C that was chosen.
    best_params_ : dict
        What was chosen: C, and n_bins and penalty_order where there were several.
    best_score_ : float
        Its mean score over the folds.
    Cs_ : ndarray of shape (n_Cs,)
        The values of C that were compared, in increasing order.
    scores_ : ndarray of shape (n_folds, n_Cs)
        The scores of the rows held out; NaN where the search was stopped before. Several values of
        n_bins, of penalty_order or of both give it one or two more axes, which come first.
    coef_path_ : ndarray of shape (n_Cs, n_outputs, n_columns, n_basis)
        How the curves change with C: the means of coef_ over the folds, for the n_bins and
        penalty_order that were chosen. Shorter if the search was stopped.
    intercept_path_ : ndarray of shape (n_Cs, n_outputs)
        The same of intercept_.
    classes_, coef_, intercept_, n_iter_, dual_gap_, objective_, calibration_, columns_,
    embedding_, n_features_in_, feature_names_in_
        Of the final fit, as in AdditiveClassifier.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from splinear import AdditiveClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdditiveClassifierCV(random_state=0).fit(X, y)
    >>> model.scores_.shape
    (5, 20)
    >>> model.best_score_ > 0.97
    True
    """

    _plain = AdditiveClassifier
    _parameter_constraints: dict[str, list[Any]] = _constraints(AdditiveClassifier)

    def __init__(
        self,
        *,
        Cs: int | Sequence[float] | Floats = 20,
        cv: Any = None,
        scoring: str | Callable[..., float] | None = None,
        basis: Literal["bspline", "fourier", "hermite"] = "bspline",
        degree: int = 1,
        n_bins: int | Sequence[int] | Sequence[Sequence[int]] = 10,
        penalty_order: int | Sequence[int] = 1,
        knots: KnotRules = "auto",
        scale: Literal["unit", "native", "standard"] = "unit",
        through_zero: bool | Literal["auto"] = "auto",
        extrapolation: Literal["constant", "linear", "error"] = "constant",
        loss: Literal["hinge", "squared_hinge", "logistic"] = "hinge",
        multi_class: Literal["auto", "ovr", "softmax"] = "auto",
        class_weight: ClassWeight = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        missing: Literal["error", "level"] = "error",
        categorical: Sequence[int | str | bool] | AnyArray | None = None,
        unseen: Literal["ignore", "error"] = "ignore",
        calibration: Literal["sigmoid"] | None = None,
        solver: Literal["auto", "dual_cd", "newton"] = "auto",
        tol: float = 1e-2,
        max_iter: int = 1000,
        time_limit: float | None = None,
        callback: Callable[[Progress], Any] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.basis = basis
        self.degree = degree
        self.n_bins = n_bins  # type: ignore[assignment]  # several, to choose from
        self.penalty_order = penalty_order  # type: ignore[assignment]
        self.knots = knots
        self.scale = scale
        self.through_zero = through_zero
        self.extrapolation = extrapolation
        self.loss = loss
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.missing = missing
        self.categorical = categorical
        self.unseen = unseen
        self.calibration = calibration
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.callback = callback
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> AdditiveClassifierCV:
        """Choose the strength, and learn the curves.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As in AdditiveClassifier.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            The classes; or, for several labels a row, an indicator matrix of 0 and 1.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C per row, and weights the rows' scores. A row of weight 0 does not count.

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight, multi_output=True)
        return self


class AdditiveRegressorCV(_StrengthSearch, AdditiveRegressor):
    """AdditiveRegressor that chooses C, and more if asked, by cross-validation.

    It does for AdditiveRegressor what AdditiveClassifierCV does for AdditiveClassifier.

    Parameters
    ----------
    Cs : int or array-like of float, default=20
        The values of C to compare; a number means as many from 0.001 to 100, at equal ratios. For
        loss="epsilon_insensitive" these are multiplied by the standard deviation of y, so that its
        unit does not matter.
    cv : int, splitter, iterable of splits or None, default=None
        How to divide the rows: None is 5 folds of rows that follow each other.
    scoring : str, callable or None, default=None
        As in AdditiveClassifierCV. None is the coefficient of determination R^2.
    n_bins, penalty_order, time_limit, callback, n_jobs
        As in AdditiveClassifierCV.
    basis, degree, knots, scale, extrapolation, loss, epsilon, fit_intercept, intercept_scaling,
    missing, categorical, unseen, solver, tol, max_iter, random_state, verbose
        As in AdditiveRegressor.

    Attributes
    ----------
    C_, best_params_, best_score_, Cs_, scores_, coef_path_, intercept_path_
        As in AdditiveClassifierCV.
    coef_, intercept_, n_iter_, dual_gap_, objective_, columns_, embedding_,
    n_features_in_, feature_names_in_
        Of the final fit, as in AdditiveRegressor.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from splinear import AdditiveRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AdditiveRegressorCV(Cs=[0.01, 0.1, 1.0]).fit(X, y)
    >>> model.best_params_
    {'C': 0.1}
    """

    _plain = AdditiveRegressor
    _parameter_constraints: dict[str, list[Any]] = _constraints(AdditiveRegressor)

    def __init__(
        self,
        *,
        Cs: int | Sequence[float] | Floats = 20,
        cv: Any = None,
        scoring: str | Callable[..., float] | None = None,
        basis: Literal["bspline", "fourier", "hermite"] = "bspline",
        degree: int = 1,
        n_bins: int | Sequence[int] | Sequence[Sequence[int]] = 10,
        penalty_order: int | Sequence[int] = 1,
        knots: KnotRules = "auto",
        scale: Literal["unit", "native", "standard"] = "unit",
        through_zero: bool | Literal["auto"] = "auto",
        extrapolation: Literal["constant", "linear", "error"] = "constant",
        loss: Literal["squared_error", "epsilon_insensitive"] = "squared_error",
        epsilon: float = 0.1,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        missing: Literal["error", "level"] = "error",
        categorical: Sequence[int | str | bool] | AnyArray | None = None,
        unseen: Literal["ignore", "error"] = "ignore",
        solver: Literal["auto", "dual_cd", "newton"] = "auto",
        tol: float = 1e-3,
        max_iter: int = 1000,
        time_limit: float | None = None,
        callback: Callable[[Progress], Any] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.basis = basis
        self.degree = degree
        self.n_bins = n_bins  # type: ignore[assignment]  # several, to choose from
        self.penalty_order = penalty_order  # type: ignore[assignment]
        self.knots = knots
        self.scale = scale
        self.through_zero = through_zero
        self.extrapolation = extrapolation
        self.loss = loss
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.missing = missing
        self.categorical = categorical
        self.unseen = unseen
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.callback = callback
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> AdditiveRegressorCV:
        """Choose the strength, and learn the curves.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As in AdditiveRegressor.
        y : array-like of shape (n_samples,)
            The targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C per row, and weights the rows' scores. A row of weight 0 does not count.

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight, y_numeric=True)
        return self

    def _unit_of_cost(self, y: AnyArray) -> float:
        return 1.0 if self.loss == "squared_error" else float(np.std(y)) or 1.0
