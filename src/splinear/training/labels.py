"""Class labels, as the problems that one-vs-rest training solves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from splinear._types import AnyArray, Floats

__all__ = ["Labels"]

_STEP = 2**20  # rows at a time, so that no temporary array is as long as y

ClassWeight = dict[Any, float] | Literal["balanced"] | None


@dataclass(frozen=True, eq=False)
class Labels:
    """Which classes there are, and which rows belong to them.

    `index` holds the number of each row's class, (n,); for multilabel data it holds 0 and 1 for
    every row and class, (n, n_classes).
    """

    classes: AnyArray
    index: AnyArray

    @classmethod
    def read(cls, y: AnyArray, kept: AnyArray | None, classes: AnyArray | None = None) -> Labels:
        """Find the classes among the rows that count (or take those given), and number the rows."""
        if not hasattr(y, "toarray") and y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        # Of many rows the distinct values suffice: twice each, as single ones are warned about.
        few = y.ndim > 1 or len(y) <= _STEP
        example = y if few else np.tile(_distinct(y, None), 2)
        check_classification_targets(example)
        kind = type_of_target(example, input_name="y")
        if kind == "multilabel-indicator":
            indicator = y.toarray() if hasattr(y, "toarray") else np.asarray(y)
            if classes is not None and indicator.shape[1] != len(classes):
                raise ValueError(f"y has {indicator.shape[1]} labels; expected {len(classes)}.")
            return cls(np.arange(indicator.shape[1]), (indicator != 0).astype(np.int8))
        if kind not in ("binary", "multiclass"):
            raise ValueError(
                "y must hold one class a row, or an indicator matrix of labels; "
                f"the type of the target is {kind}."
            )
        found = _distinct(y, kept)
        if classes is None:
            classes = found
            if len(classes) < 2:
                raise ValueError(
                    f"y must have two classes, but only one class was found: {classes!r}."
                )
        elif not np.isin(found, classes).all():
            unknown = np.setdiff1d(found, classes)
            raise ValueError(f"y holds {unknown!r}, which is not among the classes {classes!r}.")
        # A label seen only in rows that do not count gets the number of some other class.
        index = np.empty(len(y), dtype=np.int8 if len(classes) < 128 else np.int32)
        for start in range(0, len(y), _STEP):
            places = np.searchsorted(classes, y[start : start + _STEP])
            index[start : start + _STEP] = np.minimum(places, len(classes) - 1)
        return cls(classes, index)

    @property
    def multilabel(self) -> bool:
        """Whether a row may have several labels, or none."""
        return self.index.ndim == 2

    @property
    def bytes_per_row(self) -> int:
        """Bytes that the numbers of the classes take per row."""
        return int(self.index.itemsize * (self.index.shape[1] if self.multilabel else 1))

    @property
    def n_outputs(self) -> int:
        """Number of problems: one for two classes."""
        return 1 if len(self.classes) == 2 and not self.multilabel else len(self.classes)

    def label(self, output: int) -> Any:
        """Name the class that an output stands for; None if there is only one output."""
        return None if self.n_outputs == 1 else self.classes[output]

    def signs(self, output: int) -> NDArray[np.int8]:
        """1 for the rows of the class that an output stands for, -1 for the others."""
        if self.multilabel:
            member = self.index[:, output] > 0
        else:
            member = self.index == (1 if self.n_outputs == 1 else output)
        return np.where(member, np.int8(1), np.int8(-1))

    def class_weights(self, class_weight: ClassWeight, kept: AnyArray | None) -> Floats:
        """Weights (n_outputs, 2) of the rows outside and inside of each output's class.

        With more than two classes every row weighs by its own class in all problems alike; see
        row_weights().
        """
        out = np.ones((self.n_outputs, 2))
        if class_weight is None or (self.n_outputs > 1 and not self.multilabel):
            return out
        for k in range(self.n_outputs):
            column = self.index[:, k] if self.multilabel else self.index
            names = np.array([0, 1]) if self.multilabel else self.classes
            out[k] = _by_class(class_weight, names, column, kept)
        return out

    def row_weights(self, class_weight: ClassWeight, kept: AnyArray | None) -> Floats | None:
        """Weights (n,) of the rows by their class, for more than two classes; None: all 1."""
        if class_weight is None or self.multilabel or self.n_outputs == 1:
            return None
        weights: Floats = _by_class(class_weight, self.classes, self.index, kept)[self.index]
        return weights


def _counted(values: AnyArray, kept: AnyArray | None) -> Iterator[AnyArray]:
    """Give the values of the rows that count, in pieces."""
    for start in range(0, len(values), _STEP):
        piece = values[start : start + _STEP]
        yield piece if kept is None else piece[kept[start : start + _STEP]]


def _distinct(y: AnyArray, kept: AnyArray | None) -> AnyArray:
    return np.unique(np.concatenate([np.unique(piece) for piece in _counted(y, kept)]))


def _by_class(
    class_weight: ClassWeight,
    names: AnyArray,
    index: AnyArray,
    kept: AnyArray | None,
) -> Floats:
    """Give the weight of every class; one without rows weighs 1 under "balanced"."""
    counts = np.zeros(len(names), dtype=np.intp)
    for piece in _counted(index, kept):
        counts += np.bincount(piece, minlength=len(names))
    present = np.flatnonzero(counts)
    weights = np.ones(len(names))
    if isinstance(class_weight, dict):
        weights[:] = compute_class_weight(class_weight, classes=names, y=names[present])
        _check_class_weights(names, weights)
    elif class_weight == "balanced":
        weights[present] = counts.sum() / (len(present) * counts[present])
    return weights


def _check_class_weights(names: AnyArray, weights: Floats) -> None:
    """Refuse weights that are negative, infinite or not a number, and name their class."""
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        name, weight = names[wrong[0]], weights[wrong[0]]
        raise ValueError(
            f"class_weight must be finite and not negative; that of class {name!s} is {weight:g}."
        )
