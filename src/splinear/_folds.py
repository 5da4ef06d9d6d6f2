"""Rows that train and rows that are held out, over rows that were prepared once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from splinear._types import AnyArray, Floats

__all__ = ["Fold", "make_folds"]


@dataclass(frozen=True, eq=False)
class Fold:
    """One way to divide the rows; rows that do not count are in neither part."""

    train: AnyArray  # (n,) whether each row is trained on
    test: AnyArray  # numbers of the rows that are held out

    def weights(self, weights: Floats | None) -> Floats:
        """Give the rows' weights in training, (n,): 0 for those that are held out."""
        return self.train.astype(np.float64) if weights is None else self.train * weights


def make_folds(
    cv: Any, X: AnyArray, y: AnyArray, kept: AnyArray | None, *, classifier: bool
) -> list[Fold]:
    """Divide the rows as `cv` says: by a number of folds (None: 5), a splitter, or given splits.

    `kept` (n,) marks the rows that count; None: all.
    """
    counts = np.ones(len(y), dtype=bool) if kept is None else kept
    folds = []
    for train, test in check_cv(cv, y, classifier=classifier).split(X, y):
        chosen = np.zeros(len(y), dtype=bool)
        chosen[train] = True
        held_out = np.arange(len(y))[test]
        folds.append(Fold(chosen & counts, held_out[counts[held_out]]))
    for number, fold in enumerate(folds):
        if not fold.train.any() or not len(fold.test):
            part = "training" if len(fold.test) else "held-out"
            raise ValueError(f"cv={cv!r} leaves fold {number} without {part} rows that count.")
    if not folds:
        raise ValueError(f"cv={cv!r} gave no folds; at least one is needed.")
    return folds
