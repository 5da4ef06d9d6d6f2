"""Curves, contributions and importances of a fitted model, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from scipy import sparse

from splinear._types import AnyArray, Floats, Input
from splinear.estimators.base import AdditiveEstimator
from splinear.inspection.adding import (
    InMemory,
    added,
    added_by_pairs,
    column_of,
    sparse_contributions,
    stays_sparse,
)
from splinear.inspection.naming import (
    Output,
    check_listed,
    feature_index,
    one_output,
    output_of,
    pair_of,
    term_names,
)
from splinear.inspection.resolving import FittedModel, resolve, resolve_model
from splinear.model.fitted import FittedPair, FittedTerm
from splinear.model.layout import check_ranges
from splinear.tables.checks import check_in_range, column_ranges, feature_label
from splinear.terms.axes import steps
from splinear.terms.group import Extrapolation

__all__ = [
    "base_value",
    "contributions",
    "knots",
    "shape_function",
    "shape_functions",
    "surface",
]

_N_PLACES = 200  # points at which a whole curve is evaluated, besides its knots

Grid: TypeAlias = Sequence[object] | AnyArray  # numbers, or levels


def shape_function(
    model: FittedModel,
    feature: int | str,
    grid: Grid | None = None,
    n_points: int = 200,
    *,
    target: object = None,
    center: bool = False,
    X: Input = None,
) -> tuple[AnyArray, Floats]:
    """Compute the curve of one feature, or the effects of its levels.

    Parameters
    ----------
    model : fitted AdditiveClassifier, AdditiveSVC, AdditiveRegressor or AdditiveSVR
        Or a fitted pipeline, or a search, that ends in one.
    feature : int or str
        Position, or column name.
    grid : array-like of shape (n_points,), default=None
        Where to evaluate. Beyond the training range, the term's `extrapolation` applies; NaN is a
        missing value. For a category: levels, None for missing. By default `n_points` equally
        spaced values over the training range, or the levels seen in fit.
    n_points : int, default=200
    target : class label, int or list of them, default=None
        Whose curve: one of `classes_`, or the position of a label for multilabel models. None means
        all of them; with two classes there is one curve, that of `classes_[1]`.
    center : bool, default=False
        Whether to subtract the mean of the curve over X, or over the training rows if X is None.
    X : array-like of shape (n_samples, n_features), default=None

    Returns
    -------
    x : ndarray of shape (n_points,)
    f : ndarray of shape (n_points,) or (n_points, n_outputs)
        With several outputs and `target=None`, one curve per column.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from splinear import AdditiveRegressor
    >>> from splinear.inspection import shape_function
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = AdditiveRegressor(random_state=0).fit(X, y)
    >>> x, f = shape_function(model, "bmi", n_points=50, center=True)
    >>> bool(f[-1] > f[0])  # a larger body mass index raises the prediction
    True
    """
    model, X = resolve(model, X)
    output, j = output_of(model, target), feature_index(model, feature)
    table = None if X is None or not center else read_numbers(model, X)
    return curve_of(model, output, j, grid_of(model, j, grid, n_points), center, table)


def shape_functions(
    model: FittedModel,
    features: Sequence[int | str] | None = None,
    n_points: int = 200,
    *,
    target: object = None,
    center: bool = False,
    X: Input = None,
) -> tuple[Floats, Floats]:
    """Compute the curves of several features, each at `n_points` values over its range.

    Parameters
    ----------
    model : fitted AdditiveClassifier, AdditiveSVC, AdditiveRegressor or AdditiveSVR
        Or a fitted pipeline, or a search, that ends in one.
    features : sequence of int or str, default=None
        Which features, in this order; by default all of them. Categories are not allowed.
    n_points, target, center, X
        As in :func:`shape_function`.

    Returns
    -------
    x : ndarray of shape (len(features), n_points)
        One grid per row.
    f : ndarray of shape (len(features), n_points) or (len(features), n_points, n_outputs)
        One curve per row; there is a last axis if there are several outputs and `target=None`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from splinear import AdditiveRegressor
    >>> from splinear.inspection import shape_functions
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = AdditiveRegressor(random_state=0).fit(X, y)
    >>> x, f = shape_functions(model, ["bmi", "bp"], n_points=50)
    >>> f.shape
    (2, 50)
    """
    model, X = resolve(model, X)
    columns = _curves_of(model, features)
    table = None if X is None or not center else read_numbers(model, X)
    output = output_of(model, target)
    x = np.empty((len(columns), check_n_points(n_points)))
    f = np.empty((*x.shape, *model.intercept_[output].shape))
    for row, j in enumerate(columns):
        x[row], f[row] = curve_of(
            model, output, j, grid_of(model, j, None, n_points), center, table
        )
    return x, f


def base_value(model: FittedModel, *, target: object = None) -> float | Floats:
    """Return what all rows have in common: the intercept, plus the means of all terms.

    Parameters
    ----------
    model : fitted AdditiveClassifier, AdditiveSVC, AdditiveRegressor or AdditiveSVR
        Or a fitted pipeline, or a search, that ends in one.
    target : class label, int or list of them, default=None
        As in :func:`shape_function`.

    Returns
    -------
    base : float or ndarray of shape (n_outputs,)

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from splinear import AdditiveRegressor
    >>> from splinear.inspection import base_value, contributions
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = AdditiveRegressor(random_state=0).fit(X, y)
    >>> score = base_value(model) + contributions(model, X).sum(axis=1)
    >>> bool(abs(score - model.predict(X)).max() < 1e-9)
    True
    """
    model = resolve_model(model)
    base = (model.intercept_ + model._model.means.sum(axis=1))[output_of(model, target)]
    return base if np.ndim(base) else float(base)


def contributions(
    model: FittedModel, X: Input, *, target: object = None, center: bool = True
) -> Floats | sparse.csr_array:
    """Split the score of every row into what each feature, and each pair of features, adds to it.

    `base_value(model) + contributions(model, X).sum(axis=1)` is `model.decision_function(X)`, or
    `model.predict(X)` in regression (its logarithm for losses with a log link). Offsets are no part
    of it.

    Parameters
    ----------
    model : fitted estimator, or a fitted pipeline or search that ends in one
    X : array-like of shape (n_samples, n_features)
    target : class label, int or list of them, default=None
        As in :func:`shape_function`.
    center : bool, default=True
        Whether to subtract the mean of every term over the training rows. If not, add
        `model.intercept_` in place of the base value.

    Returns
    -------
    parts : ndarray of shape (n_samples, n_parts) or (n_samples, n_parts, n_outputs)
        Entry (i, j) is what feature j adds to the score of row i. The surfaces `terms_.pairs`
        follow after the features, so n_parts is n_features plus the number of surfaces;
        :func:`term_names` names all columns. There is a last axis if there are several outputs and
        `target=None`. The result is a CSR array (n_samples, n_features) if X is sparse, the terms
        are zero at zero and `center` is False; with several outputs, `target` must then choose one.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from splinear import AdditiveRegressor
    >>> from splinear.inspection import contributions
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = AdditiveRegressor(random_state=0).fit(X, y)
    >>> parts = contributions(model, X)
    >>> parts.shape
    (442, 10)
    >>> bool(abs(parts.mean(axis=0)).max() < 0.001)  # centered
    True
    """
    model, X = resolve(model, X)
    output = output_of(model, target)
    table = read_numbers(model, X)
    if stays_sparse(table, model) and not center:
        chosen = one_output(model, target, "if X is sparse")
        return sparse_contributions(model, chosen, table)
    shape = (table.shape[0], len(term_names(model)), *model.intercept_[output].shape)
    parts = np.zeros(shape, order="F")  # written column by column
    for j, f, mean in added(model, table):
        parts[:, j] = f[:, output] - mean[output] if center else f[:, output]
    for k, (_, f) in enumerate(added_by_pairs(model, table)):
        parts[:, model.n_features_in_ + k] = f[:, output]
    return parts


def surface(
    model: FittedModel,
    features: tuple[int | str, int | str],
    grids: tuple[Grid | None, Grid | None] = (None, None),
    n_points: int = 50,
    *,
    target: object = None,
) -> tuple[AnyArray, AnyArray, Floats]:
    """Compute the surface of two features: what they add together beyond what each adds alone.

    Parameters
    ----------
    model : fitted AdditiveClassifier or AdditiveRegressor
    features : tuple of two int or str
        Positions, or column names; `terms_.pairs` says which pairs have a surface.
    grids : tuple of two array-like, default=(None, None)
        Where to evaluate, each as `grid` in :func:`shape_function`.
    n_points : int, default=50
        The number of values along each numeric feature without a grid.
    target : class label, int or list of them, default=None
        As in :func:`shape_function`.

    Returns
    -------
    x : ndarray of shape (n_x,)
        Values of the first feature.
    z : ndarray of shape (n_z,)
        Values of the second.
    f : ndarray of shape (n_x, n_z) or (n_x, n_z, n_outputs)

    Examples
    --------
    >>> import numpy as np
    >>> from splinear import AdditiveRegressor
    >>> from splinear.inspection import surface
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    >>> model = AdditiveRegressor(interactions=[(0, 1)]).fit(X, X[:, 0] * X[:, 1])
    >>> x, z, f = surface(model, (0, 1), n_points=11)
    >>> f.shape
    (11, 11)
    >>> bool(f[0, 0] > 0 > f[0, -1])  # (-1)(-1) is positive, (-1)(1) is negative
    True
    """
    model = resolve_model(model)
    output = output_of(model, target)
    j, k, pair = pair_of(model, features)
    x, z = (grid_of(model, at, grid, n_points) for at, grid in zip((j, k), grids, strict=True))
    f = pair.evaluate(*numbers_of_pair(model, pair, {j: x, k: z}))[:, output]
    return x, z, f.reshape(len(x), len(z), *f.shape[1:])


def knots(model: FittedModel, feature: int | str) -> Floats:
    """Return where the pieces of a curve meet, both ends included, in the feature's units.

    Parameters
    ----------
    model : fitted AdditiveClassifier, AdditiveSVC, AdditiveRegressor or AdditiveSVR
        Or a fitted pipeline, or a search, that ends in one.
    feature : int or str

    Returns
    -------
    places : ndarray of shape (n_knots,)
        Ascending. Empty if there are none: Fourier and Hermite curves have a single piece, and a
        constant feature, a category or a dropped feature has no curve.

    Examples
    --------
    >>> import numpy as np
    >>> from splinear import AdditiveRegressor
    >>> from splinear.inspection import knots
    >>> from splinear.terms import Spline
    >>> x = np.linspace(0, 1, 100)[:, None]
    >>> model = AdditiveRegressor(Spline(4, knots="uniform")).fit(x, x[:, 0] ** 2)
    >>> knots(model, 0)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    model = resolve_model(model)
    term = model.terms_.of_feature(feature_index(model, feature))
    return np.empty(0) if term is None else term.knots


