"""The search along paths of C: what is trained, scored and chosen."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from splinear._base import AdditiveModel, one_blas_thread, side_by_side
from splinear._folds import Fold
from splinear._types import AnyArray, Floats
from splinear.solvers.problem import Stopping
from splinear.solvers.rows import TrainingRows

__all__ = ["Candidate", "Data", "follow_folds"]

Scorer = Callable[..., float]


@dataclass(frozen=True, eq=False)
class Data:
    """The rows, and how they are divided."""

    given: Any  # X as scorers are to see it
    table: AnyArray
    y: AnyArray
    weights: Floats | None
    kept: AnyArray | None
    folds: list[Fold]


@dataclass(frozen=True, eq=False)
class Candidate:
    """What a model reached along the path of C."""

    model: AdditiveModel
    rows: TrainingRows
    scores: Floats  # (n_folds, n_Cs); NaN where the search was stopped before
    coef_path: Floats  # (n_Cs, n_outputs, n_features, n_basis), means over the folds
    intercept_path: Floats  # (n_Cs, n_outputs)
    n_unconverged: int

    @property
    def best(self) -> int:
        """The number of the best C: the smallest of those that share the highest mean score."""
        return int(np.nanargmax(self.scores.mean(axis=0)))

    @property
    def best_score(self) -> float:
        """The highest mean score; -inf if no C was scored in all folds."""
        mean = self.scores.mean(axis=0)
        return float(np.nanmax(mean)) if not np.isnan(mean).all() else -np.inf


def follow_folds(
    model: AdditiveModel,
    rows: TrainingRows,
    data: Data,
    Cs: Floats,
    scorer: Scorer,
    stopping: Stopping,
) -> Candidate:
    """Follow the path in every fold, side by side, and score the rows held out."""
    target = model._read_target(data.y, data.kept)
    width = min(stopping.n_threads, len(data.folds))
    tasks = [
        partial(
            _follow_fold,
            model,
            rows,
            target,
            data,
            fold,
            Cs,
            scorer,
            stopping.inside(width, fold=number),
        )
        for number, fold in enumerate(data.folds)
    ]
    with one_blas_thread():
        found = side_by_side(tasks, width, stopping.watch)
    return Candidate(
        model,
        rows,
        scores=np.stack([path.scores for path in found]),
        coef_path=_mean([path.coefs for path in found]),
        intercept_path=_mean([path.intercepts for path in found]),
        n_unconverged=sum(path.n_unconverged for path in found),
    )


@dataclass(frozen=True, eq=False)
class _Path:
    scores: Floats  # (n_Cs,)
    coefs: list[Floats]  # (n_outputs, n_features, n_basis) for every C that was reached
    intercepts: list[Floats]
    n_unconverged: int


def _follow_fold(
    model: AdditiveModel,
    rows: TrainingRows,
    target: Any,
    data: Data,
    fold: Fold,
    Cs: Floats,
    scorer: Scorer,
    stopping: Stopping,
) -> _Path:
    path = model._train(
        rows, target, fold.weights(data.weights), fold.train, stopping, factors=list(Cs)
    )
    if stopping.watch.reason is not None:
        path = path[:-1]  # the last one was not finished
    model = copy(model).set_params(n_jobs=stopping.n_threads)
    X, y = _safe_indexing(data.given, fold.test), data.y[fold.test]
    weights = None if data.weights is None else data.weights[fold.test]
    scores = np.full(len(Cs), np.nan)
    coefs, intercepts = [], []
    for k, results in enumerate(path):
        model.coef_ = np.stack([found.coef for found in results])
        model.intercept_ = np.array([found.intercept for found in results])
        scores[k] = scorer(model, X, y, **_weights_for(scorer, weights))
        coefs.append(model.coef_)
        intercepts.append(model.intercept_)
    n_unconverged = sum(not found.converged for results in path for found in results)
    return _Path(scores, coefs, intercepts, n_unconverged)


def _weights_for(scorer: Scorer, weights: Floats | None) -> dict[str, Floats]:
    """Give the rows' weights to a scorer that takes them."""
    metric = getattr(scorer, "_score_func", scorer)
    takes = "sample_weight" in inspect.signature(metric).parameters
    return {"sample_weight": weights} if takes and weights is not None else {}


def _mean(paths: list[list[Floats]]) -> Floats:
    """Average over the folds, up to the last C that all of them have reached."""
    means = [np.mean(of_C, axis=0) for of_C in zip(*paths, strict=False)]
    return np.array(means)
