"""Base class of the two classifiers, which turns scores into classes."""

from __future__ import annotations

from typing import TypeVar

from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from splinear._types import AnyArray, Floats, Input
from splinear.estimators.base import AdditiveEstimator
from splinear.estimators.reading import Given
from splinear.losses.classes import ClassLoss
from splinear.tables.opening import open_table, open_target

__all__ = ["ClassEstimator"]

Self = TypeVar("Self", bound="ClassEstimator")


class ClassEstimator(ClassifierMixin, AdditiveEstimator):
    """Base of the additive estimators that predict classes or labels."""

    _loss: ClassLoss

    def fit(
        self: Self,
        X: Input,
        y: Input = None,
        sample_weight: Input = None,
        *,
        counts: Input = None,
        offset: Input = None,
    ) -> Self:
        """Learn the terms.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, text and missing values; arrays, data frames, sparse matrices. float32 and
            float64 are read as they are, without a copy. Or data on disk, read in chunks: a
            numpy.memmap, the name of a .npy, Parquet, CSV or LIBSVM file, a list of .npy or Parquet
            files, a folder of Parquet files, or a pyarrow.dataset.Dataset.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            The classes; or, for several labels per row, an indicator matrix of 0 and 1. With X in
            files also the name of a column of a Parquet or CSV file, a list of .npy files, or None
            for the labels of a LIBSVM file.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight c_i of each row, which multiplies its loss; a row of weight 0 is ignored. For
            a given C a weight of 2 counts as two rows.
        counts : array-like of shape (n_samples,), default=None
            How many identical observations each row stands for, a whole number: the same as
            repeating the row that often.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            A known part of the score of each row, which is added to f(x): one number for two
            classes, one per class or label otherwise. The predictions of a model are for an offset
            of 0 unless they get one.

        Returns
        -------
        self
        """
        self._check_params()
        return self._fit(Given(X, y, sample_weight, counts, offset=offset), self._recipe())

    @property
    def classes_(self) -> AnyArray:
        """The classes, or the numbers of the labels."""
        check_is_fitted(self, "terms_")
        return self._loss.known_classes

    def decision_function(self, X: Input, *, offset: Input = None) -> Floats:
        """Compute the scores: for two classes, positive for classes_[1]; else one per class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in fit
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            A known part of the scores, added to f(x), as in fit; None means 0.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        scores = self._scores(X, offset)
        return self._loss.decision(scores)

    def predict(self, X: Input, *, offset: Input = None) -> AnyArray:
        """Predict the class of every row of X, or its labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in fit
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            A known part of the scores, added to f(x), as in fit; None means 0.

        Returns
        -------
        labels : ndarray of shape (n_samples,) or (n_samples, n_labels)
        """
        scores = self._scores(X, offset)  # raises NotFittedError if there is no model yet
        return self._loss.predict(scores)

    def score(
        self, X: Input, y: Input = None, sample_weight: Input = None, *, offset: Input = None
    ) -> float:
        """Return the accuracy: the share of rows that are classified correctly.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in fit
        y : array-like of shape (n_samples,) or (n_samples, n_labels), or None or text, as in fit
        sample_weight : array-like of shape (n_samples,), default=None
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            A known part of the scores, added to f(x), as in fit; None means 0.

        Returns
        -------
        accuracy : float
        """
        table, classes = open_table(X, type(self).__name__), getattr(self, "classes_", None)
        X, y = open_target(table, y, classes)
        predicted = self.predict(X, offset=offset)
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
