"""The uncertainty of curves, surfaces and scores: bands and standard errors.

A band is that of f_j - mean(f_j), with the mean over the training rows, so it surrounds
`shape_function(model, feature, center=True)`. The height of a curve belongs to the intercept. With
several classes, a band is that of the curve of a class minus the mean over all classes. Surfaces
are centered anyway, and their bands surround `surface(model, (first, second))`.

Widths come from the joint posterior of all curves, and from that of each surface by itself, with
its two curves unknown and the other terms known. The part of a width that accounts for bias, which
the penalty causes, is estimated for each term. The smoothness of terms is treated as known: the
uncertainty of that choice is not included, which matters most for weak terms.

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

from typing import Literal, NamedTuple, TypeAlias, cast, overload

import numpy as np

from splinear._types import AnyArray, Floats, Input
from splinear.estimators.base import AdditiveEstimator
from splinear.estimators.intervals import critical, posteriors_of, score_errors
from splinear.inspection.curves import (
    Grid,
    curve_of,
    grid_of,
    numbers_of,
    numbers_of_pair,
    places_of,
    surface,
)
from splinear.inspection.naming import feature_index, output_of, pair_of
from splinear.inspection.resolving import FittedModel, resolve, resolve_model
from splinear.model.covariance import MOST_PARAMETERS, JointPosterior, is_too_large
from splinear.model.curve_posterior import CurvePosterior
from splinear.model.fitted import FittedPair, FittedTerm
from splinear.model.surface_posterior import SurfacePosterior
from splinear.model.varying_posterior import VaryingPosterior
from splinear.objective.running import one_blas_thread

__all__ = [
    "LEVEL",
    "Band",
    "BandKind",
    "SurfaceBand",
    "band",
    "curve_errors",
    "half_widths",
    "has_band",
    "posterior_of",
    "posteriors_of_pair",
    "standard_error",
    "surface_errors",
    "surface_half_widths",
]

BandKind: TypeAlias = Literal["pointwise", "simultaneous"]
_TwoGrids: TypeAlias = tuple[Grid | None, Grid | None]

LEVEL = 0.95  # default of bands in pictures
N_DRAWS, SEED = 4_000, 20130207  # for simultaneous bands, which are the same in every call


class Band(NamedTuple):
    """Where a centered curve is: from `lower` to `upper` at `x`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from splinear import AdditiveRegressor
    >>> from splinear.inspection import band
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = AdditiveRegressor(random_state=0).fit(X, y)
    >>> found = band(model, "bmi", n_points=5)
    >>> found.x.shape, found.lower.shape, found.upper.shape
    ((5,), (5,), (5,))
    """

    x: AnyArray
    lower: Floats
    upper: Floats


class SurfaceBand(NamedTuple):
    """Where a surface is: from `lower` to `upper` at values `x` and `z` of its two features.

    Examples
    --------
    >>> import numpy as np
    >>> from splinear import AdditiveRegressor
    >>> from splinear.inspection import band
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    >>> model = AdditiveRegressor(interactions=[(0, 1)]).fit(X, X[:, 0] * X[:, 1])
    >>> found = band(model, (0, 1), n_points=4)
    >>> found.lower.shape
    (4, 4)
    """

    x: AnyArray
    z: AnyArray
    lower: Floats
    upper: Floats


@overload
def band(
    model: FittedModel,
    feature: int | str,
    grid: Grid | None = None,
    n_points: int | None = None,
    *,
    level: float = 0.95,
    kind: BandKind = "pointwise",
    target: object = None,
) -> Band: ...


@overload
def band(
    model: FittedModel,
    feature: tuple[int | str, int | str],
    grid: _TwoGrids | None = None,
    n_points: int | None = None,
    *,
    level: float = 0.95,
    kind: BandKind = "pointwise",
    target: object = None,
) -> SurfaceBand: ...


def band(
    model: FittedModel,
    feature: int | str | tuple[int | str, int | str],
    grid: Grid | _TwoGrids | None = None,
    n_points: int | None = None,
    *,
    level: float = 0.95,
    kind: BandKind = "pointwise",
    target: object = None,
) -> Band | SurfaceBand:
    """Compute a band around a centered curve, around effects of levels, or around a surface.

    Parameters
    ----------
    model : fitted AdditiveClassifier or AdditiveRegressor
        Or a fitted pipeline, or a search, that ends in one.
    feature : int or str, or a tuple of two
    grid, n_points, target
        As in :func:`shape_function`; for two features, as in :func:`surface`.
    level : float, default=0.95
    kind : {"pointwise", "simultaneous"}, default="pointwise"
        "pointwise": at each x, the curve is inside with this probability. "simultaneous": the whole
        curve over its training range is inside with this probability; for a surface, all nodes that
        rows reach.

    Returns
    -------
    x : ndarray of shape (n_points,)
    z : ndarray of shape (n_z,)
        Only for two features.
    lower, upper : ndarray of shape (n_points,) or (n_points, n_outputs)
        For two features (n_x, n_z) or (n_x, n_z, n_outputs).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from splinear import AdditiveRegressor
    >>> from splinear.inspection import band
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = AdditiveRegressor(random_state=0).fit(X, y)
    >>> x, lower, upper = band(model, "bmi", kind="simultaneous")
    >>> bool((lower < upper).all())
    True
    """
    model = resolve_model(model)
    posteriors_of(model)
    if isinstance(feature, tuple | list):
        grids = (None, None) if grid is None else cast("_TwoGrids", grid)
        return _surface_band(model, feature, level, kind, grids, n_points, target)
    return _curve_band(model, feature, level, kind, grid, n_points, target)


def _curve_band(
    model: AdditiveEstimator,
    feature: int | str,
    level: float,
    kind: BandKind,
    grid: Grid | None,
    n_points: int | None,
    target: object,
) -> Band:
    output, j = output_of(model, target), feature_index(model, feature)
    x = grid_of(model, j, grid, 200 if n_points is None else n_points)
    _, f = curve_of(model, output, j, x, center=True)
    term, half = model.terms_.of_feature(j), np.zeros_like(f)
    if term is not None:  # not dropped
        half = half_widths(model, term, numbers_of(model, j, x), level, kind)[:, output]
    return Band(x, f - half, f + half)


def _surface_band(
    model: AdditiveEstimator,
    features: tuple[int | str, int | str],
    level: float,
    kind: BandKind,
    grids: _TwoGrids,
    n_points: int | None,
    target: object,
) -> SurfaceBand:
    n_points = 50 if n_points is None else n_points
    x, z, f = surface(model, features, grids, n_points, target=target)
    j, k, pair = pair_of(model, features)
    at = numbers_of_pair(model, pair, {j: x, k: z})
    half = surface_half_widths(model, pair, *at, level, kind)[:, output_of(model, target)]
    half = half.reshape(f.shape)
    return SurfaceBand(x, z, f - half, f + half)


def standard_error(model: FittedModel, X: Input, *, target: object = None) -> Floats:
    """Compute the standard errors of scores: of decision_function, or of predict in regression.

    Parameters
    ----------
    model : fitted AdditiveClassifier or AdditiveRegressor
        Or a fitted pipeline, or a search, that ends in one.
    X : array-like of shape (n_samples, n_features)
    target : class label, int or list of them, default=None
        As in :func:`shape_function`. With several classes, a score is that of a class minus the
        mean over all classes.

    Returns
    -------
    errors : ndarray of shape (n_samples,) or (n_samples, n_outputs)

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from splinear import AdditiveRegressor
    >>> from splinear.inspection import standard_error
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = AdditiveRegressor(random_state=0).fit(X, y)
    >>> standard_error(model, X[:3]).shape
    (3,)
    """
    model, X = resolve(model, X)
    posteriors_of(model)
    output = output_of(model, target)
    return score_errors(model, X)[1][:, output]


def has_band(model: AdditiveEstimator, term: FittedTerm) -> bool:
    """Return whether the band of a term can be computed."""
    return bool(model._posteriors) and not is_too_large(term.group)


def posterior_of(
    model: AdditiveEstimator, term: FittedTerm, output: int
) -> tuple[JointPosterior, CurvePosterior | None]:
    """Return the joint posterior, and that of a term's curve; None if the term is constant."""
    if is_too_large(term.group):
        raise ValueError(
            f"Feature {term.name!r} has more than {MOST_PARAMETERS:,} levels or pieces, too many "
            "for a band."
        )
    joint = next(own for own in posteriors_of(model) if output in own.outputs)
    return joint, joint.curve(term.features[0], output)


