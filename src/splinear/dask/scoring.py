"""Scores of a collection from a few sums per partition; rows stay on their workers."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from dask.delayed import Delayed, delayed
from sklearn.base import is_classifier
from sklearn.metrics import mean_tweedie_deviance

from splinear._types import Floats, Input
from splinear.dask.partitions import Partitions
from splinear.estimators.base import AdditiveEstimator
from splinear.losses.base import SCORED

__all__ = ["measured", "score_of"]

Measures: TypeAlias = "tuple[float, ...] | tuple[Floats, Floats, Floats] | None"

SAME = 1e-18  # squared relative error up to which predictions equal a constant target


def measured(model: AdditiveEstimator, given: Partitions) -> list[Delayed]:
    """Return the measures of a local model on every partition, as delayed objects.

    For a loss that is not a power of the mean they are targets, predictions and weights: its best
    constant prediction is known only once all of them are.
    """
    measure = _deviances if model._loss.power is not None else _predictions
    if is_classifier(model):
        measure = _accuracy
    shared, own = delayed(model), delayed(measure, pure=False)
    return [own(shared, *part) for part in given.rows()]


def score_of(model: AdditiveEstimator, parts: list[Measures]) -> float:
    """Return the score over all rows, given the measures of their partitions."""
    given = [part for part in parts if part is not None]
    if not given:
        raise ValueError("There is nothing to score: X has no rows, or their weights add up to 0.")
    if model._loss.power is None and not is_classifier(model):
        return model._loss.quality(*(np.concatenate(each) for each in zip(*given, strict=True)))
    known = np.array(given, dtype=np.float64)
    if is_classifier(model):
        return float(np.average(known[:, 1], weights=known[:, 0]))
    return _explained(known.T, _power_of(model))


def _accuracy(
    model: AdditiveEstimator, X: Input, y: Input, weights: Input, offset: Input
) -> Measures:
    """Return the total weight of a partition's rows, and the accuracy on them."""
    w = _counted(X, weights)
    return None if w is None else (float(w.sum()), model.score(X, y, w, offset=offset))


def _deviances(
    model: AdditiveEstimator, X: Input, y: Input, weights: Input, offset: Input
) -> Measures:
    """Return weight, mean of y, deviance from the mean and from predictions, min and max of y."""
    w = _counted(X, weights)
    if w is None:
        return None
    power, values = _power_of(model), np.asarray(y, np.float64)
    predicted = model.predict(X, offset=offset)
    mean = float(np.average(values, weights=w))
    spread = _deviance(values, np.full(len(values), mean), w, power)
    counted = values[w > 0]
    ends = float(counted.min()), float(counted.max())
    return float(w.sum()), mean, spread, _deviance(values, predicted, w, power), *ends


def _predictions(
    model: AdditiveEstimator, X: Input, y: Input, weights: Input, offset: Input
) -> Measures:
    """Return targets, predictions and weights of a partition's rows."""
    w = _counted(X, weights)
    if w is None:
        return None
    return np.asarray(y, np.float64), model.predict(X, offset=offset), w


def _counted(X: Input, weights: Input) -> Floats | None:
    """Return the weights of a partition's rows; None if they sum to 0."""
    w = np.ones(X.shape[0]) if weights is None else np.asarray(weights, np.float64)
    return w if w.sum() > 0 else None


def _explained(parts: Floats, power: float) -> float:
    """Return the share of the deviance from the mean that the model explains.

    The deviance of a partition's rows from the overall mean is that from their own mean, plus their
    weight times the deviance of their own mean from the overall mean.
    """
    weight, mean, spread, misfit, least, most = parts
    y, left = float(np.average(mean, weights=weight)), float(misfit.sum())
    if least.min() == most.max():
        return float(left <= SAME * weight.sum() * abs(y) ** (2 - power))
    between = _deviance(mean, np.full_like(mean, y), weight, power)
    return 1.0 - left / (float(spread.sum()) + between)


def _deviance(y: Floats, mu: Floats, weights: Floats, power: float) -> float:
    """Return the sum of the rows' deviances for a variance proportional to mean^power."""
    mu = np.clip(mu, *SCORED) if power else mu
    mean = mean_tweedie_deviance(y, mu, sample_weight=weights, power=power)
    return float(mean * weights.sum())


def _power_of(model: AdditiveEstimator) -> float:
    power = model._loss.power
    assert power is not None
    return power
