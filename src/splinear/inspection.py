"""What a fitted model has learned, as arrays.

An additive model is f(x) = b + sum_j f_j(x_j), so it can be read curve by curve: f_j is
`coef_[0, j] @ B(x_j)`, what feature j adds to the score of a row (or to the prediction, in
regression). With several classes, or several labels a row, every output k has such curves of its
own, `coef_[k, j] @ B(x_j)`; `target` chooses one. Nothing here draws anything;
:mod:`splinear.plotting` does.

Features are the user's. A categorical one, or one with missing values, has several columns in the
model (:func:`column_names`); what they add is summed.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from splinear import _core
from splinear._columns import Gap, Levels, read_table
from splinear._reading import Source, as_dense, as_matrix
from splinear._sparse import is_sparse
from splinear._types import AnyArray, Floats, Table
from splinear._validation import check_in_range, column_ranges, feature_label
from splinear.basis import BSplineBasis

__all__ = [
    "column_names",
    "contributions",
    "feature_index",
    "feature_names",
    "importances",
    "knots",
    "shape_function",
    "shape_functions",
]

_BLOCK = 8192  # values evaluated at a time: the basis needs _BLOCK * size floats, whatever X holds


def shape_function(
    model: Any,
    feature: int | str,
    grid: Any = None,
    n_points: int = 200,
    *,
    target: Any = None,
    center: bool = False,
    X: Any = None,
) -> tuple[AnyArray, Floats]:
    """Compute the curve f_j(x) = coef_[k, j] @ B(x) of one feature, or the effects of its levels.

    Parameters
    ----------
    model : fitted AdditiveClassifier or AdditiveRegressor
    feature : int or str
        The feature's position, or its column name when the model was fitted on named columns.
    grid : array-like of shape (n_points,), default=None
        Where to evaluate, in the feature's own units; outside the training range as the model's
        `extrapolation` says. None is `n_points` equal steps over the training range. NaN is where
        missing values are, if the feature had some in fit. For a categorical feature: levels, None
        for missing; by default those of fit.
    n_points : int, default=200
        Length of the grid when none is given.
    target : class label or int, default=None
        Whose curve: one of `classes_`, or the position of a label for multilabel models. None is
        all of them. Two classes have one curve, that of `classes_[1]`, and regression has one:
        there it is not needed.
    center : bool, default=False
        Whether to subtract the mean of the curve: over the rows of X if X is given, over the grid
        otherwise.
    X : array-like of shape (n_samples, n_features), default=None
        The rows over which a centred curve has mean zero.

    Returns
    -------
    x : ndarray of shape (n_points,)
        The grid; an array of objects for a categorical feature.
    f : ndarray of shape (n_points,) or (n_points, n_outputs)
        The curve on it; one a column for several outputs and `target=None`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from splinear import AdditiveClassifier
    >>> from splinear.inspection import shape_function
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = AdditiveClassifier(random_state=0).fit(X, y)
    >>> x, f = shape_function(model, "worst radius", n_points=50)
    >>> x.shape, f.shape
    ((50,), (50,))
    """
    _check_model(model)
    output, j = _output_of(model, target), feature_index(model, feature)
    table = None if X is None or not center else _finite_table(model, X)
    return _curve(model, output, j, _grid(model, j, grid, n_points), center, table)


def shape_functions(
    model: Any,
    features: Sequence[int | str] | None = None,
    n_points: int = 200,
    *,
    target: Any = None,
    center: bool = False,
    X: Any = None,
) -> tuple[Floats, Floats]:
    """Compute the curves of several features, each on `n_points` equal steps of its own range.

    Parameters
    ----------
    model : fitted AdditiveClassifier or AdditiveRegressor
    features : sequence of int or str, default=None
        Which features, in this order; None is all of them. None of them may be categorical.
    n_points, target, center, X
        As in :func:`shape_function`.

    Returns
    -------
    x : ndarray of shape (len(features), n_points)
        One grid a row.
    f : ndarray of shape (len(features), n_points) or (len(features), n_points, n_outputs)
        One curve a row; the last axis is there for several outputs and `target=None`.
    """
    _check_model(model)
    wanted = range(model.n_features_in_) if features is None else features
    columns = [feature_index(model, feature) for feature in wanted]
    for j in columns:
        if isinstance(model.columns_.special.get(j), Levels):
            raise ValueError(
                f"Feature {feature_names(model)[j]!r} is categorical and has no curve; leave it "
                "out of `features`, and ask shape_function for the effects of its levels."
            )
    table = None if X is None or not center else _finite_table(model, X)
    output = _output_of(model, target)
    x = np.empty((len(columns), _check_n_points(n_points)))
    f = np.empty((*x.shape, *model.intercept_[output].shape))
    for row, j in enumerate(columns):
        x[row], f[row] = _curve(model, output, j, _grid(model, j, None, n_points), center, table)
    return x, f


def contributions(model: Any, X: Any, *, target: Any = None) -> Floats | sparse.csr_array:
    """Split the score of every row into what each feature adds to it.

    `model.intercept_ + contributions(model, X).sum(axis=1)` is `model.decision_function(X)`, or
    `model.predict(X)` in regression.

    Parameters
    ----------
    model : fitted AdditiveClassifier or AdditiveRegressor
    X : array-like of shape (n_samples, n_features)
    target : class label or int, default=None
        As in :func:`shape_function`.

    Returns
    -------
    parts : ndarray of shape (n_samples, n_features) or (n_samples, n_features, n_outputs)
        Entry (i, j) is f_j(x_ij); the last axis is there for several outputs and `target=None`. A
        CSR array (n_samples, n_features) if X is sparse and the curves are zero at zero; of several
        outputs `target` then chooses one.
    """
    _check_model(model)
    output = _output_of(model, target)
    table = _finite_table(model, X)
    if _stays_sparse(model, table):
        if isinstance(output, slice):
            raise ValueError(
                "target must be given if X is sparse and the model has several outputs: one of "
                f"{', '.join(map(repr, model.classes_.tolist()[:20]))}."
            )
        return _sparse_contributions(model, output, table)
    shape = (table.shape[0], model.n_features_in_, *model.intercept_[output].shape)
    parts = np.empty(shape, order="F")  # written column by column
    for j, group in enumerate(model.columns_.groups):
        parts[:, j] = _evaluate(model, output, group, _columns_of(table, group))
    return parts


def importances(model: Any, X: Any, *, target: Any = None) -> Floats:
    """Measure how much each feature moves the score: the standard deviation of f_j over X.

    A curve that is flat where the data lie scores 0, however steep it is elsewhere. One column is
    held at a time, never the table of all contributions.

    Parameters
    ----------
    model : fitted AdditiveClassifier or AdditiveRegressor
    X : array-like of shape (n_samples, n_features)
    target : class label or int, default=None
        As in :func:`shape_function`; None is the mean over all outputs.

    Returns
    -------
    deviations : ndarray of shape (n_features,)
        In the units of the decision function, or of the target in regression.
    """
    _check_model(model)
    output = _output_of(model, target)
    table = _finite_table(model, X)
    if _stays_sparse(model, table):
        outputs = range(len(model.coef_))[output] if isinstance(output, slice) else [output]
        found = (_deviations(_sparse_contributions(model, k, table)) for k in outputs)
        return np.asarray(np.mean(list(found), axis=0))
    groups = model.columns_.groups
    parts = (_evaluate(model, output, group, _columns_of(table, group)) for group in groups)
    return np.array([part.std(axis=0).mean() for part in parts])


def knots(model: Any, feature: int | str) -> Floats:
    """Give the places where the pieces of a curve meet, both ends included, in the feature's units.

    Parameters
    ----------
    model : fitted AdditiveClassifier or AdditiveRegressor
    feature : int or str

    Returns
    -------
    places : ndarray of shape (n_knots,)
        Ascending. Empty where there are none: Fourier and Hermite curves on uniform axes are in one
        piece, and a constant or categorical feature has no curve.
    """
    _check_model(model)
    j = feature_index(model, feature)
    if isinstance(model.columns_.special.get(j), Levels):
        return np.empty(0)
    j = int(model.columns_.starts[j])
    axes, basis = model.embedding_.axes, model.embedding_.basis
    if not axes.varies[j]:
        return np.empty(0)
    placed = axes.knots_of(j)
    if placed is not None:
        return np.unique(placed)
    if isinstance(basis, BSplineBasis):
        return _steps(axes.lo[j], axes.hi[j], int(axes.length[j]) + 1)
    return np.empty(0)


def feature_names(model: Any) -> list[str]:
    """Give the column names the model was fitted on, or x0, x1, ... where it had none.

    Parameters
    ----------
    model : fitted AdditiveClassifier or AdditiveRegressor

    Returns
    -------
    names : list of str
    """
    _check_model(model)
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return [f"x{j}" for j in range(model.n_features_in_)]
    return [str(name) for name in names]


def column_names(model: Any) -> list[str]:
    """Name the columns of the model, which are those of `coef_`.

    A feature of numbers has one, of its own name, and a second, "age is missing", if it had missing
    values in fit. A categorical feature has one a level, like "colour=red".

    Parameters
    ----------
    model : fitted AdditiveClassifier or AdditiveRegressor

    Returns
    -------
    names : list of str
    """
    names = feature_names(model)
    found: list[str] = model.columns_.names(names)
    return found


def feature_index(model: Any, feature: int | str, names: Sequence[str] | None = None) -> int:
    """Find a feature's position from its position or its name.

    Parameters
    ----------
    model : fitted AdditiveClassifier or AdditiveRegressor
    feature : int or str
    names : sequence of str of length n_features, default=None
        Names to search instead of those the model was fitted on.

    Returns
    -------
    j : int
        From 0 to n_features - 1.

    Raises
    ------
    ValueError
        If there is no such feature; the message names it and says what exists.
    """
    _check_model(model)
    if isinstance(feature, str):
        known = getattr(model, "feature_names_in_", None) if names is None else names
        return _position_of(feature, known, model.n_features_in_)
    if not isinstance(feature, Integral) or isinstance(feature, bool):
        raise TypeError(
            f"feature must be a whole number or a column name; got {feature!r} "
            f"of type {type(feature).__name__}."
        )
    if not 0 <= feature < model.n_features_in_:
        raise ValueError(f"There is no feature {feature}: {_span(model.n_features_in_)}.")
    return int(feature)


def _position_of(name: str, known: Any, n_features: int) -> int:
    if known is None:
        raise ValueError(
            f"There is no feature {name!r}: the model was fitted without column names, and "
            f"{_span(n_features)}. Give a number, or fit on a data frame."
        )
    names = [str(other) for other in known]
    if name in names:
        return names.index(name)
    close = get_close_matches(name, names, n=1)
    guess = f" Did you mean {close[0]!r}?" if close else ""
    shown = ", ".join(repr(other) for other in names[:10])
    rest = f", ... ({len(names)} in all)" if len(names) > 10 else ""
    raise ValueError(f"There is no feature {name!r}.{guess} The features are {shown}{rest}.")


def _span(n_features: int) -> str:
    return "the only one is 0" if n_features == 1 else f"they run from 0 to {n_features - 1}"


def _check_model(model: Any) -> None:
    """Refuse what has no curves, and what has none yet."""
    check_is_fitted(model)
    if not (hasattr(model, "coef_") and hasattr(model, "embedding_")):
        raise TypeError(
            "A fitted AdditiveClassifier or AdditiveRegressor is needed; "
            f"got {type(model).__name__}. "
            "Of a pipeline, pass the last step, and X as that step sees it."
        )


def _finite_table(model: Any, X: Any) -> Table:
    """Validate X as predict does, and give it in the columns of the model: finite numbers.

    A sparse X is given by columns.
    """
    table = read_table(model, X)
    if isinstance(table, Source):
        table = as_matrix(table)
    column_ranges(model, table)
    return sparse.csc_array(table) if is_sparse(table) else table


def _columns_of(table: Table, group: slice) -> AnyArray:
    """Give some columns of a table as an array."""
    return as_dense(table[:, group])


def _stays_sparse(model: Any, table: Table) -> bool:
    return is_sparse(table) and model.embedding_.through_zero


def _sparse_contributions(model: Any, output: int, table: sparse.csc_array) -> sparse.csr_array:
    """f_j(x_ij) of one output for a table by columns, where x_ij is not zero."""
    embedding = model.embedding_
    features = np.repeat(np.arange(table.shape[1], dtype=np.int32), np.diff(table.indptr))
    axes = embedding.axes.core()
    parts = np.empty(table.nnz)
    for start in range(0, table.nnz, _BLOCK):
        block = slice(start, start + _BLOCK)
        arguments = _core.sparse_arguments(features[block], table.data[block], axes)
        curves = model.coef_[output][features[block]]
        parts[block] = np.sum(embedding.basis.evaluate(arguments) * curves, axis=1)
    if model.extrapolation != "constant":
        lo, hi = embedding.axes.lo[features], embedding.axes.hi[features]
        outside = (table.data < lo) | (table.data > hi)
        for j in map(int, np.unique(features[outside])):
            if model.extrapolation == "error":
                check_in_range(model, _columns_of(table, slice(j, j + 1))[:, 0], j, embedding.axes)
            here = slice(table.indptr[j], table.indptr[j + 1])
            parts[here] += embedding.continuation(table.data[here], j, model.coef_[output, j])
    by_column = sparse.csc_array((parts, table.indices, table.indptr), shape=table.shape)
    return sparse.csr_array(by_column)


def _deviations(parts: sparse.csr_array) -> Floats:
    """Give the standard deviation of every column, zeros included."""
    n = parts.shape[0]
    mean = np.asarray(parts.sum(axis=0)) / n
    by_column = parts.tocsc()
    of = np.repeat(np.arange(parts.shape[1]), np.diff(by_column.indptr))
    squares = np.bincount(of, (by_column.data - mean[of]) ** 2, minlength=parts.shape[1])
    zeros = n - np.diff(by_column.indptr)
    return np.sqrt((squares + zeros * mean**2) / n)


def _check_n_points(n_points: int) -> int:
    if n_points < 1:
        raise ValueError(f"n_points must be at least 1; got {n_points}.")
    return n_points


def _grid(model: Any, j: int, grid: Any, n_points: int) -> AnyArray:
    kind = model.columns_.special.get(j)
    if isinstance(kind, Levels):
        levels = [*kind.levels, *([None] if kind.missing else [])] if grid is None else list(grid)
        return _as_objects(levels)
    if grid is None:
        axes, column = model.embedding_.axes, model.columns_.starts[j]
        return _steps(axes.lo[column], axes.hi[column], _check_n_points(n_points))
    x = np.asarray(grid, dtype=np.float64)
    if x.ndim != 1 or x.size == 0:
        raise ValueError(f"grid must be a list of at least one number; got shape {x.shape}.")
    if not (np.isfinite(x) | (isinstance(kind, Gap) & np.isnan(x))).all():
        raise ValueError("grid must hold finite numbers; it contains NaN or infinity.")
    return x


def _as_objects(levels: list[Any]) -> AnyArray:
    """Make an array of the levels, whatever they are."""
    out = np.empty(len(levels), dtype=object)
    out[:] = levels
    return out


def _steps(lo: float, hi: float, n: int) -> Floats:
    """Equal steps from lo to hi; their difference, which may overflow, is never formed."""
    share = np.linspace(0.0, 1.0, n)
    return np.clip(lo * (1.0 - share) + hi * share, lo, hi)


def _output_of(model: Any, target: Any) -> int | slice:
    """Find the output that a target stands for; all of them for None, if there are several."""
    if target is None:
        return slice(None) if len(model.coef_) > 1 else 0
    classes = getattr(model, "classes_", None)
    if classes is None:
        raise ValueError(f"target is for classifiers; {type(model).__name__} has one output.")
    known: list[Any] = classes.tolist()[-1:] if len(model.coef_) == 1 else classes.tolist()
    if target in known:
        return known.index(target)
    shown = ", ".join(map(repr, known[:20])) + (", ..." if len(known) > 20 else "")
    if len(known) == 1:
        raise ValueError(
            f"target={target!r}, but a model of two classes has the curves of {shown} only."
        )
    raise ValueError(f"There is no target {target!r}. The classes are {shown}.")


def _curve(
    model: Any, output: int | slice, j: int, x: AnyArray, center: bool, table: Table
) -> tuple[AnyArray, Floats]:
    group = model.columns_.groups[j]
    f = _evaluate(model, output, group, model.columns_.encode(j, x, feature_label(model, j)))
    if np.isnan(f).any():  # a missing value that has no level
        raise ValueError(
            f"grid must not hold missing values: {feature_names(model)[j]!r} had none."
        )
    if center:
        over = f if table is None else _evaluate(model, output, group, _columns_of(table, group))
        f = f - over.mean(axis=0)
    return x, f


def _evaluate(model: Any, output: int | slice, group: slice, values: AnyArray) -> Floats:
    """Sum the curves of a group of columns at their values (n, n_columns), block by block.

    Gives (n,) for one output, (n, n_outputs) for all.
    """
    axes, basis = model.embedding_.axes, model.embedding_.basis
    out = np.zeros((len(values), *model.intercept_[output].shape))
    for k, column in enumerate(range(group.start, group.stop)):
        coef = model.coef_[output, column]
        for start in range(0, len(values), _BLOCK):
            block = slice(start, start + _BLOCK)
            argument = axes.argument_of(values[block, k], column)
            out[block] += basis.evaluate(argument) @ coef.T
        if model.extrapolation == "error":
            check_in_range(model, values[:, k], column, axes)
        if model.extrapolation == "linear":
            out += model.embedding_.continuation(values[:, k], column, coef)
    return out
