"""ROC curves, calibration and residuals, as numbers for pictures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.metrics import roc_auc_score, roc_curve

from splinear._types import Floats
from splinear.report.scoring import Scored

__all__ = [
    "Calibration",
    "Residuals",
    "Roc",
    "calibration",
    "calibration_of_all",
    "residuals",
    "roc",
]

_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)  # quantiles of residuals
_CELLS = 41
_LEAST_EVENTS = 5  # per group of rows, if events are rare
_LEAST_ROWS = 20  # per group of rows, unless there are too few


@dataclass(frozen=True, eq=False)
class Roc:
    """False and true positive rates as the threshold is lowered, of a class with so many rows."""

    name: str
    wrongly: Floats
    rightly: Floats
    area: float
    n_rows: int


@dataclass(frozen=True, eq=False)
class Calibration:
    """Predicted and observed means for groups of rows.

    Attributes
    ----------
    name : str
    predicted, observed : ndarray of shape (n_groups,)
        Means over rows.
    lower, upper : ndarray of shape (n_groups,)
        The 95 % interval of the observed mean.
    n_rows : ndarray of shape (n_groups,)
    """

    name: str
    predicted: Floats
    observed: Floats
    lower: Floats
    upper: Floats
    n_rows: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Residuals:
    """Residuals, observed minus predicted, as a function of the prediction.

    Attributes
    ----------
    predicted : ndarray of shape (n_groups,)
        The mean prediction of groups of rows.
    quantiles : ndarray of shape (n_groups, 5)
        The 5, 25, 50, 75 and 95 % quantiles of the residuals in each group.
    edges, shares : ndarray
        The histogram of all residuals between their 0.5 % and 99.5 % quantiles.
    """

    predicted: Floats
    quantiles: Floats
    edges: Floats
    shares: Floats


def roc(scored: Scored) -> list[Roc]:
    """Return the ROC curve of every class that some rows have and others have not."""
    out = []
    for k in scored.positives:
        is_it, score = scored.one_vs_rest(k)
        if 0 < is_it.sum() < len(is_it):
            wrongly, rightly, _ = roc_curve(is_it, score, sample_weight=scored.weights)
            area = float(roc_auc_score(is_it, score, sample_weight=scored.weights))
            out.append(Roc(scored.classes[k], wrongly, rightly, area, int(is_it.sum())))
    return out


def calibration(scored: Scored) -> list[Calibration]:
    """Return predicted and observed means for groups of rows with similar predictions."""
    if scored.task == "regression":
        return [_calibrated("", scored.prediction, scored.y, scored.weights, is_share=False)]
    if scored.probability is None:
        return []
    return [
        _calibrated(
            scored.classes[k], p, is_it.astype(float), scored.weights,
            is_share=True, is_rare=scored.is_rare,
        )
        for k in scored.positives
        for is_it, p in [scored.one_vs_rest(k)]
    ]  # fmt: skip


def calibration_of_all(scored: Scored) -> list[Calibration]:
    """Return one curve for many classes: of the class predicted, or of all labels together."""
    p, w = scored.probability, scored.weights
    if p is None:
        return []
    if scored.task == "multilabel":
        repeated = None if w is None else np.repeat(w, p.shape[1])
        y = (scored.y == 1).astype(float).ravel()
        return [_calibrated("", p.ravel(), y, repeated, is_share=True)]
    right = (scored.y == scored.prediction).astype(float)
    return [_calibrated("", p.max(axis=1), right, w, is_share=True)]


def _calibrated(
    name: str,
    predicted: Floats,
    observed: Floats,
    weights: Floats | None,
    *,
    is_share: bool,
    is_rare: bool = False,
) -> Calibration:
    w = np.ones(len(predicted)) if weights is None else weights
    found = []
    for rows in _groups_of_events(predicted, observed) if is_rare else _groups(predicted):
        own, total = w[rows], float(w[rows].sum())
        if not total > 0.0:
            continue
        n = total**2 / float((own**2).sum())  # effective number of rows
        share = float(np.average(observed[rows], weights=own))
        ends = _wilson(share, n) if is_share else _normal(share, observed[rows], own, n)
        found.append((float(np.average(predicted[rows], weights=own)), share, *ends, len(rows)))
    predicted_mean, mean, low, high, n_rows = np.array(found).reshape(-1, 5).T
    return Calibration(name, predicted_mean, mean, low, high, n_rows.astype(np.intp))


def _wilson(share: float, n: float) -> tuple[float, float]:
    """Return the 95 % interval of a share by Wilson's formula."""
    z = float(norm.ppf(0.975))
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return middle - float(half), middle + float(half)


def _normal(mean: float, values: Floats, weights: Floats, n: float) -> tuple[float, float]:
    """Return the 95 % interval of a mean, by the normal approximation."""
    spread = float(np.average((values - mean) ** 2, weights=weights))
    half = 1.96 * float(np.sqrt(spread / max(n - 1.0, 1.0)))
    return mean - half, mean + half


def _groups(predicted: Floats, most: int = 12) -> list[NDArray[np.intp]]:
    """Return groups of rows of about equal size, by prediction; equal ones stay together.

    Groups have at least 20 rows, unless there are fewer in all.
    """
    order = np.argsort(predicted, kind="stable")
    n = int(np.clip(len(order) // _LEAST_ROWS, 1, most))
    cuts = np.round(np.linspace(0, len(order), n + 1)).astype(int)[1:-1]
    in_order = predicted[order]
    cuts = np.unique(np.searchsorted(in_order, in_order[cuts])) if len(cuts) else cuts
    return [part for part in np.split(order, cuts) if len(part)]


def _groups_of_events(
    predicted: Floats, observed: Floats, most: int = 12
) -> list[NDArray[np.intp]]:
    """Return groups of rows by prediction, in which about as many events are expected.

    Groups of equal size would have no event, but for the last. Where groups end depends on the
    predictions alone: ends chosen by what was observed would flatter the model.
    """
    order = np.argsort(predicted, kind="stable")
    n = int(np.clip(observed.sum() // _LEAST_EVENTS, 1, most))
    expected = np.cumsum(predicted[order])
    cuts = np.searchsorted(expected, expected[-1] * np.arange(1, n) / n)
    in_order = predicted[order]
    cuts = np.unique(np.searchsorted(in_order, in_order[cuts])) if len(cuts) else cuts
    return [part for part in np.split(order, cuts) if len(part)]


def residuals(scored: Scored) -> Residuals:
    """Return the distribution of residuals, overall and by prediction."""
    left = scored.y - scored.prediction
    w = np.ones(len(left)) if scored.weights is None else scored.weights
    groups = [rows for rows in _groups(scored.prediction, 20) if w[rows].sum() > 0]
    middles = np.array([np.average(scored.prediction[rows], weights=w[rows]) for rows in groups])
    quantiles = np.array([_quantiles(left[rows], w[rows], _LEVELS) for rows in groups])
    low, high = _quantiles(left, w, (0.005, 0.995))
    reach = max(abs(low), abs(high), 1e-300)
    edges = np.linspace(-reach, reach, _CELLS + 1)
    counts, _ = np.histogram(left, edges, weights=w)
    return Residuals(middles, quantiles, edges, counts / w.sum())


def _quantiles(values: Floats, weights: Floats, levels: tuple[float, ...]) -> Floats:
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    at = np.searchsorted(below, np.array(levels) * below[-1])
    return np.asarray(values[order][np.minimum(at, len(values) - 1)], dtype=np.float64)
