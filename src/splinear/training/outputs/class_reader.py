"""Reads y as classes or as an indicator matrix of labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from splinear._types import AnyArray
from splinear.training.outputs.base import Target
from splinear.training.outputs.class_weights import STEP, ClassWeight, kept_pieces
from splinear.training.outputs.classes import (
    Binary,
    BinaryTarget,
    OneVsRest,
    OneVsRestTarget,
    Softmax,
    SoftmaxTarget,
)
from splinear.training.outputs.labels import MultiLabel, MultiLabelTarget

__all__ = ["ClassReader", "numbered"]

FEW = 2_000  # rows up to which y is passed to scikit-learn as it is
MOST_COUNTED = 2**16  # integer classes below this are found by counting, which is faster


@dataclass(frozen=True, eq=False)
class ClassReader:
    """Reads classes, or an indicator matrix of labels.

    Attributes
    ----------
    class_weight : dict, "balanced" or None
    coupled : bool
        Whether several classes are trained by softmax (True) or one-vs-rest (False).
    classes : ndarray or None
        All classes, sorted; None to take those of rows with a positive weight.
    """

    class_weight: ClassWeight
    coupled: bool
    classes: AnyArray | None = None

    @property
    def numeric(self) -> bool:
        """False: y holds classes."""
        return False

    def read(self, y: AnyArray, kept: AnyArray | None) -> Target:
        """Find the classes, or compare with those given, and code the rows by class."""
        if not hasattr(y, "toarray") and y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        _refuse_columns_of_classes(y)
        found = None if _is_short(y) else _distinct(y, None)
        # Values are passed twice, because scikit-learn warns if most of them occur once.
        kind = _kind(y if found is None else np.tile(found, 2))
        if kind == "multilabel-indicator":
            return self._labels(y)
        if kind not in ("binary", "multiclass"):
            raise ValueError(
                "y must hold one class per row, or an indicator matrix of labels; "
                f"the type of the target is {kind}."
            )
        if found is None or kept is not None:
            found = _distinct(y, kept)
        classes = self._found(found)
        index = numbered(y, classes)
        if len(classes) == 2:
            return BinaryTarget(Binary(classes), index, self.class_weight)
        if self.coupled:
            return SoftmaxTarget(Softmax(classes), index, self.class_weight)
        return OneVsRestTarget(OneVsRest(classes), index, self.class_weight)

    def _labels(self, y: AnyArray) -> Target:
        indicator = y.toarray() if hasattr(y, "toarray") else np.asarray(y)
        n_labels = indicator.shape[1]
        if self.classes is not None and n_labels != len(self.classes):
            raise ValueError(f"y has {n_labels} labels; expected {len(self.classes)}.")
        ones = indicator == 1
        others = indicator[~(ones | (indicator == 0))]
        if len(others):
            raise ValueError(
                "An indicator matrix of several labels per row must hold 0 and 1, but y holds "
                f"{others[0]}. Use y == label, label being the value that means yes."
            )
        indicator = ones.astype(np.int8)
        labels = MultiLabel(n_labels)
        return MultiLabelTarget(labels, indicator, self.class_weight)

    def _found(self, found: AnyArray) -> AnyArray:
        """Return the classes; raise if there is only one, or one that was not given."""
        if self.classes is None:
            if len(found) < 2:
                raise ValueError(
                    f"y must have two classes, but only one class was found: {found!r}."
                )
            return found
        if not np.isin(found, self.classes).all():
            unknown = np.setdiff1d(found, self.classes)
            raise ValueError(
                f"y holds {unknown!r}, which is not among the classes {self.classes!r}."
            )
        return self.classes


def _is_short(y: AnyArray) -> bool:
    """Return whether y is short enough to be passed as it is, and not by its distinct values."""
    return y.ndim > 1 or len(y) <= (FEW if y.dtype.kind in "biuf" else STEP)


def _refuse_columns_of_classes(y: AnyArray) -> None:
    """Raise if y has several columns that are not all of 0 and 1."""
    if hasattr(y, "toarray") or y.ndim != 2 or type_of_target(y) == "multilabel-indicator":
        return
    raise ValueError(
        f"y has {y.shape[1]} columns, and must have one class per row, or a column of 0 and 1 for "
        "each of several labels. Fit a model per column, for example with "
        "sklearn.multioutput.MultiOutputClassifier."
    )


def _kind(y: AnyArray) -> str:
    """Return scikit-learn's name for the type of y; raise if y does not hold classes."""
    check_classification_targets(y)
    return str(type_of_target(y, input_name="y"))


def _distinct(y: AnyArray, kept: AnyArray | None) -> AnyArray:
    return np.unique(np.concatenate([_each_once(piece) for piece in kept_pieces(y, kept)]))


def _each_once(values: AnyArray) -> AnyArray:
    """Return the sorted distinct values; small integers are found by counting."""
    if values.dtype.kind in "biu" and len(values):
        least, most = int(values.min()), int(values.max())
        if least >= 0 and most < MOST_COUNTED:
            counts = np.bincount(values.astype(np.intp, copy=False))
            return np.flatnonzero(counts).astype(values.dtype)
    return np.unique(values)


def numbered(y: AnyArray, classes: AnyArray) -> AnyArray:
    """Return the index of each row's class, (n,).

    A class that occurs only in rows of weight 0 gets the index of some other class.
    """
    if len(classes) == 2:
        return np.asarray(y > classes[0]).astype(np.int8)
    index = np.empty(len(y), dtype=np.int8 if len(classes) < 128 else np.int32)
    known = _numbers_by_value(y, classes)
    for start in range(0, len(y), STEP):
        piece = y[start : start + STEP]
        if known is None:
            places = np.minimum(np.searchsorted(classes, piece), len(classes) - 1)
        else:
            places = known.take(piece.astype(np.intp, copy=False), mode="clip")
        index[start : start + STEP] = places
    return index


def _numbers_by_value(y: AnyArray, classes: AnyArray) -> AnyArray | None:
    """Return the class index of each value 0, 1, ...; None if y or classes are other values."""
    if not all(own.dtype.kind in "iu" for own in (y, classes)) or not len(classes):
        return None
    if classes[0] < 0 or classes[-1] >= MOST_COUNTED:
        return None
    return np.searchsorted(classes, np.arange(int(classes[-1]) + 1))
