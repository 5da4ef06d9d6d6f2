"""The user's table as the table of numbers that terms read.

Numbers stay as they are, missing values become NaN, and a category becomes the number of its level:
one column per feature, whatever it holds. A table that needs none of that is not copied.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_X_y
from sklearn.utils.validation import validate_data

from splinear._reading import (
    Source,
    as_frame,
    column_of,
    factor,
    is_frame,
    is_on_disk,
    left_out_zeros,
    numbers,
    raw_pieces,
    with_zeros,
    without,
)
from splinear._sparse import is_sparse
from splinear._target import check_target
from splinear._types import AnyArray, Floats, Table
from splinear._validation import (
    check_source,
    check_table,
    check_weights,
    feature_label,
    refuse_dates,
    text_columns,
)
from splinear.io import open_table
from splinear.terms.plan import TermPlan

__all__ = ["Columns", "TrainingTable", "as_rows", "read_rows", "read_table", "term_plan"]

UNSEEN = -1.0  # instead of the number of a level; a gap is NaN
MOST_AT_ONCE = 2**24  # values of the table; a larger one is made in pieces, while it is read
MANY_LEVELS = 50  # fewer are no identifier, however few the rows

Label = Callable[[int], str]  # how the user knows a feature


@dataclass(frozen=True)
class Columns:
    """How the user's features become numbers.

    Attributes
    ----------
    n_features : int
    levels : dict of int to tuple
        The levels of the features that are categories, in order.
    strict : frozenset of int
        Categories whose unseen levels are refused.
    periods : dict of int to float
        Features that are taken modulo a period.
    dropped : frozenset of int
        Features that take no part, whatever they hold.
    zero_based : bool or None
        Whether the indices of the LIBSVM file that fit was given begin with 0; None: there was
        none.
    """

    n_features: int
    levels: dict[int, tuple[Any, ...]]
    strict: frozenset[int] = frozenset()
    periods: dict[int, float] = field(default_factory=dict)
    dropped: frozenset[int] = frozenset()
    zero_based: bool | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the user's table serves as it is."""
        return not self.levels and not self.periods

    @property
    def categorical(self) -> list[int]:
        """The features that are categories."""
        return sorted(self.levels)

    def numbers_of(self, j: int, values: Any, label: Label, first_row: int = 0) -> AnyArray:
        """Return feature j's values as numbers, (n,); the first is in row `first_row`."""
        if j in self.levels:
            return self._codes(j, values, label, first_row)
        x = numbers(values, label(j))
        if j not in self.periods:
            return x
        with np.errstate(invalid="ignore"):  # infinity is refused later
            return np.where(np.isinf(x), x, x % self.periods[j])

    def _codes(self, j: int, values: Any, label: Label, first_row: int) -> Floats:
        distinct, rows = factor(values)
        place = {level: float(k) for k, level in enumerate(self.levels[j])}
        found = [place.get(value, UNSEEN) for value in distinct]
        codes = np.array([*found, np.nan])[rows]  # missing values are row -1 of the factor
        if UNSEEN in found:
            self._mention_unseen(j, distinct, found, codes, label, first_row)
        return codes

    def _mention_unseen(
        self,
        j: int,
        distinct: list[Any],
        found: list[float],
        codes: Floats,
        label: Label,
        first_row: int,
    ) -> None:
        """Refuse unseen levels if the term says so; warn if they are not of the type of fit."""
        example = distinct[found.index(UNSEEN)]
        if j in self.strict:
            row = first_row + int(np.argmax(codes == UNSEEN))
            raise ValueError(
                f"Input X contains {example!r} in {label(j)} (first in row {row}), which was not "
                f"there in fit; its levels are {_shown(self.levels[j])}. With "
                "Category(unseen='ignore') it would count as the mean over the training rows."
            )
        in_fit = {isinstance(level, str) for level in self.levels[j]}
        if len(in_fit) == 1 and isinstance(example, str) not in in_fit:
            kinds = {True: "text", False: "not text"}
            warnings.warn(
                f"{label(j)} holds {example!r}, which is {kinds[isinstance(example, str)]}, but "
                f"its levels in fit are {kinds[in_fit.pop()]}: {_shown(self.levels[j])}. Such "
                "values count as levels that were not there in fit; convert them first.",
                UserWarning,
                stacklevel=2,
            )

    def counted(self, X: Source) -> Any:
        """Return a table in files whose indices are counted from where those of fit were."""
        return X.counted_from(self.zero_based) if hasattr(X, "counted_from") else X

    def apply(self, X: Any, label: Label, first_row: int = 0) -> Any:
        """Return the table of numbers of a piece of X; X itself where nothing is to be done."""
        if self.is_plain:
            return X
        out = np.empty((len(X), self.n_features), _float_type(X))
        for j in range(self.n_features):
            out[:, j] = self.numbers_of(j, column_of(X, j), label, first_row)
        return out


