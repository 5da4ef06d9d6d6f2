"""How well curves and scores are known: bands and standard errors.

A band is of f_j - mean(f_j), the mean being that over the training rows, and so it lies about
`shape_function(model, feature, center=True)`. The height of a curve is the intercept's affair. With
several classes a curve is that of a class less the mean of those of all classes.

Widths come from the posterior of all terms at once. The part of them that stands for bias, for what
a penalty makes of a curve, is estimated for each curve. How smooth terms are counts as known: what
is uncertain about that choice is not included, and matters for weak terms above all.

>>> from sklearn.datasets import load_diabetes
>>> from splinear import AdditiveRegressor
>>> from splinear.inspection import band
>>> X, y = load_diabetes(return_X_y=True, as_frame=True)
>>> model = AdditiveRegressor(random_state=0).fit(X, y)
>>> x, lower, upper = band(model, "bmi", kind="simultaneous")
>>> bool((lower < upper).all())
True
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from splinear._types import AnyArray, Floats, Input
from splinear.inspection.curves import Grid, curve_of, grid_of, numbers_of
from splinear.inspection.naming import feature_index, feature_names, output_of
from splinear.inspection.resolving import FittedModel, resolve, resolve_model
from splinear.model.covariance import MOST_PARAMETERS, JointPosterior, is_too_large
from splinear.model.curve_posterior import CurvePosterior
from splinear.model.fitted import FittedTerm
from splinear.training.estimator import AdditiveEstimator
from splinear.training.intervals import critical, posteriors_of, score_errors

__all__ = [
    "Band",
    "BandKind",
    "band",
    "curve_errors",
    "half_widths",
    "has_band",
    "posterior_of",
    "standard_error",
]

BandKind: TypeAlias = Literal["pointwise", "simultaneous"]

N_DRAWS, SEED = 4_000, 20130207  # of simultaneous bands, which are the same at every call
N_PLACES = 200  # at which a whole curve is looked at


class Band(NamedTuple):
    """Where a centered curve is: from `lower` to `upper` at `x`."""

    x: AnyArray
    lower: Floats
    upper: Floats


def band(
    model: FittedModel,
    feature: int | str,
    level: float = 0.95,
    kind: BandKind = "pointwise",
    *,
    grid: Grid | None = None,
    n_points: int = 200,
    target: object = None,
) -> Band:
    """Compute a band around the centered curve of a feature, or around the effects of its levels.

    Parameters
    ----------
    model : fitted AdditiveClassifier or AdditiveRegressor
        Or a fitted pipeline, or a search, that ends in one.
    feature : int or str
    level : float, default=0.95
    kind : {"pointwise", "simultaneous"}, default="pointwise"
        "pointwise": at each x the curve is inside with this probability. "simultaneous": the whole
        curve is, from one end of the training range to the other.
    grid, n_points, target
        As in :func:`shape_function`.

    Returns
    -------
    x : ndarray of shape (n_points,)
    lower, upper : ndarray of shape (n_points,) or (n_points, n_outputs)
    """
    model = resolve_model(model)
    posteriors_of(model)
    output, j = output_of(model, target), feature_index(model, feature)
    x = grid_of(model, j, grid, n_points)
    _, f = curve_of(model, output, j, x, center=True)
    term, half = model.terms_.of_feature(j), np.zeros_like(f)
    if term is not None:  # not dropped
        half = half_widths(model, term, numbers_of(model, j, x), level, kind)[:, output]
    return Band(x, f - half, f + half)


def standard_error(model: FittedModel, X: Input, *, target: object = None) -> Floats:
    """Compute the standard errors of scores: of decision_function, or of predict in regression.

    Parameters
    ----------
    model : fitted AdditiveClassifier or AdditiveRegressor
        Or a fitted pipeline, or a search, that ends in one.
    X : array-like of shape (n_samples, n_features)
    target : class label, int or list of them, default=None
        As in :func:`shape_function`. With several classes a score is that of a class less the mean
        of those of all classes.

    Returns
    -------
    errors : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    """
    model, X = resolve(model, X)
    posteriors_of(model)
    output = output_of(model, target)
    return score_errors(model, X)[1][:, output]


def has_band(model: AdditiveEstimator, term: FittedTerm) -> bool:
    """Tell whether a band of a term can be computed."""
    return bool(model._posteriors) and not is_too_large(term.group)


def posterior_of(
    model: AdditiveEstimator, term: FittedTerm, output: int
) -> tuple[JointPosterior, CurvePosterior | None]:
    """Return the posterior of a term's curve; None if the term cannot vary."""
    j = term.features[0]
    if is_too_large(term.group):
        raise ValueError(
            f"Feature {feature_names(model)[j]!r} has more than {MOST_PARAMETERS:,} levels or "
            "pieces, too many for a band."
        )
    joint = next(own for own in posteriors_of(model) if output in own.outputs)
    return joint, joint.curve(j, output)


def curve_errors(model: AdditiveEstimator, term: FittedTerm, x: AnyArray) -> Floats:
    """Return the standard errors of a centered curve at x, numbers, (n, n_outputs)."""
    out = np.zeros((len(x), len(model.intercept_)))
    for output in range(out.shape[1]):
        _, curve = posterior_of(model, term, output)
        if curve is not None:
            directions = term.with_parameters(curve.directions)
            values = directions.evaluate(x) - directions.mean
            out[:, output] = np.sqrt(values**2 @ curve.variances)
    return out


def half_widths(
    model: AdditiveEstimator, term: FittedTerm, x: AnyArray, level: float, kind: BandKind
) -> Floats:
    """Return half the width of the band at x, numbers of the feature, (n, n_outputs)."""
    if kind not in ("pointwise", "simultaneous"):
        raise ValueError(f'kind must be "pointwise" or "simultaneous"; got {kind!r}.')
    reach = np.zeros(len(model.intercept_))
    for output in range(len(reach)):
        joint, curve = posterior_of(model, term, output)
        reach[output] = critical(level, joint.n_left)
        if curve is not None and kind == "simultaneous":
            directions = term.with_parameters(curve.directions)
            whole = directions.evaluate(_all_places(term)) - directions.mean
            of_all = _simultaneous(whole, curve.variances, level, joint.n_left)
            reach[output] = max(reach[output], of_all)
    return reach * curve_errors(model, term, x)


def _all_places(term: FittedTerm) -> Floats:
    """Return where a whole curve is looked at: all levels, or steps over its range; and the gap."""
    if term.levels is not None:
        places = np.arange(float(len(term.levels)))
    else:
        places = np.union1d(np.linspace(term.lo, term.hi, N_PLACES), term.knots)
    return np.append(places, np.nan) if term.had_missing else places


def _simultaneous(values: Floats, variances: Floats, level: float, n_left: float) -> float:
    """Return how many standard errors a whole curve stays within, by simulation.

    `values` (n, n_directions) are those of the directions, whose coefficients are drawn.
    """
    random = np.random.default_rng(SEED)
    errors = np.sqrt(values**2 @ variances)
    varies = errors > 1e-12 * errors.max(initial=0.0)
    if not varies.any():
        return 0.0
    ways = (values[varies] / errors[varies, None]) * np.sqrt(variances)
    draws = random.standard_normal((N_DRAWS, len(variances)))
    largest = np.abs(draws @ ways.T).max(axis=1)
    if not np.isinf(n_left):
        largest *= np.sqrt(n_left / random.chisquare(n_left, N_DRAWS))
    return float(np.quantile(largest, level))
