"""Calibration by rows that were held out: Platt's sigmoids for the outputs of a classifier."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from splinear._base import side_by_side
from splinear._folds import Fold, make_folds
from splinear._labels import Labels
from splinear._types import AnyArray, Floats
from splinear.calibration import fit_sigmoid
from splinear.solvers.problem import Stopping
from splinear.solvers.rows import TrainingRows

__all__ = ["N_CALIBRATION_FOLDS", "calibrate"]

N_CALIBRATION_FOLDS = 5


def calibrate(
    model: Any,
    rows: TrainingRows,
    labels: Labels,
    weights: Floats | None,
    kept: AnyArray | None,
    stopping: Stopping,
) -> Floats | None:
    """Fit Platt's sigmoids, (n_outputs, 2), to out-of-fold scores; None if that was stopped."""
    folds = _folds(model, labels, kept)
    width = min(stopping.n_threads, len(folds), rows.plan.width)
    rows = replace(rows, plan=rows.plan.inside(width))
    tasks = [
        partial(
            _scores_without,
            model,
            fold,
            rows,
            labels,
            weights,
            stopping.inside(width, fold=number),
        )
        for number, fold in enumerate(folds)
    ]
    found = side_by_side(tasks, width, stopping.watch)
    if stopping.watch.reason is not None:
        warnings.warn(
            "Stopped before the probabilities were calibrated; they are the logistic function "
            "of the scores.",
            ConvergenceWarning,
            stacklevel=5,
        )
        return None
    tests = np.concatenate([fold.test for fold in folds])
    F = np.concatenate([scores[fold.test] for scores, fold in zip(found, folds, strict=True)])
    w = None if weights is None else weights[tests]
    outputs = range(labels.n_outputs)
    return np.stack([fit_sigmoid(F[:, k], labels.signs(k)[tests] > 0, w) for k in outputs])


def _folds(model: Any, labels: Labels, kept: AnyArray | None) -> list[Fold]:
    """Give five folds, or fewer if a class is smaller."""
    n_folds = N_CALIBRATION_FOLDS
    if not labels.multilabel:
        counted = labels.index if kept is None else labels.index[kept]
        sizes = np.bincount(counted, minlength=len(labels.classes))
        if sizes.min() < 2:
            raise ValueError(
                f"calibration={model.calibration!r} needs at least 2 rows of every class; "
                f"class {labels.classes[sizes.argmin()]!r} has {sizes.min()}."
            )
        n_folds = min(n_folds, int(sizes.min()))
    return make_folds(n_folds, labels.index, labels.index, kept, classifier=True)


def _scores_without(
    model: Any,
    fold: Fold,
    rows: TrainingRows,
    labels: Labels,
    weights: Floats | None,
    stopping: Stopping,
) -> Floats:
    """Train without the rows that are held out; score all rows, (n, n_outputs)."""
    [results] = model._train(rows, labels, fold.weights(weights), fold.train, stopping)
    scores = rows.scores(np.stack([found.coef for found in results]), stopping.n_threads)
    columns = [
        rows.restore(score) + found.intercept for score, found in zip(scores, results, strict=True)
    ]
    return np.column_stack(columns)
