"""What a fitted model has learned, as arrays.

An additive model is f(x) = b + sum_k f_k(x), so it can be read term by term: f_k is what feature k
adds to the score of a row (or to the prediction, in regression). With several classes, or several
labels per row, every output has such terms of its own; `target` chooses one. Nothing here draws
anything; :mod:`splinear.plotting` does.

A term is *centered* when its mean over the training rows is taken off. Sums stay as they are if the
means go to the base value: `base_value(model) + contributions(model, X).sum(axis=1)` is the score.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from splinear import _core
from splinear._estimator import AdditiveEstimator
from splinear._reading import Source, as_dense, as_floats, as_matrix
from splinear._sparse import is_sparse
from splinear._types import AnyArray, Floats, Table
from splinear._validation import check_in_range, column_ranges, feature_label
from splinear.model.additive import group_scores
from splinear.model.fitted import FittedTerm, steps

__all__ = [
    "base_value",
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
    """Compute the curve of one feature, or the effects of its levels.

    Parameters
    ----------
    model : fitted AdditiveClassifier, AdditiveSVC, AdditiveRegressor or AdditiveSVR
    feature : int or str
        The feature's position, or its column name when the model was fitted on named columns.
    grid : array-like of shape (n_points,), default=None
        Where to evaluate, in the feature's own units; outside the training range as the term's
        `extrapolation` says. None is `n_points` equal steps over the training range. NaN is where
        missing values are. For a category: levels, None for missing; by default those of fit.
    n_points : int, default=200
        Length of the grid when none is given.
    target : class label or int, default=None
        Whose curve: one of `classes_`, or the position of a label for multilabel models. None is
        all of them. Two classes have one curve, that of `classes_[1]`, and regression has one:
        there it is not needed.
    center : bool, default=False
        Whether to subtract the mean of the curve: over the rows of X if X is given, over the
        training rows otherwise.
    X : array-like of shape (n_samples, n_features), default=None
        The rows over which a centered curve has mean zero.

    Returns
    -------
    x : ndarray of shape (n_points,)
        The grid; an array of objects for a category.
    f : ndarray of shape (n_points,) or (n_points, n_outputs)
        The curve on it; one per column for several outputs and `target=None`.

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
    output, j = output_of(model, target), feature_index(model, feature)
    table = None if X is None or not center else read_numbers(model, X)
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
    model : fitted AdditiveClassifier, AdditiveSVC, AdditiveRegressor or AdditiveSVR
    features : sequence of int or str, default=None
        Which features, in this order; None is all of them. None of them may be a category.
    n_points, target, center, X
        As in :func:`shape_function`.

    Returns
    -------
    x : ndarray of shape (len(features), n_points)
        One grid per row.
    f : ndarray of shape (len(features), n_points) or (len(features), n_points, n_outputs)
        One curve per row; the last axis is there for several outputs and `target=None`.
    """
    _check_model(model)
    if isinstance(features, str):
        raise TypeError(
            f"features must be a list of names or positions; got the text {features!r}. Write "
            f"[{features!r}]."
        )
    wanted = range(model.n_features_in_) if features is None else features
    columns = [feature_index(model, feature) for feature in wanted]
    for j in columns:
        term = model.terms_.of_feature(j)
        if term is not None and term.levels is not None:
            raise ValueError(
                f"Feature {feature_names(model)[j]!r} is a category and has no curve; leave it "
                "out of `features`, and ask shape_function for the effects of its levels."
            )
    table = None if X is None or not center else read_numbers(model, X)
    output = output_of(model, target)
    x = np.empty((len(columns), check_n_points(n_points)))
    f = np.empty((*x.shape, *model.intercept_[output].shape))
    for row, j in enumerate(columns):
        x[row], f[row] = _curve(model, output, j, _grid(model, j, None, n_points), center, table)
    return x, f


def base_value(model: Any, *, target: Any = None) -> float | Floats:
    """Return what all rows have in common: the intercept, plus the means of all terms.

    Parameters
    ----------
    model : fitted AdditiveClassifier, AdditiveSVC, AdditiveRegressor or AdditiveSVR
    target : class label or int, default=None
        As in :func:`shape_function`.

    Returns
    -------
    base : float or ndarray of shape (n_outputs,)
    """
    _check_model(model)
    base = (model.intercept_ + model._model.means.sum(axis=1))[output_of(model, target)]
    return base if np.ndim(base) else float(base)


def contributions(
    model: Any, X: Any, *, target: Any = None, center: bool = True
) -> Floats | sparse.csr_array:
    """Split the score of every row into what each feature adds to it.

    `base_value(model) + contributions(model, X).sum(axis=1)` is `model.decision_function(X)`, or
    `model.predict(X)` in regression.

    Parameters
    ----------
    model : fitted AdditiveClassifier, AdditiveSVC, AdditiveRegressor or AdditiveSVR
    X : array-like of shape (n_samples, n_features)
    target : class label or int, default=None
        As in :func:`shape_function`.
    center : bool, default=True
        Whether the mean of every term over the training rows is taken off. If not, the base is
        `model.intercept_`.

    Returns
    -------
    parts : ndarray of shape (n_samples, n_features) or (n_samples, n_features, n_outputs)
        Entry (i, j) is what feature j adds; the last axis is there for several outputs and
        `target=None`. A CSR array (n_samples, n_features) if X is sparse, the terms are zero at
        zero and `center` is False; of several outputs `target` then chooses one.
    """
    _check_model(model)
    output = output_of(model, target)
    table = read_numbers(model, X)
    if _stays_sparse(model, table) and not center:
        if isinstance(output, slice):
            raise ValueError(
                "target must be given if X is sparse and the model has several outputs: one of "
                f"{', '.join(map(repr, model.classes_.tolist()[:20]))}."
            )
        return _sparse_contributions(model, output, table)
    shape = (table.shape[0], model.n_features_in_, *model.intercept_[output].shape)
    parts = np.zeros(shape, order="F")  # written column by column
    for j, f, mean in _added(model, table):
        parts[:, j] = f[:, output] - mean[output] if center else f[:, output]
    return parts


def importances(model: Any, X: Any, *, target: Any = None) -> Floats:
    """Measure how much each feature moves the score: the standard deviation of its term over X.

    A curve that is flat where the data lie scores 0, however steep it is elsewhere. On the training
    rows it is `feature_importances_`. One column is held at a time, never the table of all
    contributions.

    Parameters
    ----------
    model : fitted AdditiveClassifier, AdditiveSVC, AdditiveRegressor or AdditiveSVR
    X : array-like of shape (n_samples, n_features)
    target : class label or int, default=None
        As in :func:`shape_function`; None is the mean over all outputs.

    Returns
    -------
    deviations : ndarray of shape (n_features,)
        In the units of the decision function, or of the target in regression.
    """
    _check_model(model)
    output = output_of(model, target)
    table = read_numbers(model, X)
    if _stays_sparse(model, table):
        n_outputs = len(model.intercept_)
        outputs = range(n_outputs)[output] if isinstance(output, slice) else [output]
        found = (_deviations(_sparse_contributions(model, k, table)) for k in outputs)
        return np.asarray(np.mean(list(found), axis=0))
    out = np.zeros(model.n_features_in_)
    for j, f, _ in _added(model, table):
        out[j] = f[:, output].std(axis=0).mean()
    return out


def knots(model: Any, feature: int | str) -> Floats:
    """Return where the pieces of a curve meet, both ends included, in the feature's units.

    Parameters
    ----------
    model : fitted AdditiveClassifier, AdditiveSVC, AdditiveRegressor or AdditiveSVR
    feature : int or str

    Returns
    -------
    places : ndarray of shape (n_knots,)
        Ascending. Empty where there are none: Fourier and Hermite curves are in one piece, and a
        constant feature, a category or one that was dropped has no curve.
    """
    _check_model(model)
    term = model.terms_.of_feature(feature_index(model, feature))
    return np.empty(0) if term is None else term.knots


def feature_names(model: Any) -> list[str]:
    """Return the column names the model was fitted on, or x0, x1, ... where it had none.

    Parameters
    ----------
    model : fitted AdditiveClassifier, AdditiveSVC, AdditiveRegressor or AdditiveSVR

    Returns
    -------
    names : list of str
    """
    _check_model(model)
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return [f"x{j}" for j in range(model.n_features_in_)]
    return [str(name) for name in names]


def feature_index(model: Any, feature: int | str, names: Sequence[str] | None = None) -> int:
    """Find a feature's position from its position or its name.

    Parameters
    ----------
    model : fitted AdditiveClassifier, AdditiveSVC, AdditiveRegressor or AdditiveSVR
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
    """Refuse what has no terms, and what has none yet."""
    if isinstance(getattr(model, "best_estimator_", None), AdditiveEstimator):
        raise TypeError("A fitted estimator is needed; of a search, pass `best_estimator_`.")
    if not isinstance(model, AdditiveEstimator):
        raise TypeError(
            "A fitted AdditiveClassifier, AdditiveSVC, AdditiveRegressor or AdditiveSVR is needed; "
            f"got {type(model).__name__}. "
            "Of a pipeline, pass the last step, and X as that step sees it."
        )
    check_is_fitted(model, "terms_")


