"""The test rows with their true targets and predictions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from splinear._lookup import shown
from splinear._types import AnyArray, Floats, Input
from splinear.estimators.base import AdditiveEstimator
from splinear.export.reading import task_and_link
from splinear.losses.base import Loss
from splinear.tables.checks import check_weights
from splinear.tables.target import check_target

__all__ = ["RARE", "Scored", "score_rows"]

RARE = 0.1  # share of rows below which accuracy says little, because most rows are of one class


@dataclass(frozen=True, eq=False)
class Scored:
    """Rows, their true targets and the predictions of a model.

    Attributes
    ----------
    task : {"regression", "binary", "multiclass", "multilabel", "ordinal"}
    y : ndarray of shape (n,) or (n, n_labels)
        Numbers; indices of classes, -1 for one that did not occur in training; or 0 and 1.
    prediction : ndarray of the same shape
    score : ndarray of shape (n, n_outputs)
    probability : ndarray of shape (n, n_classes) or None
    weights : ndarray of shape (n,) or None
    classes : sequence of str
        Names of the classes; empty in regression.
    loss : Loss
        The model's.
    """

    task: str
    y: AnyArray
    prediction: AnyArray
    score: Floats
    probability: Floats | None
    weights: Floats | None
    classes: list[str]
    loss: Loss

    def __len__(self) -> int:
        return len(self.score)

    @property
    def positives(self) -> range:
        """The classes with a ROC curve: of two the event, or else all.

        The event is the second class, or the first if that is rare.
        """
        if self.task == "regression":
            return range(0)
        if self.task == "binary":
            event = 0 if 0.0 < self.share_of(0) < RARE else 1
            return range(event, event + 1)
        return range(len(self.classes))

    @property
    def is_rare(self) -> bool:
        """Whether one of two classes is rare."""
        return self.task == "binary" and 0.0 < self.share_of(self.positives[0]) < RARE

    def share_of(self, k: int) -> float:
        """Return the share of rows that have class k."""
        return float(np.average(self.one_vs_rest(k)[0], weights=self.weights))

    def one_vs_rest(self, k: int) -> tuple[AnyArray, Floats]:
        """Return whether each row has class k, and its score or probability for it."""
        is_it = self.y[:, k] == 1 if self.task == "multilabel" else self.y == k
        if self.probability is not None:
            return is_it, self.probability[:, k]
        if self.task == "binary":
            return is_it, self.score[:, 0] if k == 1 else -self.score[:, 0]
        return is_it, self.score[:, k]


def score_rows(
    model: AdditiveEstimator,
    scores: Floats,
    y: Input,
    sample_weight: Input,
    class_names: list[str],
) -> Scored:
    """Return rows with their scores (n, n_outputs) and true targets."""
    task, link = task_and_link(model)
    loss = model._loss
    truth = _read(y, task)
    if len(truth) != len(scores):
        raise ValueError(f"X_test has {len(scores)} rows, but y_test has {len(truth)}.")
    prediction = loss.predict(scores)
    probability: Floats | None = None
    if task != "regression" and link is not None:
        probability = loss.probabilities(scores)  # type: ignore[attr-defined]
    if task in ("binary", "multiclass", "ordinal"):
        known = model.classes_.tolist()
        given = truth
        truth, prediction = (_numbers(labels, known) for labels in (truth, prediction))
        if (truth < 0).all():
            raise ValueError(
                f"y_test holds none of the model's classes, {shown(map(repr, known))}; it holds "
                f"{shown(map(repr, dict.fromkeys(given.tolist())))}."
            )
    return Scored(
        task=task,
        y=truth,
        prediction=np.asarray(prediction),
        score=scores,
        probability=probability,
        weights=check_weights(sample_weight, len(scores)),
        classes=class_names,
        loss=loss,
    )


def _read(y: Input, task: str) -> AnyArray:
    """Return the true targets, (n,) or (n, n_labels); raise if one is missing."""
    truth = np.asarray(y)
    if task == "multilabel":
        return truth
    truth = truth[:, 0] if truth.ndim == 2 and truth.shape[1] == 1 else truth
    return np.asarray(check_target(truth, numeric=task == "regression"))


def _numbers(labels: AnyArray, known: list[object]) -> AnyArray:
    """Return the indices of classes; -1 for unknown ones."""
    place = {label: k for k, label in enumerate(known)}
    return np.array([place.get(label, -1) for label in labels.tolist()], dtype=np.intp)
