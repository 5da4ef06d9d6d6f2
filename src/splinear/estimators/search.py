"""PathSearchCV: cross-validation of C along paths, and of other parameters on request.

In each fold the rows are prepared once, C follows its path, and held-out rows are scored.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, TypeVar

import narwhals as nw
import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from splinear._compat import Interval, StrOptions, safe_indexing
from splinear._types import AnyArray, Constraints, Floats, Input
from splinear._warning import warn
from splinear.estimators.base import AdditiveEstimator, positive
from splinear.estimators.live import SearchLine
from splinear.estimators.reading import Given, TrainingTable, term_plan
from splinear.estimators.trainer import Trainer, with_shared
from splinear.model.additive import Model
from splinear.objective.problem import Result, Stopping, stack
from splinear.objective.running import one_blas_thread, side_by_side, thread_count
from splinear.objective.training_set import TrainingSet
from splinear.objective.watch import Watch
from splinear.solvers.proofs.certificate import fine_enough
from splinear.tables.opening import open_table

__all__ = [
    "Candidate",
    "Comparison",
    "Fold",
    "FoldPath",
    "PathSearchCV",
    "Setting",
    "add_always",
    "check_searched",
    "make_folds",
]

Scorer = Callable[..., float]
Method = TypeVar("Method", bound=Callable[..., Any])

C_RANGE = (1e-3, 1e2)  # of the default path; the best C in benchmarks/path.py is from 0.2 to 100
SEARCH_SHARE = 0.9  # of time_limit, so that time is left for the final fit


@dataclass(frozen=True, eq=False)
class Candidate:
    """The scores of one parameter setting along the path of C, in each fold.

    A path of None is a fold that was not reached before the search was stopped.
    """

    params: dict[str, Any]
    paths: list[FoldPath | None]
    n_points: int

    @property
    def scores(self) -> Floats:
        """Scores on the held-out rows, (n_folds, n_Cs); NaN where the search was stopped."""
        nothing = np.full(self.n_points, np.nan)
        return np.stack([nothing if path is None else path.scores for path in self.paths])

    @property
    def seconds(self) -> float:
        """Mean training time per fold."""
        return float(np.mean([np.nan if path is None else path.seconds for path in self.paths]))

    @property
    def summary(self) -> str:
        """One line of text for verbose output."""
        mean = self.scores.mean(axis=0)
        shown = "stopped" if np.isnan(mean).all() else f"best mean score {np.nanmax(mean):.4f}"
        return f"{self.params or 'path of C'}: {shown}"


@dataclass(frozen=True, eq=False)
class Comparison:
    """All candidates of a search, with scores for all values of C in all folds."""

    candidates: list[Candidate]
    Cs: Floats
    n_splits: int

    @property
    def n_unconverged(self) -> int:
        """Number of fits that did not converge."""
        return sum(path.n_unconverged for c in self.candidates for path in c.paths if path)

    def results(self) -> dict[str, Any]:
        """Return cv_results_: one entry per candidate and C."""
        params = [{**c.params, "C": float(C)} for c in self.candidates for C in self.Cs]
        scores = np.concatenate([c.scores for c in self.candidates], axis=1)  # (n_folds, n_params)
        compared = _compared(scores)
        mean = compared.mean(axis=0)
        results: dict[str, Any] = {"params": params}
        for name in sorted({name for setting in params for name in setting}):
            results[f"param_{name}"] = np.ma.MaskedArray(
                _objects([setting.get(name) for setting in params]),
                mask=[name not in setting for setting in params],
            )
        for k, of_fold in enumerate(scores):
            results[f"split{k}_test_score"] = of_fold
        results["mean_test_score"], results["std_test_score"] = mean, compared.std(axis=0)
        filled = np.where(np.isnan(mean), -np.inf, mean)
        results["rank_test_score"] = rankdata(-filled, method="min").astype(np.int32)
        seconds = [c.seconds / len(self.Cs) for c in self.candidates]
        results["mean_fit_time"] = np.repeat(seconds, len(self.Cs))
        return results


def _compared(scores: Floats) -> Floats:
    """Return the rows of `scores` (n_folds, n_params) that settings are compared by.

    These are all folds; or, if a stopped search completed no setting in all folds, the folds that
    got farthest.
    """
    reached = ~np.isnan(scores)
    if reached.all(axis=0).any():
        return scores
    n_reached = reached.sum(axis=1)
    return np.asarray(scores[n_reached == n_reached.max()])


def _objects(values: list[Any]) -> AnyArray:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def check_searched(estimator: object, scoring: object) -> None:
    """Raise if the estimator or the scoring is not supported, although GridSearchCV accepts it."""
    if not isinstance(estimator, AdditiveEstimator):
        raise ValueError(
            "The 'estimator' parameter of PathSearchCV must be an AdditiveClassifier, AdditiveSVC, "
            f"AdditiveRegressor or AdditiveSVR; got a {type(estimator).__name__}. With other steps "
            "before it, put PathSearchCV at the end of the pipeline."
        )
    if isinstance(scoring, list | tuple | set | dict):
        raise ValueError(
            "The 'scoring' parameter of PathSearchCV must be one scorer, a name or a callable; got "
            f"{scoring!r}. For several, use cross_validate with the best estimator."
        )


@dataclass(frozen=True, eq=False)
class Fold:
    """One split of the rows; rows of weight 0 are in neither part."""

    kept: AnyArray  # (n,) whether each row is trained on
    held_out: AnyArray  # indices of the held-out rows


def make_folds(
    cv: Input, y: AnyArray, kept: AnyArray | None, groups: Input = None, *, classifier: bool
) -> list[Fold]:
    """Return the folds given by `cv`: a number of folds, a splitter, or a list of splits.

    `kept` (n,) marks the rows with a positive weight (None if all have one); `groups` (n,) holds
    the groups that a splitter keeps together.
    """
    counts = np.ones(len(y), dtype=bool) if kept is None else kept
    splitter, folds = check_cv(cv, y, classifier=classifier), []
    for train, test in splitter.split(np.empty((len(y), 0)), y, groups):
        chosen = np.zeros(len(y), dtype=bool)
        chosen[train] = True
        held_out = np.arange(len(y))[test]
        folds.append(Fold(chosen & counts, held_out[counts[held_out]]))
    for number, fold in enumerate(folds):
        if not fold.kept.any() or not len(fold.held_out):
            part = "training" if len(fold.held_out) else "held-out"
            raise ValueError(f"cv={cv!r} leaves fold {number} without {part} rows that count.")
    if not folds:
        raise ValueError(f"cv={cv!r} gave no folds; at least one is needed.")
    return folds


@dataclass(frozen=True, eq=False)
class FoldPath:
    """The scores along a path of C in one fold."""

    scores: Floats  # (n_Cs,) on the held-out rows; NaN where the search was stopped
    n_unconverged: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Setting:
    """An estimator with one parameter setting, and the rows prepared once for all folds.

    `given` is X as the user passed it, for scorers; `training` is the same as read for training.
    """

    model: AdditiveEstimator
    trainer: Trainer
    training_set: TrainingSet
    given: Input
    training: TrainingTable

    @classmethod
    def prepare(cls, model: AdditiveEstimator, given: Given) -> Setting:
        """Check and read the arguments of fit, as fit does."""
        model._check_params()
        recipe = model._recipe()
        trainer = recipe.trainer
        table = open_table(given.X, type(model).__name__)
        if table.given is None:
            raise ValueError(f"PathSearchCV needs X in memory, or as a numpy.memmap; got {table}.")
        data, response = model._read(replace(given, X=table), recipe)
        columns = model._column_data(data)
        advice = model._advice(trainer, data, response.loss)
        layout = term_plan(model).place(columns, advice)
        if model._with_pairs(trainer, columns, layout, advice, data.n_units) is not trainer:
            raise ValueError(
                "PathSearchCV compares models of curves, and the estimator asks for surfaces over "
                "pairs of features. Set interactions=0 and leave pairs out of `terms`, or use "
                "GridSearchCV."
            )
        if getattr(model, "device", "cpu") != "cpu":
            model.set_params(device="cpu")  # folds and paths are trained on the CPU only
        training_set = model._training_set(data, response, layout)
        training_set = training_set.with_rows(fine_enough(training_set.rows, model.tol))
        return cls(model, trainer, training_set, table.given, data)

    @property
    def path_unit(self) -> float:
        """The unit of the values of C on a path."""
        data = self.training_set
        return self.trainer.path_unit(data.response) / data.weighted.mean_weight

    def follow(self, fold: Fold, Cs: Floats, scorer: Scorer, stopping: Stopping) -> FoldPath:
        """Train for each C without the held-out rows and score them, until the watch stops it."""
        began = time.monotonic()
        if stopping.watch.poll():
            return FoldPath(np.full(len(Cs), np.nan), 0, 0.0)
        path = self.trainer.follow(self.training_set.within(fold.kept), stopping, list(Cs))
        seconds = time.monotonic() - began
        if stopping.watch.reason is not None and path:
            finished = all(found.converged for found in path[-1])
            path = path if finished else path[:-1]
        scores = np.full(len(Cs), np.nan)
        scores[: len(path)] = self._scores(fold, path, scorer, stopping)
        n_unconverged = sum(not found.converged for results in path for found in results)
        return FoldPath(scores, n_unconverged, seconds)

    def _scores(
        self, fold: Fold, path: list[list[Result]], scorer: Scorer, stopping: Stopping
    ) -> Floats:
        """Score the held-out rows by every model of the path; NaN for those after Ctrl-C."""
        scores = np.full(len(path), np.nan)
        scored = copy(self.model).set_params(n_jobs=stopping.n_threads)
        rows, weights = fold.held_out, self.training.weights
        X, y = _some_rows(self.given, rows), self.training.y[rows]
        options = _weights_for(scorer, None if weights is None else weights[rows])
        response = self.training_set.response
        if response.offset is not None:
            add_always(scored, response.offset[rows] + response.moved)
        layout = self.training_set.rows.layout
        try:
            for k, results in enumerate(path):
                loss, own = with_shared(self.training_set.loss, results)
                scored._show(Model(layout, *stack(own)), loss)
                scores[k] = scorer(scored, X, y, **options)
        except KeyboardInterrupt as error:
            stopping.watch.fail(error)
        return scores


def _some_rows(given: Input, rows: AnyArray) -> Input:
    """Return some rows of X, in the type that the user passed."""
    if nw.dependencies.is_into_dataframe(given):
        return nw.from_native(given, eager_only=True)[rows].to_native()
    return safe_indexing(given, rows)


def add_always(model: AdditiveEstimator, offset: Input) -> None:
    """Have a model add the offset of the rows that it predicts: scorers pass none to `predict`."""
    scores = model._scores
    setattr(model, "_scores", lambda X, _=None: scores(X, offset))  # noqa: B010 (a method)


def _weights_for(scorer: Scorer, weights: Floats | None) -> dict[str, Floats]:
    """Return the weights as keyword arguments if the scorer accepts them.

    With scoring=None, scikit-learn's scorer calls the estimator's `score`.
    """
    metric = getattr(scorer, "_score_func", scorer)
    if hasattr(scorer, "_estimator"):
        metric = scorer._estimator.score
    takes = "sample_weight" in inspect.signature(metric).parameters
    return {"sample_weight": weights} if takes and weights is not None else {}


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