def read_numbers(model: AdditiveEstimator, X: Input) -> InMemory:
    """Check X like predict, and return it as numbers, as a CSC matrix if it is sparse."""
    table = model._read_table(X)
    check_ranges(model, model._model.layout, table)
    column_ranges(model, table, gaps=model._columns.takes_gaps)
    whole = table.whole()
    return sparse.csc_array(whole) if isinstance(whole, sparse.csr_array) else whole


def check_n_points(n_points: int) -> int:
    """Return n_points; raise if the grid would be empty."""
    if n_points < 1:
        raise ValueError(f"n_points must be at least 1; got {n_points}.")
    return n_points


def _curves_of(model: AdditiveEstimator, features: Sequence[int | str] | None) -> list[int]:
    """Return the positions of features; raise if one is a category."""
    check_listed(features)
    wanted = range(model.n_features_in_) if features is None else features
    columns = [feature_index(model, feature) for feature in wanted]
    for j in columns:
        term = model.terms_.of_feature(j)
        if term is not None and term.levels is not None:
            raise ValueError(
                f"Feature {term.name!r} is a category and has no curve; leave it out of "
                "`features`, and ask shape_function for the effects of its levels."
            )
    return columns


def grid_of(model: AdditiveEstimator, j: int, grid: Grid | None, n_points: int) -> AnyArray:
    """Return the points for the curve of feature j: the user's grid, or its whole range."""
    term = model.terms_.of_feature(j)
    if term is not None and term.levels is not None:
        if isinstance(grid, str):
            raise TypeError(f"grid must be a list of levels; got the text {grid!r}.")
        of_fit = [*term.levels, *([None] if term.had_missing else [])]
        levels = of_fit if grid is None else list(grid)
        if not levels:
            raise ValueError("grid must be a list of at least one level; it is empty.")
        return _as_objects(levels)
    if grid is None:
        lo, hi = (0.0, 0.0) if term is None else (term.lo, term.hi)
        return steps(lo, hi, check_n_points(n_points))
    x = np.asarray(grid, dtype=np.float64)
    if x.ndim != 1 or x.size == 0:
        raise ValueError(f"grid must be a list of at least one number; got shape {x.shape}.")
    if np.isinf(x).any() or (np.isnan(x).any() and not model._columns.takes_gaps):
        raise ValueError("grid must hold finite numbers; it contains NaN or infinity.")
    if term is not None and term.group.extrapolation is Extrapolation.ERROR:
        check_in_range(model, x, j, term.lo, term.hi)
    return x


