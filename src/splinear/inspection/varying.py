"""Varying coefficients of a fitted model: slopes over a feature, or curves per level."""

from __future__ import annotations

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.estimators.base import AdditiveEstimator
from splinear.estimators.intervals import critical, posteriors_of
from splinear.inspection.bands import Band, posteriors_of_pair
from splinear.inspection.curves import Grid, grid_of, numbers_of
from splinear.inspection.naming import output_of, pair_of
from splinear.inspection.resolving import FittedModel, resolve_model
from splinear.model.covariance import MOST_PARAMETERS, is_too_large
from splinear.model.fitted import FittedVarying
from splinear.model.varying_posterior import VaryingPosterior
from splinear.objective.running import one_blas_thread

__all__ = ["varying_band", "varying_curve", "varying_errors", "varying_of"]


def varying_curve(
    model: FittedModel,
    features: tuple[int | str, int | str],
    grid: Grid | None = None,
    n_points: int = 200,
    *,
    target: object = None,
) -> tuple[AnyArray, Floats]:
    """Compute the curves of a varying coefficient.

    If `by` is a number, this is its slope over the values of `of`, in units of the score per unit
    of `by`, less the mean slope over the training rows, which the term of `by` has. If `by` is a
    category, these are the curves of its levels, less their means over the rows of the level.

    Parameters
    ----------
    model : fitted AdditiveClassifier or AdditiveRegressor
        Or a fitted pipeline, or a search, that ends in one.
    features : tuple of two int or str
        `of` and `by`, by position or column name, as in `terms`.
    grid : array-like of shape (n_points,), default=None
        Values of `of`, as in :func:`shape_function`.
    n_points : int, default=200
    target : class label, int or list of them, default=None
        As in :func:`shape_function`.

    Returns
    -------
    x : ndarray of shape (n_points,)
    f : ndarray of shape (n_points,) or (n_points, n_levels)
        The levels of a category are in the order of ``terms_[by].levels``; if it had missing values
        in fit, their curve is the last one. With several outputs and `target=None` there is a last
        axis for them.

    Examples
    --------
    >>> import numpy as np
    >>> from splinear import AdditiveRegressor
    >>> from splinear.inspection import varying_curve
    >>> from splinear.terms import Varying
    >>> X = np.random.default_rng(0).uniform(0, 1, (500, 2))
    >>> y = X[:, 1] * X[:, 0] ** 2
    >>> model = AdditiveRegressor(terms={(0, 1): Varying()}).fit(X, y)
    >>> x, slope = varying_curve(model, (0, 1), n_points=3)
    >>> bool(abs(slope - (x**2 - np.mean(X[:, 0] ** 2))).max() < 0.01)
    True
    """
    model = resolve_model(model)
    term = varying_of(model, features)
    x = grid_of(model, term.of, grid, n_points)
    f = term.curves_at(numbers_of(model, term.of, x))[..., output_of(model, target)]
    return x, f[:, 0] if term.group.by_number else f


def varying_band(
    model: FittedModel,
    features: tuple[int | str, int | str],
    grid: Grid | None = None,
    n_points: int = 200,
    *,
    level: float = 0.95,
    target: object = None,
) -> Band:
    """Compute pointwise bands around the curves of a varying coefficient.

    Parameters
    ----------
    model, features, grid, n_points, target
        As in :func:`varying_curve`.
    level : float, default=0.95

    Returns
    -------
    x : ndarray of shape (n_points,)
    lower, upper : ndarray of the shape of the curves
        At each x, a curve is between them with this probability.

    Examples
    --------
    >>> import numpy as np
    >>> from splinear import AdditiveRegressor
    >>> from splinear.inspection import varying_band
    >>> from splinear.terms import Varying
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 1, (500, 2))
    >>> y = X[:, 1] * X[:, 0] ** 2 + rng.normal(0, 0.1, 500)
    >>> model = AdditiveRegressor(terms={(0, 1): Varying()}).fit(X, y)
    >>> x, lower, upper = varying_band(model, (0, 1), n_points=5)
    >>> bool((lower < upper).all())
    True
    """
    model = resolve_model(model)
    posteriors_of(model)
    term = varying_of(model, features)
    x, f = varying_curve(model, features, grid, n_points, target=target)
    half = varying_errors(model, term, numbers_of(model, term.of, x))
    for output in range(half.shape[-1]):
        joint, _ = posteriors_of_pair(model, term, output)
        half[..., output] *= critical(level, joint.n_left)
    half = half[..., output_of(model, target)]
    half = half[:, 0] if term.group.by_number else half
    return Band(x, f - half, f + half)


def varying_of(model: AdditiveEstimator, features: object) -> FittedVarying:
    """Return the varying coefficient of two features, `of` and `by`."""
    j, k, pair = pair_of(model, features)
    if not isinstance(pair, FittedVarying):
        raise ValueError(f"The term of {pair.name!r} is a surface: see `surface`.")
    if (pair.of, pair.by) != (j, k):
        raise ValueError(
            f"The features are (of, by), as in `terms`: {(pair.of, pair.by)}; got {(j, k)}."
        )
    return pair


@one_blas_thread()
def varying_errors(model: AdditiveEstimator, term: FittedVarying, x: AnyArray) -> Floats:
    """Return the standard errors (n, n_curves, n_outputs) of curves at numbers x (n,) of `of`."""
    if is_too_large(term.group.curve):
        raise ValueError(
            f"{term.name!r} has more than {MOST_PARAMETERS:,} levels or pieces, too many for a "
            "band."
        )
    out = np.zeros((len(x), term.curves.shape[1], len(model.intercept_)))
    for output in range(out.shape[2]):
        _, parts = posteriors_of_pair(model, term, output)
        for weight, own in parts:
            assert isinstance(own, VaryingPosterior)
            out[..., output] += weight**2 * own.variances_of_curves(x).T
    return np.sqrt(out) / term.group.unit