def read_numbers(model: Any, X: Any) -> Table:
    """Validate X as predict does, and return it as numbers, by columns if it is sparse."""
    table = model._read_table(X)
    if isinstance(table, Source):
        table = as_matrix(table)
    model._check_ranges(table)
    column_ranges(model, table, gaps=model.missing == "level")
    return sparse.csc_array(table) if is_sparse(table) else table


def column_of(table: Table, j: int) -> AnyArray:
    """Return a column of a table of numbers as an array."""
    return as_dense(table[:, [j]])[:, 0]


def _added(model: Any, table: Table) -> Iterator[tuple[int, Floats, Floats]]:
    """Yield each feature that has a term, what it adds to all outputs, and the mean of that.

    What it adds is (n_rows, n_outputs), computed as scores are, one column at a time.
    """
    n_threads = model._n_threads()
    for group, parameters in model._model.parts():
        means = group.means(parameters)
        for k, j in enumerate(map(int, group.features)):
            alone = replace(group.of_features(np.array([k])), features=np.zeros(1, dtype=np.intp))
            column = as_floats(as_dense(table[:, [j]]))
            yield j, group_scores(alone, parameters[:, [k]], column, n_threads), means[:, k]


def _stays_sparse(model: Any, table: Table) -> bool:
    groups = model._model.layout.groups
    return is_sparse(table) and all(group.embedding.through_zero for group in groups)


