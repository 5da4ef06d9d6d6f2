"""PathSearchCV: cross-validation of C along paths, and of other parameters on request."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import ParameterGrid
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from splinear._compat import Interval, StrOptions
from splinear._types import AnyArray, Constraints, Floats, Input
from splinear._warning import warn
from splinear.objective.watch import Watch
from splinear.training.candidates import Candidate, Comparison, check_searched
from splinear.training.estimator import AdditiveEstimator
from splinear.training.folds import Fold, FoldPath, Setting, add_always, make_folds
from splinear.training.live import SearchLine
from splinear.training.parameters import positive
from splinear.training.running import one_blas_thread, side_by_side, thread_count
from splinear.training.table import Given

__all__ = ["PathSearchCV"]

Method = TypeVar("Method", bound=Callable[..., Any])

C_RANGE = (1e-3, 1e2)  # of the default path; the best C in benchmarks/path.py is from 0.2 to 100
SEARCH_SHARE = 0.9  # of time_limit, so that time is left for the final fit


def _if_offered(name: str) -> Callable[[Method], Method]:
    """Return a decorator that makes a method available if the estimator has it."""

    def check(self: PathSearchCV) -> bool:
        getattr(getattr(self, "best_estimator_", self.estimator), name)
        return True

    decorator: Callable[[Method], Method] = available_if(check)
    return decorator


class PathSearchCV(MetaEstimatorMixin, BaseEstimator):
    """Choose C by cross-validation, along a path: a fast GridSearchCV for additive models.

    The rows are coded once for all folds, and in each fold C grows along a path on which every
    solution is the start for the next. Ranges, knots and levels come from all rows, including
    held-out ones; labels of held-out rows are never used for training.

    Parameters
    ----------
    estimator : AdditiveClassifier, AdditiveSVC, AdditiveRegressor or AdditiveSVR
    Cs : int or array-like of float, default=20
        The values of C to compare. An int means that many values from 0.001 to 100, at equal ratios
        (for AdditiveSVR, times the standard deviation of y), divided by the rows' mean weight.
    param_grid : dict, list of dict or None, default=None
        Further parameters to compare, as in GridSearchCV: {"curve": [Spline(5), Spline(20)]}.
    cv : int, splitter or iterable of splits, default=5
        How to split the rows, as in GridSearchCV. For an int, and one class per row, the folds are
        stratified. Splitters of groups, such as GroupKFold, need `groups` in fit.
    scoring : str, callable or None, default=None
        The name of a scikit-learn scorer, or a callable scorer(estimator, X, y). None means the
        estimator's own `score`: the accuracy, R^2, or D^2. Rows are weighted by sample_weight if
        the scorer accepts weights.
    refit : bool, default=True
        Whether to train the best setting on all rows.
    time_limit : float or None, default=None
        Seconds after which to stop: nine tenths for the search, the rest for the final fit. The
        best of the settings that were scored in all folds by then (if there is none, in the folds
        that got farthest) is chosen, with a ConvergenceWarning. Ctrl-C does the same, and then
        raises KeyboardInterrupt.
    n_jobs : int or None, default=None
        The number of threads: folds are trained in parallel. None means 1, -1 all cores. The result
        does not depend on it.
    verbose : int, default=0
        1 shows one line that is updated during the search, on a terminal or in a notebook, and then
        what was chosen. 2 prints a line per setting; `verbose=2` of the estimator prints a line per
        pass.

    Attributes
    ----------
    best_estimator_ : estimator
        The best setting trained on all rows, if refit.
    best_params_ : dict
    best_score_ : float
        Its mean score over the folds.
    best_index_ : int
        Its index in `cv_results_`.
    cv_results_ : dict of ndarray
        As in GridSearchCV: "params", "param_C", ..., "split0_test_score", ..., "mean_test_score",
        "std_test_score", "rank_test_score", "mean_fit_time". Scores not reached are NaN.
    Cs_ : ndarray of shape (n_Cs,)
        The values of C that were compared, in increasing order.
    n_splits_ : int
    refit_time_ : float
    classes_, n_features_in_, feature_names_in_
        Of `best_estimator_`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from splinear import AdditiveSVC, PathSearchCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = PathSearchCV(AdditiveSVC(random_state=0), Cs=5).fit(X, y)
    >>> search.cv_results_["mean_test_score"].shape
    (5,)
    >>> search.best_score_ > 0.95
    True
    """

    _parameter_constraints: Constraints = {  # noqa: RUF012 (scikit-learn's own form)
        "estimator": [AdditiveEstimator],
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "param_grid": [dict, list, None],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "refit": ["boolean"],
        "time_limit": [positive(Real), None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: AdditiveEstimator,
        Cs: int | Sequence[float] | Floats = 20,
        param_grid: Input = None,
        cv: Input = 5,
        scoring: str | Callable[..., float] | None = None,
        refit: bool = True,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.Cs = Cs
        self.param_grid = param_grid
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: Input,
        y: Input = None,
        sample_weight: Input = None,
        groups: Input = None,
        *,
        counts: Input = None,
        offset: Input = None,
    ) -> PathSearchCV:
        """Compare all settings, and train the best on all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
        sample_weight : array-like of shape (n_samples,), default=None
        groups : array-like of shape (n_samples,), default=None
            Which rows belong together, for splitters that keep them together.
        counts : array-like of shape (n_samples,), default=None
            How many identical observations each row stands for: the same as repeating it, with all
            copies in one fold.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            A known part of the scores, as in fit of the estimator. Held-out rows are scored with
            theirs, whatever the scorer.

        Returns
        -------
        self
        """
        check_searched(self.estimator, self.scoring)
        self._validate_params()
        began = time.monotonic()
        deadline = None if self.time_limit is None else began + SEARCH_SHARE * self.time_limit
        watch = Watch(deadline=deadline)
        with SearchLine(type(self).__name__, self.verbose, self.estimator.verbose) as line:
            given = Given(X, y, sample_weight, counts, offset=offset)
            compared = self._compare(given, groups, watch, line)
            learned = self._choose(compared, watch)
            line.chosen(learned["best_params_"], learned["best_score_"], watch)
            error = watch.error
            if self.refit:
                start = time.monotonic()
                best, raised = self._train_best(learned["best_params_"], given, began)
                learned |= {"best_estimator_": best, "refit_time_": time.monotonic() - start}
                error = error or raised
        for name in ("best_estimator_", "refit_time_"):
            self.__dict__.pop(name, None)
        self.__dict__.update(learned)
        if error is not None:
            raise error
        self._warn(compared, watch)
        return self

    # -- the search ------------------------------------------------------------------------------

    def _compare(self, given: Given, groups: Input, watch: Watch, line: SearchLine) -> Comparison:
        """Follow the path of C for every setting, until the watch stops it."""
        grid, scorer = self._grid(), check_scoring(self.estimator, scoring=self.scoring)
        found: list[Candidate] = []
        for number, params in enumerate(grid, start=1):
            # The path sets C; with None, the estimator would choose other knots.
            model = clone(self.estimator).set_params(**params, C=1.0)
            setting = Setting.prepare(model, given)
            if (loss := setting.training_set.loss).is_estimated:
                raise ValueError(
                    f"PathSearchCV compares models under one loss, and {type(loss).__name__} "
                    f"estimates {', '.join(loss.parameters())} with each model; give it."
                )
            if loss.n_problems > 1 and loss.kind == "number":
                raise ValueError(
                    "PathSearchCV compares models of one quantile; give the loss a single level."
                )
            if not found:
                read, is_for_classes = setting.training, is_classifier(model)
                folds = make_folds(self.cv, read.y, read.kept, groups, classifier=is_for_classes)
                Cs = self._path(setting.path_unit)
            watch.tell = line.telling(model.callback, (number, len(grid)), len(folds), Cs)
            paths = self._follow(setting, folds, Cs, scorer, watch)
            found.append(Candidate(params, paths, len(Cs)))
            line.say(found[-1].summary)
            if watch.poll():
                break
        stopped = [Candidate(params, [None] * len(folds), len(Cs)) for params in grid[len(found) :]]
        return Comparison([*found, *stopped], Cs, len(folds))

    def _grid(self) -> list[dict[str, Any]]:
        """Return the parameters of every setting."""
        grid = [{}] if self.param_grid is None else list(ParameterGrid(self.param_grid))
        if any("C" in params for params in grid):
            raise ValueError("param_grid must not name 'C'; the values of C are Cs.")
        return grid

    def _path(self, unit: float) -> Floats:
        """Return the values of C to compare, ascending; the default ones are times `unit`."""
        if isinstance(self.Cs, Integral):
            return np.geomspace(*C_RANGE, int(self.Cs)) * unit
        Cs = np.sort(np.asarray(self.Cs, dtype=np.float64))
        if Cs.ndim != 1 or not len(Cs) or not np.all((Cs > 0) & np.isfinite(Cs)):
            raise ValueError(
                f"Cs must be a number of values, or a list of numbers above 0; got {self.Cs!r}."
            )
        return Cs

    def _follow(
        self, setting: Setting, folds: list[Fold], Cs: Floats, scorer: Any, watch: Watch
    ) -> list[FoldPath | None]:
        """Follow the path of one setting in every fold, in parallel."""
        rows = setting.training_set.rows
        watch.n_rows = rows.n_rows
        n_threads = thread_count(self.n_jobs)
        width = min(n_threads, len(folds))
        own = setting.model._stopping(rows, watch.tell)
        stopping = replace(own, watch=watch, n_threads=n_threads)
        paths: list[FoldPath | None] = [None] * len(folds)

        def follow(number: int) -> None:
            inside = stopping.inside(width, fold=number)
            paths[number] = setting.follow(folds[number], Cs, scorer, inside)

        try:
            with one_blas_thread():
                side_by_side([partial(follow, k) for k in range(len(folds))], width, watch)
        except KeyboardInterrupt as error:
            watch.fail(error)
        return paths

    # -- results ---------------------------------------------------------------------------------

    def _choose(self, compared: Comparison, watch: Watch) -> dict[str, Any]:
        """Return the fitted attributes that follow from the comparison."""
        results = compared.results()
        index = self._best_index(results["mean_test_score"], compared.n_splits, watch)
        return {
            "cv_results_": results,
            "Cs_": compared.Cs,
            "n_splits_": compared.n_splits,
            "best_index_": index,
            "best_params_": results["params"][index],
            "best_score_": float(results["mean_test_score"][index]),
        }

    def _best_index(self, mean: Floats, n_splits: int, watch: Watch) -> int:
        """Return the index of the best setting; raise if no setting was scored."""
        if not np.isnan(mean).all():
            return int(np.nanargmax(mean))
        if watch.error is not None:
            raise watch.error
        if watch.reason is None:
            raise ValueError(f"scoring={self.scoring!r} gave NaN for every value of C.")
        raise RuntimeError(
            f"{_cause(watch, self.time_limit)} ended the search before any value of C was scored "
            f"in any of {n_splits} folds. Allow more time, or ask for fewer folds or values of C."
        )

    def _train_best(
        self, params: dict[str, Any], given: Given, began: float
    ) -> tuple[AdditiveEstimator, BaseException | None]:
        """Train the best setting on all rows; also return an error raised after it was stored."""
        model = clone(self.estimator).set_params(**params)
        limit, raised = model.time_limit, None
        if self.time_limit is not None:
            left = max(
                began + self.time_limit - time.monotonic(),
                (1.0 - SEARCH_SHARE) * self.time_limit,
            )
            model.time_limit = left if limit is None else min(left, limit)
        try:
            weights = {"sample_weight": given.sample_weight, "counts": given.counts}
            model.fit(given.X, given.y, **weights, offset=given.offset)
        except BaseException as error:  # also Ctrl-C
            if not hasattr(model, "terms_"):
                raise
            raised = error
        model.time_limit = limit
        return model, raised

    def _warn(self, compared: Comparison, watch: Watch) -> None:
        """Warn if the search was stopped, or if fits did not converge."""
        said, n_unconverged = [], compared.n_unconverged
        mean = self.cv_results_["mean_test_score"]
        if watch.reason is not None:
            done = int(np.count_nonzero(~np.isnan(mean)))
            said.append(
                f"{_cause(watch, self.time_limit)} ended the search after {done} of {len(mean)} "
                "settings; the best of these was chosen."
            )
        if n_unconverged:
            said.append(
                f"{n_unconverged} fits along the paths stopped before they reached "
                f"tol={self.estimator.tol:g}: after max_iter={self.estimator.max_iter} passes, or "
                "where no step led further. Raise max_iter or tol, or lower Cs."
            )
        for message in said:
            warn(message, ConvergenceWarning)

    # -- the best estimator ----------------------------------------------------------------------

    def _best(self) -> Any:
        check_is_fitted(self, "best_params_")
        if not self.refit:
            raise AttributeError(f"{type(self).__name__}(refit=False) has no trained model.")
        return self.best_estimator_

    @_if_offered("predict")
    def predict(self, X: Input, *, offset: Input = None) -> AnyArray:
        """Call predict of the best estimator."""
        out: AnyArray = self._best().predict(X, offset=offset)
        return out

    @_if_offered("predict_proba")
    def predict_proba(self, X: Input, *, offset: Input = None) -> Floats:
        """Call predict_proba of the best estimator."""
        out: Floats = self._best().predict_proba(X, offset=offset)
        return out

    @_if_offered("predict_log_proba")
    def predict_log_proba(self, X: Input, *, offset: Input = None) -> Floats:
        """Call predict_log_proba of the best estimator."""
        out: Floats = self._best().predict_log_proba(X, offset=offset)
        return out

    @_if_offered("decision_function")
    def decision_function(self, X: Input, *, offset: Input = None) -> Floats:
        """Call decision_function of the best estimator."""
        out: Floats = self._best().decision_function(X, offset=offset)
        return out

    def score(self, X: Input, y: Input = None, *, offset: Input = None) -> float:
        """Score the best estimator by `scoring`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None

        Returns
        -------
        score : float
        """
        best = self._best()
        if offset is not None:
            add_always(best := copy(best), offset)
        return float(check_scoring(best, scoring=self.scoring)(best, X, y))

    @property
    def classes_(self) -> AnyArray:
        """Classes of the best estimator."""
        classes: AnyArray = self._best().classes_
        return classes

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        try:
            return int(self._best().n_features_in_)
        except (AttributeError, ValueError) as error:
            raise AttributeError(f"{type(self).__name__} is not fitted.") from error

    @property
    def feature_names_in_(self) -> AnyArray:
        """Names of the features, if X had any."""
        names: AnyArray = self._best().feature_names_in_
        return names

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.input_tags, tags.target_tags = inner.input_tags, inner.target_tags
        return tags


def _cause(watch: Watch, time_limit: float | None) -> str:
    return f"time_limit={time_limit} s" if watch.reason == "time_limit" else "The callback"
