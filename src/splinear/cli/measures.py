"""How good a model is on rows that it has not seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import (
    accuracy_score,
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

from splinear._types import AnyArray
from splinear.cli.data import blocks, some_rows
from splinear.cli.progress import Track
from splinear.tables.table import Table
from splinear.training.estimator import AdditiveEstimator

__all__ = ["Measure", "measure"]


@dataclass(frozen=True)
class Measure:
    """A number, and what a model without features would reach."""

    name: str
    value: str
    baseline: str


def measure(
    model: AdditiveEstimator, table: Table, y: AnyArray, weights: AnyArray, track: Track
) -> list[Measure]:
    """Measure a model on the rows of weight 0; y and weights (n_rows,).

    The baseline knows the training rows' shares of classes, or their mean.
    """
    held_out, trained = weights == 0.0, y[weights > 0.0]
    outputs, predicted = [], []
    for rows, block in blocks(table):
        track(rows.start, "")
        kept = held_out[rows]
        if kept.any():
            X = some_rows(block, kept)
            predicted.append(model.predict(X))
            if hasattr(model, "predict_proba"):
                outputs.append(model.predict_proba(X))
    prediction = np.concatenate(predicted)
    if not is_classifier(model):
        return _of_numbers(y[held_out], prediction, trained)
    probability = np.concatenate(outputs) if outputs else None
    return _of_classes(y[held_out], prediction, probability, trained, model.classes_)


def _of_numbers(y: AnyArray, predicted: AnyArray, trained: AnyArray) -> list[Measure]:
    base = np.full(len(y), trained.mean())
    explained = r2_score(y, predicted) if len(y) > 1 else np.nan
    return [
        Measure("R²", f"{explained:.3f}", "0.000"),
        *(
            Measure(name, f"{error(y, predicted):.4g}", f"{error(y, base):.4g}")
            for name, error in (
                ("root mean squared error", root_mean_squared_error),
                ("mean absolute error", mean_absolute_error),
            )
        ),
    ]


def _of_classes(
    y: AnyArray,
    predicted: AnyArray,
    probability: AnyArray | None,
    trained: AnyArray,
    classes: AnyArray,
) -> list[Measure]:
    shares = np.array([np.mean(trained == name) for name in classes])
    most = classes[np.argmax(shares)]
    found = [
        Measure("accuracy", f"{accuracy_score(y, predicted):.1%}", f"{np.mean(y == most):.1%}")
    ]
    known = np.isin(y, classes)  # a rare class may be in no training row
    if probability is None or not known.any():
        return found
    if len(classes) == 2 and len(np.unique(y[known])) == 2:
        area = roc_auc_score(y[known] == classes[1], probability[known, 1])
        found.append(Measure("area under the ROC curve", f"{area:.3f}", "0.500"))
    base = np.tile(shares, (int(known.sum()), 1))
    losses = [log_loss(y[known], p, labels=classes) for p in (probability[known], base)]
    return [*found, Measure("log-loss", f"{losses[0]:.3f}", f"{losses[1]:.3f}")]