def _sparse_contributions(model: Any, output: int, table: sparse.csc_array) -> sparse.csr_array:
    """Compute what each feature adds to one output where x is not zero, for a table by columns."""
    parts = np.zeros(table.nnz)
    starts = table.indptr
    for group, parameters in model._model.parts():
        embedding = group.embedding
        axes = embedding.axes.core()
        lengths = np.diff(starts)[group.features]
        of = np.repeat(np.arange(group.n_features, dtype=np.int32), lengths)
        within = np.arange(len(of)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        at = np.repeat(starts[group.features], lengths) + within
        tables = group.with_gap_values(parameters[output])
        for first in range(0, len(at), _BLOCK):
            block = slice(first, first + _BLOCK)
            values, j = table.data[at[block]], of[block]
            gap = np.isnan(values)
            arguments = _core.sparse_arguments(j, np.where(gap, 0.0, values), axes)
            f = np.sum(embedding.basis.evaluate(arguments) * tables[j, :-1], axis=1)
            parts[at[block]] = np.where(gap, tables[j, -1], f)
        if group.extrapolation == "linear":
            for k in range(group.n_features):
                here = slice(starts[group.features[k]], starts[group.features[k] + 1])
                parts[here] += embedding.continuation(table.data[here], k, tables[k, :-1])
    by_column = sparse.csc_array((parts, table.indices, table.indptr), shape=table.shape)
    return sparse.csr_array(by_column)


def _deviations(parts: sparse.csr_array) -> Floats:
    """Return the standard deviation of every column, zeros included."""
    n = parts.shape[0]
    mean = np.asarray(parts.sum(axis=0)) / n
    by_column = parts.tocsc()
    of = np.repeat(np.arange(parts.shape[1]), np.diff(by_column.indptr))
    squares = np.bincount(of, (by_column.data - mean[of]) ** 2, minlength=parts.shape[1])
    zeros = n - np.diff(by_column.indptr)
    return np.sqrt((squares + zeros * mean**2) / n)


def check_n_points(n_points: int) -> int:
    """Refuse an empty grid."""
    if n_points < 1:
        raise ValueError(f"n_points must be at least 1; got {n_points}.")
    return n_points


def _grid(model: Any, j: int, grid: Any, n_points: int) -> AnyArray:
    term = model.terms_.of_feature(j)
    if term is not None and term.levels is not None:
        if isinstance(grid, str):
            raise TypeError(f"grid must be a list of levels; got the text {grid!r}.")
        of_fit = [*term.levels, *([None] if term.had_gaps else [])]
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
    if np.isinf(x).any() or (np.isnan(x).any() and model.missing == "error"):
        raise ValueError("grid must hold finite numbers; it contains NaN or infinity.")
    if term is not None and term.group.extrapolation == "error":
        check_in_range(model, x, j, term.lo, term.hi)
    return x


def _as_objects(levels: list[Any]) -> AnyArray:
    """Make an array of the levels, whatever they are."""
    out = np.empty(len(levels), dtype=object)
    out[:] = levels
    return out


def output_of(model: Any, target: Any) -> int | slice:
    """Find the output that a target stands for; all of them for None, if there are several."""
    if target is None:
        return slice(None) if len(model.intercept_) > 1 else 0
    classes = getattr(model, "classes_", None)
    if classes is None:
        raise ValueError(f"target is for classifiers; {type(model).__name__} has one output.")
    known: list[Any] = classes.tolist()[-1:] if len(model.intercept_) == 1 else classes.tolist()
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
    term = model.terms_.of_feature(j)
    if term is None:  # dropped
        return x, np.zeros((len(x), *model.intercept_[output].shape))
    f = term.evaluate(_numbers(model, j, x))[:, output]
    if center:
        f = f - (term.mean[output] if table is None else _mean(term, table, j)[output])
    return x, f


def _numbers(model: Any, j: int, x: AnyArray) -> AnyArray:
    """Return grid values as the numbers that the term of feature j reads."""
    numbers: AnyArray = model._columns.numbers_of(j, x, lambda k: feature_label(model, k))
    return numbers


def _mean(term: FittedTerm, table: Table, j: int) -> Floats:
    return np.asarray(term.evaluate(column_of(table, j)).mean(axis=0))
