"""Weights of rows by their class."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils import compute_class_weight

from splinear._types import AnyArray, Floats
from splinear.losses.classes import kept_pieces

__all__ = ["ClassWeight", "class_weights"]

ClassWeight = dict[Any, float] | Literal["balanced"] | None


def class_weights(
    class_weight: ClassWeight,
    classes: AnyArray,
    index: AnyArray,
    kept: AnyArray | None,
    rows: Floats | None = None,
) -> Floats:
    """Return the weight of every class, (n_classes,).

    `index` (n,) holds the index of each row's class; `kept` (n,) marks the rows with a positive
    weight, and `rows` (n,) says how many rows each stands for, if that is not one. Under
    "balanced", a class without rows has weight 1.
    """
    weights = np.ones(len(classes))
    if class_weight is None:
        return weights
    counts = np.zeros(len(classes))
    if rows is not None:
        counts += np.bincount(index, rows, minlength=len(classes))
    else:
        for piece in kept_pieces(index, kept):
            counts += np.bincount(piece, minlength=len(classes))
    present = np.flatnonzero(counts)
    if isinstance(class_weight, dict):
        weights[:] = compute_class_weight(class_weight, classes=classes, y=classes[present])
        _check(classes, weights)
    else:
        weights[present] = counts.sum() / (len(present) * counts[present])
    return weights


def _check(classes: AnyArray, weights: Floats) -> None:
    """Raise if a weight is negative, infinite or NaN, naming its class."""
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        name, weight = classes[wrong[0]], weights[wrong[0]]
        raise ValueError(
            f"class_weight must be finite and not negative; that of class {name!s} is {weight:g}."
        )
