"""Importances of features and terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy import sparse

from splinear._types import Floats, Input
from splinear.estimators.base import AdditiveEstimator
from splinear.inspection.adding import (
    InMemory,
    added,
    added_by_pairs,
    deviations,
    sparse_contributions,
    stays_sparse,
)
from splinear.inspection.curves import read_numbers
from splinear.inspection.naming import Output, output_of
from splinear.inspection.resolving import FittedModel, resolve

__all__ = ["curve_importances", "importances", "levels_that_matter", "widest_outputs"]


def importances(
    model: FittedModel,
    X: Input,
    *,
    target: object = None,
    by: Literal["feature", "term"] = "feature",
) -> Floats:
    """Measure how much each feature moves the score: the standard deviation of its term over X.

    A curve that is flat where the data lie has importance 0, however steep it is elsewhere. On the
    training rows this equals `feature_importances_`. Only one column is in memory at a time.

    Parameters
    ----------
    model : fitted AdditiveClassifier, AdditiveSVC, AdditiveRegressor or AdditiveSVR
        Or a fitted pipeline, or a search, that ends in one.
    X : array-like of shape (n_samples, n_features)
    target : class label, int or list of them, default=None
        As in :func:`shape_function`; None means the mean over all outputs.
    by : {"feature", "term"}, default="feature"
        "feature": half of the importance of a surface goes to each of its features. "term": a
        surface has an entry of its own, after those of the features.

    Returns
    -------
    deviations : ndarray of shape (n_features,) or (n_features + n_pairs,)
        In the units of the score (dimensionless if the score is the logarithm of the mean).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from splinear import AdditiveRegressor
    >>> from splinear.inspection import importances
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = AdditiveRegressor(random_state=0).fit(X, y)
    >>> X.columns[importances(model, X).argmax()]
    's5'
    """
    model, X = resolve(model, X)
    if by not in ("feature", "term"):
        raise ValueError(f'by must be "feature" or "term"; got {by!r}.')
    output = output_of(model, target)
    table = read_numbers(model, X)
    if stays_sparse(table, model):
        return _sparse_importances(model, output, table)
    return _deviations(model, output, table, by_term=by == "term")


def curve_importances(model: AdditiveEstimator) -> Floats:
    """Return the importance of each feature's curve on the training rows, (n_features,).

    This is `feature_importances_` without the halves of surfaces.
    """
    out = np.array(model.feature_importances_, dtype=np.float64)
    for pair in model.terms_.pairs:
        out[list(pair.features)] -= 0.5 * pair.deviation
    return out


def _deviations(
    model: AdditiveEstimator, output: Output, table: InMemory, *, by_term: bool
) -> Floats:
    """Return the standard deviations of terms, or of features with halves of their surfaces."""
    out, of_pairs = np.zeros(model.n_features_in_), []
    for j, f, _ in added(model, table):
        out[j] = f[:, output].std(axis=0).mean()
    for pair, f in added_by_pairs(model, table):
        of_pairs.append(f[:, output].std(axis=0).mean())
        out[list(pair.features)] += 0.0 if by_term else 0.5 * of_pairs[-1]
    return np.append(out, of_pairs) if by_term else out


def _sparse_importances(
    model: AdditiveEstimator, output: Output, table: sparse.csc_array
) -> Floats:
    n_outputs = len(model.intercept_)
    outputs = np.atleast_1d(np.arange(n_outputs)[output]).tolist()
    found = (deviations(sparse_contributions(model, k, table)) for k in outputs)
    return np.asarray(np.mean(list(found), axis=0))


# -- what pictures show, where there is no room for everything ------------------------------------


def widest_outputs(heights: Sequence[Floats], most: int) -> list[int]:
    """Return the outputs, ascending, for which terms matter most: those with the widest ranges.

    `heights` has what each term adds at some places, (n_places, n_outputs). The ranges of terms
    are added up.
    """
    ranges = np.sum([np.ptp(f, axis=0) for f in heights], axis=0)
    return sorted(map(int, np.argsort(-ranges, kind="stable")[:most]))


def levels_that_matter(f: Floats, counts: Floats, most: int) -> list[int]:
    """Return the levels, ascending, to which a category owes most of its importance.

    An importance is a standard deviation, so a level counts with the square of its effect, for
    each of its rows. `f` has the centered effects, (n_levels,) or (n_levels, n_outputs). Among
    levels without rows the largest effects come first.
    """
    squares = np.square(f).reshape(len(f), -1).sum(axis=1)
    order = np.lexsort([-squares, -counts * squares])
    return sorted(map(int, order[:most]))
