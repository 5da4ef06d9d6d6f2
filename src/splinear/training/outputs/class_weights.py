"""How much rows count by their class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from sklearn.utils import compute_class_weight

from splinear._types import AnyArray, Floats

__all__ = ["ClassWeight", "class_weights", "kept_pieces"]

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