@one_blas_thread()
def curve_errors(model: AdditiveEstimator, term: FittedTerm, x: AnyArray) -> Floats:
    """Return the standard errors (n, n_outputs) of a centered curve at numbers x (n,)."""
    out = np.zeros((len(x), len(model.intercept_)))
    for output in range(out.shape[1]):
        _, curve = posterior_of(model, term, output)
        if curve is not None:
            directions = term.with_parameters(curve.directions)
            values = directions.evaluate(x) - directions.mean
            out[:, output] = np.sqrt(values**2 @ curve.variances)
    return out


@one_blas_thread()
def half_widths(
    model: AdditiveEstimator, term: FittedTerm, x: AnyArray, level: float, kind: BandKind
) -> Floats:
    """Return half the width (n, n_outputs) of the band at numbers x (n,) of the feature."""
    _check_kind(kind)
    reach = np.zeros(len(model.intercept_))
    for output in range(len(reach)):
        joint, curve = posterior_of(model, term, output)
        reach[output] = critical(level, joint.n_left)
        if curve is not None and kind == "simultaneous":
            directions = term.with_parameters(curve.directions)
            gap = [np.nan] if term.had_missing else []
            whole = directions.evaluate(np.append(places_of(term), gap)) - directions.mean
            random = np.random.default_rng(SEED)
            draws = random.standard_normal((N_DRAWS, len(curve.mu)))
            deviations = (draws * np.sqrt(curve.variances)) @ whole.T
            errors = np.sqrt(whole**2 @ curve.variances)
            of_all = _largest(deviations, errors, level, joint.n_left, random)
            reach[output] = max(reach[output], of_all)
    return reach * curve_errors(model, term, x)


