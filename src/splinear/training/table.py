"""The user's table, read for training or for a prediction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_X_y
from sklearn.utils.validation import validate_data

from splinear._types import AnyArray, Floats, Table
from splinear.tables.checks import check_source, check_table, check_weights, feature_label
from splinear.tables.kinds import refuse_dates, text_columns
from splinear.tables.opening import open_table
from splinear.tables.reading import (
    Source,
    as_frame,
    column_of,
    is_frame,
    is_on_disk,
    left_out_zeros,
    raw_pieces,
    with_zeros,
    without,
)
from splinear.tables.sparse import is_sparse
from splinear.tables.target import check_target
from splinear.terms.plan import TermPlan
from splinear.training.columns import MOST_AT_ONCE, Columns, InColumns, Seen

__all__ = [
    "TrainingTable",
    "as_rows",
    "find_categorical",
    "in_columns",
    "read_rows",
    "read_table",
    "term_plan",
]


@dataclass(frozen=True, eq=False)
class TrainingTable:
    """What fit was given, checked.

    Attributes
    ----------
    table : Table
        X as numbers: an array, a CSR matrix, or a Source.
    y : ndarray
    weights : ndarray of shape (n_rows,) or None
    kept : ndarray of shape (n_rows,) or None
        Which rows count; None: all.
    columns : Columns
    """

    table: Table
    y: AnyArray
    weights: Floats | None
    kept: AnyArray | None
    columns: Columns


def read_rows(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    columns: Columns | None = None,
    **options: Any,
) -> TrainingTable:
    """Check what fit was given; learn how columns become numbers, unless `columns` says so."""
    reset = columns is None
    X, y = open_table(X, y)
    y = check_target(y, numeric=options.get("y_numeric", False))
    if isinstance(X, Source):
        X = X if columns is None else columns.counted(X)
        X = check_source(estimator, X, reset=reset)
    else:
        X = as_rows(as_frame(X))
    if reset:
        X, categorical = find_categorical(estimator, X)
    else:
        X = without(X, columns.dropped)  # type: ignore[union-attr]
        categorical = columns.categorical  # type: ignore[union-attr]
    if isinstance(X, Source):
        empty = np.empty((len(X), 0))
        _, y = check_X_y(empty, y, estimator=estimator, ensure_min_features=0, **options)
    elif categorical:
        _check_rows(estimator, X)
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        _, y = check_X_y(np.zeros((len(X), 1)), y, estimator=estimator, **options)
        refuse_dates(X)
    else:
        if is_frame(X):
            _check_rows(estimator, X)
        X, y = check_table(estimator, X, y=y, reset=reset, **options)
    weights = check_weights(sample_weight, X)
    kept = None if weights is None or np.all(weights > 0) else weights > 0
    if columns is None:
        columns = _learn(estimator, X, categorical, weights)
    table = in_columns(estimator, X, columns)
    if isinstance(table, Source) and left_out_zeros(table) and _zeros_count(estimator):
        table = with_zeros(table)
    return TrainingTable(table, y, weights, kept, columns)


def _zeros_count(estimator: BaseEstimator) -> bool:
    """Tell whether the user wants a curve that is not zero at zero, whatever X is."""
    plan = term_plan(estimator)
    terms = (plan.curve, *plan.given.values())
    return any(getattr(term, "through_zero", None) is False for term in terms)


def read_table(estimator: BaseEstimator, X: Any, columns: Columns) -> Table:
    """Check the rows to predict, and return them as numbers."""
    X, _ = open_table(X)
    if isinstance(X, Source):
        X = without(check_source(estimator, columns.counted(X), reset=False), columns.dropped)
        text_columns(X)  # refuses dates, for example
        return in_columns(estimator, X, columns)
    X = without(as_rows(as_frame(X)), columns.dropped)
    if not columns.categorical:
        return in_columns(estimator, check_table(estimator, X, reset=False), columns)
    if len(getattr(X, "shape", ())) != 2 or is_sparse(X):
        check_array(X, dtype=None, estimator=estimator)  # raises
    _check_rows(estimator, X)
    validate_data(estimator, X, reset=False, skip_check_array=True)
    refuse_dates(X)
    return in_columns(estimator, X, columns)


def _check_rows(estimator: BaseEstimator, X: Any) -> None:
    """Refuse a table without rows or columns, naming its shape."""
    if 0 in X.shape:
        what = "row" if X.shape[0] == 0 else "feature"
        plural = "sample(s)" if X.shape[0] == 0 else "feature(s)"
        raise ValueError(
            f"Found array with 0 {plural} (shape={tuple(X.shape)}) while a minimum of 1 is "
            f"required by {type(estimator).__name__}: there is no {what} in X."
        )


def in_columns(estimator: BaseEstimator, X: Any, columns: Columns) -> Table:
    """Return X as numbers, in pieces if it is large or in files."""
    if columns.is_plain:
        return X
    if left_out_zeros(X):
        raise ValueError(
            f"{type(estimator).__name__} was fitted with categories or periods, and X is sparse; "
            "give a dense table."
        )
    label = partial(feature_label, estimator)
    large = is_on_disk(X) or X.shape[0] * columns.n_features > MOST_AT_ONCE
    if isinstance(X, Source) or large:
        return InColumns(X, columns, label)
    return columns.apply(X, label)


def find_categorical(estimator: BaseEstimator, X: Any) -> tuple[Any, list[int]]:
    """Find the features that are categories: by their types, the user's list and the user's terms.

    Returns X too, without what is in features that are dropped.
    """
    shape = getattr(X, "shape", ())
    if len(shape) != 2:
        return X, []  # the check of X will say what is wrong
    names = X.names if isinstance(X, Source) else getattr(X, "columns", None)
    names = None if names is None else list(names)
    given = estimator.categorical_features
    listed: set[int] = set()
    if given is not None and not isinstance(given, str):
        listed = set(_positions(given, X.shape[1], names))
    plan = TermPlan.read(estimator.curve, estimator.terms, X.shape[1], names)
    X, by_terms = without(X, plan.dropped), plan.categories
    text = set(text_columns(X))
    by_type = text if isinstance(given, str) else set()
    if (listed or by_terms) and left_out_zeros(X):
        raise ValueError(
            "Categories are for dense tables, and X is sparse. Give every level a column of 0 and "
            "1 in X, or X.toarray()."
        )
    return X, sorted((by_type | listed | by_terms) - plan.dropped)


def as_rows(X: Any) -> Any:
    """Return a list of rows as an array: of numbers, or of objects if there is text in it.

    Tables stay as they are.
    """
    if isinstance(X, np.ndarray) or is_frame(X) or is_sparse(X):
        return X
    try:
        array = np.asarray(X)
    except ValueError:
        return X  # ragged: the check of X will say so
    return as_frame(np.array(X, dtype=object) if array.dtype.kind in "US" else array)


def _positions(categorical: Any, n_features: int, names: list[Any] | None) -> list[int]:
    """Read `categorical_features`: positions, names or a mask."""
    listed = np.asarray(categorical)
    wrong = (
        "categorical_features must be 'from_dtype', None, or list features by position or name, or "
        f"be a mask; got {categorical!r}"
    )
    if listed.ndim != 1:
        raise ValueError(f"{wrong}.")
    if listed.dtype == bool:
        if len(listed) != n_features:
            raise ValueError(f"{wrong}, of length {len(listed)} for {n_features} features.")
        return [int(j) for j in np.flatnonzero(listed)]
    out = []
    for entry in listed.tolist():
        if names is not None and entry in names:
            out.append(names.index(entry))
        elif isinstance(entry, int) and 0 <= entry < n_features:
            out.append(entry)
        else:
            known = "" if names is None else f", with the names {', '.join(map(str, names[:10]))}"
            raise ValueError(f"{wrong}: there is no {entry!r} among {n_features} features{known}.")
    return out


def _learn(
    estimator: BaseEstimator, X: Any, categorical: list[int], weights: Floats | None
) -> Columns:
    """Find the levels of categories in the rows of X that count."""
    label = partial(feature_label, estimator)
    seen = {j: Seen(label(j)) for j in categorical}
    n_rows = 0
    for rows, piece in raw_pieces(X, as_frames=True) if categorical else ():
        kept: Any = slice(None) if weights is None else weights[rows] > 0
        for j, levels in seen.items():
            levels.add(column_of(piece, j), kept)
        n_rows += len(piece) if weights is None else int(np.count_nonzero(kept))
    for levels in seen.values():
        levels.warn_of_identifiers(n_rows)
    plan = term_plan(estimator)
    return Columns(
        X.shape[1],
        {j: seen[j].levels() for j in seen},
        plan.strict(categorical),
        plan.periods(categorical),
        frozenset(plan.dropped),
        getattr(X, "zero_based", None),
    )


def term_plan(estimator: BaseEstimator) -> TermPlan:
    """Return the terms of the features of an estimator that knows its columns."""
    names = getattr(estimator, "feature_names_in_", None)
    listed = None if names is None else names.tolist()
    return TermPlan.read(estimator.curve, estimator.terms, estimator.n_features_in_, listed)
