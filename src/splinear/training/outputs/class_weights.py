"""How much rows count by their class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from sklearn.utils import compute_class_weight

from splinear._types import AnyArray, Floats
from splinear.training.weighted import WeightedRows

__all__ = ["ClassWeight", "class_weights", "costs_by_class", "evened", "kept_pieces"]

ClassWeight = dict[Any, float] | Literal["balanced"] | None

STEP = 2**20  # rows at a time, so that no temporary array is as long as y


def class_weights(
    class_weight: ClassWeight, classes: AnyArray, index: AnyArray, kept: AnyArray | None
) -> Floats:
    """Return the weight of every class; one without rows weighs 1 under "balanced".

    `index` (n,) holds the number of each row's class, and `kept` (n,) marks the rows that count.
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
    """Return what the rows of every class cost; if relative, no more together than they say."""
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
    """Scale the weights of classes so that rows count for as much as they say.

    A smoothness that is chosen from the data would otherwise take a row of a rare class that weighs
    much for many rows. In a model without curves, of shares p by weight, the gradients w (e_y - p)
    of the rows then have as much variance as the rows have information, w (1 - |p|^2) each.
    `totals` are the sums of what the rows of each class weigh without these.
    """
    most = float(weights.max())
    if not most > 0.0:
        return weights
    w = weights / most  # squares of the weights themselves may be infinite
    weight = totals * w
    p = weight / max(float(weight.sum()), 1e-300)
    information = float(weight.sum() * (1.0 - p @ p))
    variance = float(weight @ (w * (1.0 - 2.0 * p + p @ p)))
    return w * (information / variance) if information > 0.0 and variance > 0.0 else weights


def _check(classes: AnyArray, weights: Floats) -> None:
    """Refuse weights that are negative, infinite or not a number, and name their class."""
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        name, weight = classes[wrong[0]], weights[wrong[0]]
        raise ValueError(
            f"class_weight must be finite and not negative; that of class {name!s} is {weight:g}."
        )


def kept_pieces(values: AnyArray, kept: AnyArray | None) -> Iterator[AnyArray]:
    """Yield the values of the rows that count, in pieces."""
    for start in range(0, len(values), STEP):
        piece = values[start : start + STEP]
        yield piece if kept is None else piece[kept[start : start + STEP]]
