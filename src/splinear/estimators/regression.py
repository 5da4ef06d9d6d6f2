"""Base class of the two regressors."""

from __future__ import annotations

from typing import TypeVar

from sklearn.base import RegressorMixin

from splinear._types import AnyArray, Input
from splinear.estimators.base import AdditiveEstimator
from splinear.estimators.reading import Given
from splinear.tables.opening import open_table, open_target

__all__ = ["RegressionEstimator"]

Self = TypeVar("Self", bound="RegressionEstimator")


class RegressionEstimator(RegressorMixin, AdditiveEstimator):
    """Base of the additive estimators that predict one number per row."""

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
        X : array-like of shape (n_samples, n_features), or files as in AdditiveClassifier.fit
        y : array-like of shape (n_samples,)
            The targets. With X in files also the name of a column of a Parquet or CSV file, a list
            of .npy files, or None for those of a LIBSVM file.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight c_i of each row, which multiplies its loss; a row of weight 0 is ignored. For
            a given C a weight of 2 counts as two rows.
        counts : array-like of shape (n_samples,), default=None
            How many identical observations each row stands for, a whole number: the same as
            repeating the row that often.
        offset : array-like of shape (n_samples,), default=None
            A known part of the score of each row, which is added to f(x). The predictions of a
            model are for an offset of 0 unless they get one.

        Returns
        -------
        self
        """
        self._check_params()
        return self._fit(Given(X, y, sample_weight, counts, offset=offset), self._recipe())

    def predict(self, X: Input, *, offset: Input = None) -> AnyArray:
        """Compute f(x) plus the offset, or its exponential where it is the logarithm of the mean.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in fit
        offset : array-like of shape (n_samples,), default=None
            A known part of the scores, added to f(x), as in fit; None means 0.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            Of several quantiles (n_samples, n_levels).
        """
        scores = self._scores(X, offset)  # raises NotFittedError if there is no model yet
        return self._loss.predict(scores)

    def score(
        self, X: Input, y: Input = None, sample_weight: Input = None, *, offset: Input = None
    ) -> float:
        """Return R^2, or D^2: the share of the target's variance or deviance that is explained.

        For quantiles it is the share of the pinball loss that is saved.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or files as in fit
        y : array-like of shape (n_samples,), or None or text, as in fit
        sample_weight : array-like of shape (n_samples,), default=None
        offset : array-like of shape (n_samples,), default=None
            A known part of the scores, added to f(x), as in fit; None means 0.

        Returns
        -------
        share : float
            At most 1. A model that predicts the mean of y for every row has 0.
        """
        X, y = open_target(open_table(X, type(self).__name__), y, classes=())
        predicted = self.predict(X, offset=offset)
        return self._loss.quality(y, predicted, sample_weight)