def _as_objects(levels: Sequence[object]) -> AnyArray:
    """Return levels as an array of objects."""
    out = np.empty(len(levels), dtype=object)
    out[:] = levels
    return out


def curve_of(
    model: AdditiveEstimator,
    output: Output,
    j: int,
    x: AnyArray,
    center: bool,
    table: InMemory | None = None,
) -> tuple[AnyArray, Floats]:
    """Return x and the curve of feature j there, centered over `table` or the training rows."""
    term = model.terms_.of_feature(j)
    if term is None:  # dropped
        return x, np.zeros((len(x), *model.intercept_[output].shape))
    f = term.evaluate(numbers_of(model, j, x))[:, output]
    if center:
        f = f - (term.mean[output] if table is None else _mean(term, table, j)[output])
    return x, f


def numbers_of(model: AdditiveEstimator, j: int, x: AnyArray) -> AnyArray:
    """Return grid values as the numbers that the term of feature j is evaluated on."""
    numbers: AnyArray = model._columns.numbers_of(j, x, lambda k: feature_label(model, k))
    return numbers


def numbers_of_pair(
    model: AdditiveEstimator, pair: FittedPair, grids: dict[int, AnyArray]
) -> tuple[AnyArray, AnyArray]:
    """Return all points of two features' grids as numbers, in the order of the pair's features."""
    (j, x), (k, z) = grids.items()
    first = np.repeat(numbers_of(model, j, x), len(z))
    second = np.tile(numbers_of(model, k, z), len(x))
    return (first, second) if j == pair.features[0] else (second, first)


def places_of(term: FittedTerm) -> Floats:
    """Return the points that represent a whole curve: all levels, or equal steps and knots."""
    if term.levels is not None:
        return np.arange(float(len(term.levels)))
    return np.union1d(np.linspace(term.lo, term.hi, _N_PLACES), term.knots)


def sides_of(knots: Floats) -> tuple[Floats, Floats]:
    """Return points just before and just after each knot, within the range of all."""
    beside = 1e-9 * np.diff(knots)  # of the neighbors, because ranges may have many magnitudes
    return knots - np.append([0.0], beside), knots + np.append(beside, [0.0])


def _mean(term: FittedTerm, table: InMemory, j: int) -> Floats:
    return np.asarray(term.evaluate(column_of(table, j)).mean(axis=0))