def _check_kind(kind: str) -> None:
    if kind not in ("pointwise", "simultaneous"):
        raise ValueError(f'kind must be "pointwise" or "simultaneous"; got {kind!r}.')


def _largest(
    deviations: Floats, errors: Floats, level: float, n_left: float, random: np.random.Generator
) -> float:
    """Return the number of standard errors that contain a whole curve with this probability.

    `deviations` (n_draws, n) are posterior draws, and `errors` (n,) their standard errors.
    """
    varies = errors > 1e-12 * errors.max(initial=0.0)
    if not varies.any():
        return 0.0
    largest = np.abs(deviations[:, varies] / errors[varies]).max(axis=1)
    if not np.isinf(n_left):
        largest *= np.sqrt(n_left / random.chisquare(n_left, len(largest)))
    return float(np.quantile(largest, level))


# -- surfaces --------------------------------------------------------------------------------------


def posteriors_of_pair(
    model: AdditiveEstimator, pair: FittedPair, output: int
) -> tuple[JointPosterior, list[tuple[float, SurfacePosterior | VaryingPosterior]]]:
    """Return the joint posterior, and the weighted independent posteriors of a surface.

    With several classes, the surface of a class minus the mean over classes is a weighted sum over
    classes. The list is empty if the surface is constant.
    """
    joint = next(own for own in posteriors_of(model) if output in own.outputs)
    n, parts = len(joint.outputs), []
    for k in joint.outputs:
        found = joint.surface(pair.features, k)
        weight = float(k == output) - (1.0 / n if n > 1 else 0.0)
        if found is not None:
            parts.append((weight, found))
    return joint, parts


@one_blas_thread()
def surface_errors(model: AdditiveEstimator, pair: FittedPair, x: AnyArray, z: AnyArray) -> Floats:
    """Return the standard errors (n, n_outputs) of a surface at numbers of its features."""
    of = dict(zip(pair.features, (x, z), strict=True))
    at = [of[chain.feature] for chain in pair.group.chains[0]]
    out = np.zeros((len(x), len(model.intercept_)))
    for output in range(out.shape[1]):
        _, parts = posteriors_of_pair(model, pair, output)
        out[:, output] = sum((w**2 * own.variances(*at) for w, own in parts), out[:, output])
    return np.sqrt(out)


@one_blas_thread()
def surface_half_widths(
    model: AdditiveEstimator,
    pair: FittedPair,
    x: AnyArray,
    z: AnyArray,
    level: float,
    kind: BandKind,
) -> Floats:
    """Return half the width (n, n_outputs) of the band at numbers of the features of a pair."""
    _check_kind(kind)
    reach = np.zeros(len(model.intercept_))
    for output in range(len(reach)):
        joint, parts = posteriors_of_pair(model, pair, output)
        reach[output] = critical(level, joint.n_left)
        if kind == "simultaneous" and parts:
            reach[output] = max(reach[output], _simultaneous(parts, level, joint.n_left))
    return reach * surface_errors(model, pair, x, z)


def _simultaneous(
    parts: list[tuple[float, SurfacePosterior | VaryingPosterior]], level: float, n_left: float
) -> float:
    """Return the number of standard errors that contain a surface at all nodes with rows."""
    random, group = np.random.default_rng(SEED), parts[0][1].group
    deviations, variances = np.zeros((N_DRAWS, group.size)), np.zeros(group.size)
    for weight, own in parts:
        deviations += weight * own.draws(random.standard_normal(deviations.shape))
        variances += weight**2 * np.maximum(own.node_variances, 0.0)
    reached = group.mass.ravel() > 0
    errors = np.sqrt(variances[reached])
    return _largest(deviations[:, reached], errors, level, n_left, random)
