"""Weights of rows by their class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from sklearn.utils import compute_class_weight

from splinear._types import AnyArray, Floats
from splinear.training.weighted import WeightedRows

__all__ = ["ClassWeight", "class_weights", "costs_by_class", "evened", "kept_pieces"]

ClassWeight = dict[Any, float] | Literal["balanced"] | None

STEP = 2**20  # rows per batch, so that no temporary array is as long as y


def class_weights(
    class_weight: ClassWeight, classes: AnyArray, index: AnyArray, kept: AnyArray | None
) -> Floats:
    """Return the weight of every class, (n_classes,).

    `index` (n,) holds the index of each row's class; `kept` (n,) marks the rows with a positive
    weight. Under "balanced", a class without rows has weight 1.
    """
    weights = np.ones(len(classes))
    if class_weight is None:
        return weights
    counts = np.zeros(len(classes), dtype=np.intp)
    for piece in kept_pieces(index, kept):
        counts += np.bincount(piece, minlength=len(classes))
    present = np.flatnonzero(counts)
    if isinstance(class_weight, dict):
        weights[:] = compute_class_weight(class_weight, classes=classes, y=classes[present])
        _check(classes, weights)
    else:
        weights[present] = counts.sum() / (len(present) * counts[present])
    return weights


def costs_by_class(
    class_weight: ClassWeight,
    classes: AnyArray,
    index: AnyArray,
    rows: WeightedRows,
    *,
    relative: bool,
) -> Floats:
    """Return the weight of every class, (n_classes,); if `relative`, rescaled by `evened`."""
    weights = class_weights(class_weight, classes, index, rows.kept)
    if class_weight is None or not relative:
        return weights
    totals = np.zeros(len(classes))
    for start in range(0, len(index), STEP):
        piece = slice(start, start + STEP)
        own = None if rows.weights is None else rows.weights[piece]
        totals += np.bincount(index[piece], own, minlength=len(classes))
    return evened(weights, totals)


def evened(weights: Floats, totals: Floats) -> Floats:
    """Scale class weights to keep the information that the rows have.

    Otherwise REML would take one heavily weighted row of a rare class for many rows. The scale is
    such that, in a model without curves and with class shares p by weight, the gradients w (e_y -
    p) of the rows have a variance equal to the rows' information, w (1 - |p|^2) each. `totals`
    (n_classes,) are the sums of the sample weights of each class.
    """
    most = float(weights.max())
    if not most > 0.0:
        return weights
    w = weights / most  # so that squares do not overflow
    weight = totals * w
    p = weight / max(float(weight.sum()), 1e-300)
    information = float(weight.sum() * (1.0 - p @ p))
    variance = float(weight @ (w * (1.0 - 2.0 * p + p @ p)))
    return w * (information / variance) if information > 0.0 and variance > 0.0 else weights


def _check(classes: AnyArray, weights: Floats) -> None:
    """Raise if a weight is negative, infinite or NaN, naming its class."""
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        name, weight = classes[wrong[0]], weights[wrong[0]]
        raise ValueError(
            f"class_weight must be finite and not negative; that of class {name!s} is {weight:g}."
        )


def kept_pieces(values: AnyArray, kept: AnyArray | None) -> Iterator[AnyArray]:
    """Yield the values of the rows in `kept`, in batches."""
    for start in range(0, len(values), STEP):
        piece = values[start : start + STEP]
        yield piece if kept is None else piece[kept[start : start + STEP]]