def _shown(levels: tuple[Any, ...]) -> str:
    rest = f", ... ({len(levels):,} in all)" if len(levels) > 10 else ""
    return ", ".join(map(repr, levels[:10])) + rest


@dataclass(frozen=True, eq=False)
class InColumns:
    """The rows of a table in files, or of a large one, as numbers: a Source."""

    table: Any
    columns: Columns
    label: Label
    names = None

    def __len__(self) -> int:
        return len(self.table)

    def __str__(self) -> str:
        return str(self.table)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return len(self), self.columns.n_features

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the chunks."""
        in_frames = self.columns.categorical and hasattr(self.table, "frames")
        return np.dtype(np.float64) if in_frames else _float_type(self.table)

    def chunks(self, n_rows: int) -> Iterator[AnyArray]:
        """Yield all rows in order, at most n_rows at a time."""
        as_frames = bool(self.columns.categorical)
        for rows, piece in raw_pieces(self.table, n_rows, as_frames=as_frames):
            yield self.columns.apply(piece, self.label, rows.start)


def _float_type(X: Any) -> np.dtype[Any]:
    """Return the type of the numbers made of X: that of an array of float32, else float64."""
    single = getattr(X, "dtype", None) == np.float32
    return np.dtype(np.float32 if single else np.float64)


# -- what estimators call -------------------------------------------------------------------------


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


# -- learning columns -----------------------------------------------------------------------------


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
    seen = {j: _Seen(label(j)) for j in categorical}
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


@dataclass
class _Seen:
    """The distinct values of a categorical feature, in the pieces of a table so far."""

    label: str
    values: dict[Any, None] = field(default_factory=dict)
    floats: bool = False
    ordered: tuple[Any, ...] | None = None

    def add(self, values: Any, kept: Any) -> None:
        """Look at a piece of the column, in the rows that count."""
        try:
            distinct, rows = factor(values)
        except TypeError as error:  # lists, for example; in the words of float()
            raise TypeError(
                f"X must hold numbers or categories in {self.label}: an argument must be a string "
                f"or a real number ({error})."
            ) from error
        counted = rows[kept]
        self.values |= dict.fromkeys(distinct[k] for k in np.unique(counted[counted >= 0]))
        # Whole numbers are floats in a piece with missing values, and so they are in all.
        self.floats |= getattr(getattr(values, "dtype", None), "kind", "") == "f"
        categories = getattr(getattr(values, "dtype", None), "categories", None)
        if categories is not None and getattr(values.dtype, "ordered", False):
            self.ordered = tuple(categories.tolist())

    def warn_of_identifiers(self, n_rows: int) -> None:
        """Warn of a feature of which most rows have a level of their own."""
        n = len(self.values)
        if n > MANY_LEVELS and 2 * n > n_rows:
            warnings.warn(
                f"{self.label} has {n:,} levels in {n_rows:,} rows: an identifier, or numbers read "
                "as text? Leave it out, or convert it to numbers.",
                UserWarning,
                stacklevel=2,
            )

    def levels(self) -> tuple[Any, ...]:
        """Return the levels in order."""
        levels = [float(v) if self.floats and isinstance(v, int) else v for v in self.values]
        if self.ordered is not None and all(level in self.ordered for level in levels):
            there = set(levels)
            return tuple(level for level in self.ordered if level in there)
        try:
            return tuple(sorted(levels))
        except TypeError:  # of several types
            return tuple(sorted(levels, key=str))
