"""Classes: how y is read, and how scores become classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import numpy as np
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from splinear._types import AnyArray, Floats
from splinear.losses.base import Loss, Task
from splinear.tables.device import taken

__all__ = ["STEP", "ClassLoss", "kept_pieces"]

Self = TypeVar("Self", bound="ClassLoss")

FEW = 2_000  # rows up to which y is passed to scikit-learn as it is
MOST_COUNTED = 2**16  # integer classes below this are found by counting, which is faster
STEP = 2**20  # rows per batch, so that no temporary array is as long as y


class ClassLoss(Loss):
    """Base of losses of classes, or of labels of which a row may have several.

    Two classes have one score, which is positive for the second; several classes, and labels, have
    one each.

    Attributes
    ----------
    classes : ndarray or None
        The classes, sorted, or the indices of the labels; None before y has been read.
    has_labels : bool
        Whether they are labels.
    """

    kind = "class"
    classes: AnyArray | None
    has_labels: bool

    @property
    def task(self) -> Task:
        """What y holds."""
        if self.has_labels:
            return "multilabel"
        return "binary" if self.n_classes == 2 else "multiclass"

    @property
    def known_classes(self) -> AnyArray:
        """The classes of a loss that has read y."""
        assert self.classes is not None
        return self.classes

    @property
    def n_classes(self) -> int:
        """Number of classes or labels."""
        return len(self.known_classes)

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""
        return 1 if self.task == "binary" else self.n_classes

    def label(self, output: int) -> object:
        """Return the class or label of an output; None if there is only one."""
        found: object = None if self.n_outputs == 1 else self.known_classes[output]
        return found

    def of_classes(self, classes: AnyArray, *, has_labels: bool) -> ClassLoss:
        """Return the loss of these classes or labels."""
        raise NotImplementedError

    # -- reading ---------------------------------------------------------------------------------

    def read(self, y: AnyArray, kept: AnyArray | None = None) -> tuple[ClassLoss, AnyArray]:
        """Return the loss of the classes in y, and the index of each row's class.

        For an indicator matrix of labels, the numbers are the matrix. `kept` (n,) marks the rows
        with a positive weight, in which classes are looked for.
        """
        if not hasattr(y, "toarray") and y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        _refuse_columns_of_classes(y)
        found = None if _is_short(y) else _distinct(y, None)
        # Values are passed twice, because scikit-learn warns if most of them occur once.
        kind = _kind(y if found is None else np.tile(found, 2))
        if kind == "multilabel-indicator":
            indicator = self._indicator(y)
            labels = np.arange(indicator.shape[1])
            return self.of_classes(labels, has_labels=True), indicator
        if kind not in ("binary", "multiclass"):
            raise ValueError(
                "y must hold one class per row, or an indicator matrix of labels; "
                f"the type of the target is {kind}."
            )
        if found is None or kept is not None:
            found = _distinct(y, kept)
        fitted = self.of_classes(self._known(found), has_labels=False)
        return fitted, fitted.numbers(y)

    def _indicator(self, y: AnyArray) -> AnyArray:
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
        return np.asarray(ones.astype(np.int8))

    def _known(self, found: AnyArray) -> AnyArray:
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

    def numbers(self, y: AnyArray) -> AnyArray:
        """Return the index of each row's class, (n,).

        A class that occurs only in rows of weight 0 gets the index of some other class.
        """
        classes = self.known_classes
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

    # -- what scores mean ------------------------------------------------------------------------

    def decision(self, scores: Floats) -> Floats:
        """Return the scores in the shape of decision_function."""
        return scores[:, 0] if self.task == "binary" else scores

    def predict(self, scores: Floats) -> AnyArray:
        """Return the classes (n_rows,), or 1 for the labels of each row, (n_rows, n_labels)."""
        if self.has_labels:
            return (scores > 0).astype(np.int64)
        if self.task == "binary":
            return taken(self.known_classes, (scores[:, 0] > 0).astype(np.intp))
        return taken(self.known_classes, scores.argmax(axis=1))

    def score_name(self, target: str) -> str:
        """Return the name of what the score is, given the name of a class."""
        return f"margin of {target}"


def kept_pieces(values: AnyArray, kept: AnyArray | None) -> Iterator[AnyArray]:
    """Yield the values of the rows in `kept`, in batches."""
    for start in range(0, len(values), STEP):
        piece = values[start : start + STEP]
        yield piece if kept is None else piece[kept[start : start + STEP]]


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


def _numbers_by_value(y: AnyArray, classes: AnyArray) -> AnyArray | None:
    """Return the class index of each value 0, 1, ...; None if y or classes are other values."""
    if not all(own.dtype.kind in "iu" for own in (y, classes)) or not len(classes):
        return None
    if classes[0] < 0 or classes[-1] >= MOST_COUNTED:
        return None
    return np.searchsorted(classes, np.arange(int(classes[-1]) + 1))
