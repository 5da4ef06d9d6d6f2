"""The path of C in one fold: trained on rows that were prepared once, scored on those held out."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv

from splinear._compat import safe_indexing
from splinear._types import AnyArray, Floats, Input
from splinear.model.additive import Model
from splinear.model.fitted import FittedTerms
from splinear.solvers.problem import Stopping
from splinear.solvers.rows import TrainingRows
from splinear.tables.opening import open_table
from splinear.tables.table import Table
from splinear.training.estimator import AdditiveEstimator
from splinear.training.table import TrainingTable, read_rows

__all__ = ["Data", "Fold", "Path", "follow_fold", "make_folds", "read_data"]

Scorer = Callable[..., float]


@dataclass(frozen=True, eq=False)
class Data:
    """What a search was given: `given` is X as scorers are to see it."""

    given: Any
    training: TrainingTable

    @property
    def table(self) -> Table:
        """X as numbers."""
        return self.training.table

    @property
    def y(self) -> AnyArray:
        """The target."""
        return self.training.y

    @property
    def kept(self) -> AnyArray | None:
        """Which rows count; None: all."""
        return self.training.kept

    @property
    def weights(self) -> Floats | None:
        """The rows' weights; None: all 1."""
        return self.training.weights


def read_data(model: AdditiveEstimator, X: Any, y: Any, sample_weight: Any) -> Data:
    """Check what a search was given."""
    model._check_params()
    table = open_table(X, type(model).__name__)
    if table.given is None:
        raise ValueError(f"PathSearchCV needs X in memory, or as a numpy.memmap; got {table}.")
    training = read_rows(model, table, y, sample_weight, numeric=not is_classifier(model))
    return Data(table.given, training)


@dataclass(frozen=True, eq=False)
class Fold:
    """One way to divide the rows; rows that do not count are in neither part."""

    train: AnyArray  # (n,) whether each row is trained on
    test: AnyArray  # numbers of the rows that are held out

    def weights(self, weights: Floats | None) -> Floats:
        """Return the rows' weights in training, (n,): 0 for those that are held out."""
        return self.train.astype(np.float64) if weights is None else self.train * weights


def make_folds(
    cv: Any, X: Table, y: AnyArray, kept: AnyArray | None, *, classifier: bool
) -> list[Fold]:
    """Divide the rows as `cv` says: by a number of folds, a splitter, or given splits.

    `kept` (n,) marks the rows that count; None: all.
    """
    counts = np.ones(len(y), dtype=bool) if kept is None else kept
    folds = []
    for train, test in check_cv(cv, y, classifier=classifier).split(np.empty((len(y), 0)), y):
        chosen = np.zeros(len(y), dtype=bool)
        chosen[train] = True
        held_out = np.arange(len(y))[test]
        folds.append(Fold(chosen & counts, held_out[counts[held_out]]))
    for number, fold in enumerate(folds):
        if not fold.train.any() or not len(fold.test):
            part = "training" if len(fold.test) else "held-out"
            raise ValueError(f"cv={cv!r} leaves fold {number} without {part} rows that count.")
    if not folds:
        raise ValueError(f"cv={cv!r} gave no folds; at least one is needed.")
    return folds


@dataclass(frozen=True, eq=False)
class Path:
    """What a path of C reached in one fold."""

    scores: Floats  # (n_Cs,) of the rows held out; NaN where the search was stopped before
    n_unconverged: int
    seconds: float


def follow_fold(
    model: AdditiveEstimator,
    rows: TrainingRows,
    target: Any,
    data: Data,
    fold: Fold,
    Cs: Floats,
    scorer: Scorer,
    stopping: Stopping,
) -> Path:
    """Follow the path in one fold, and score the rows held out; after Ctrl-C, as far as it got."""
    began, scores = time.monotonic(), np.full(len(Cs), np.nan)
    if stopping.watch.poll():
        return Path(scores, 0, 0.0)
    weights = fold.weights(data.weights)
    path = model._train(rows, target, weights, fold.train, stopping, Cs=list(Cs))
    seconds = time.monotonic() - began
    if stopping.watch.reason is not None and path:
        finished = all(found.converged for found in path[-1])
        path = path if finished else path[:-1]
    scored = copy(model).set_params(n_jobs=stopping.n_threads)
    X, y = _some_rows(data.given, fold.test), data.y[fold.test]
    held_out = None if data.weights is None else data.weights[fold.test]
    try:
        for k, results in enumerate(path):
            parameters = np.stack([found.coef for found in results])
            intercept = np.array([found.intercept for found in results])
            scored._model = Model(rows.layout, parameters, intercept)
            scored.intercept_ = intercept
            names = getattr(model, "feature_names_in_", None)
            scored.terms_ = FittedTerms(scored._model, names, None)
            scores[k] = scorer(scored, X, y, **_weights_for(scorer, held_out))
    except KeyboardInterrupt as error:
        stopping.watch.fail(error)
    n_unconverged = sum(not found.converged for results in path for found in results)
    return Path(scores, n_unconverged, seconds)


def _some_rows(given: Input, rows: AnyArray) -> Input:
    """Return some rows of X as the user gave it."""
    if nw.dependencies.is_into_dataframe(given):
        return nw.from_native(given, eager_only=True)[rows].to_native()
    return safe_indexing(given, rows)


def _weights_for(scorer: Scorer, weights: Floats | None) -> dict[str, Floats]:
    """Return the rows' weights for a scorer that takes them."""
    metric = getattr(scorer, "_score_func", scorer)
    takes = "sample_weight" in inspect.signature(metric).parameters
    return {"sample_weight": weights} if takes and weights is not None else {}
