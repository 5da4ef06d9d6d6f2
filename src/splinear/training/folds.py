"""The path of C in one fold: trained on rows that are prepared once, scored on held-out rows."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace

import narwhals as nw
import numpy as np
from sklearn.model_selection import check_cv

from splinear._compat import safe_indexing
from splinear._types import AnyArray, Floats, Input
from splinear.model.additive import Model
from splinear.objective.problem import Result, Stopping, stack
from splinear.solvers.proofs.certificate import fine_enough
from splinear.tables.checks import check_offset
from splinear.tables.device import on_host
from splinear.tables.opening import open_table
from splinear.training.estimator import AdditiveEstimator
from splinear.training.response import Response
from splinear.training.set import TrainingSet
from splinear.training.table import Given, TrainingTable, read_rows, term_plan
from splinear.training.trainer import Trainer, with_shared

__all__ = ["Fold", "FoldPath", "Setting", "add_always", "make_folds"]

Scorer = Callable[..., float]


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
        table = open_table(given.X, type(model).__name__)
        if table.given is None:
            raise ValueError(f"PathSearchCV needs X in memory, or as a numpy.memmap; got {table}.")
        data = read_rows(model, replace(given, X=table), numeric=recipe.loss.kind == "number")
        loss, y = recipe.loss.knowing(given.y).read(data.y, data.kept)
        offset = check_offset(on_host(given.offset), len(y), loss.n_outputs)
        response = Response(loss, y, recipe.class_weight, offset).fitted(data.survey)
        columns = model._column_data(data)
        layout = term_plan(model).place(columns, model._advice(recipe.trainer, data))
        if model._interactions(columns, recipe.trainer, layout) is not None:
            raise ValueError(
                "PathSearchCV compares models of curves, and the estimator asks for surfaces over "
                "pairs of features. Set interactions=0 and leave pairs out of `terms`, or use "
                "GridSearchCV."
            )
        if getattr(model, "device", "cpu") != "cpu":
            model.set_params(device="cpu")  # folds and paths are trained on the CPU only
        training_set = model._training_set(data, response, layout)
        training_set = training_set.with_rows(fine_enough(training_set.rows, model.tol))
        return cls(model, recipe.trainer, training_set, table.given, data)

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
