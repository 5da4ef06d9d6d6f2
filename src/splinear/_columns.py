"""The user's table as the matrix of numbers that is trained on: categories and missing values.

The features are the columns that the user knows. The columns of the model are those of the matrix:
one for a feature of numbers, two if it has missing values, one a level for a categorical feature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_X_y
from sklearn.utils.validation import validate_data

from splinear._knots import FOR_QUANTILES
from splinear._reading import (
    Source,
    as_frame,
    column_of,
    factor,
    float_chunks,
    is_on_disk,
    left_out_zeros,
    numbers,
    raw_pieces,
)
from splinear._sparse import is_sparse
from splinear._types import AnyArray, Floats, Table
from splinear._validation import (
    check_source,
    check_table,
    check_weights,
    feature_label,
    goes_through_zero,
    text_columns,
)
from splinear.io import open_table

__all__ = ["Columns", "Gap", "Levels", "read_rows", "read_table"]

UNSEEN, MISSING = -1, -2
MOST_AT_ONCE = 2**24  # values of the matrix; a larger one is made in pieces, while it is read
MAX_LEVELS = 10_000  # of a feature; more are names or numbers of rows, and would fill the memory

Label = Callable[[int], str]  # how the user knows a feature


@dataclass(frozen=True)
class Levels:
    """A categorical feature: a column of 0 and 1 for every level, and one for missing values."""

    levels: tuple[Any, ...]
    missing: bool

    @property
    def n_columns(self) -> int:
        """Number of columns of the model."""
        return len(self.levels) + self.missing

    def names(self, feature: str) -> list[str]:
        """Name the columns after the feature."""
        gap = [f"{feature} is missing"] if self.missing else []
        return [f"{feature}={level}" for level in self.levels] + gap

    def codes(self, values: Any) -> NDArray[np.intp]:
        """Give the place of every value among the levels; UNSEEN or MISSING if it has none."""
        distinct, rows = factor(values)
        place = {level: k for k, level in enumerate(self.levels)}
        # Missing values are row -1 of the factor, which is the last entry here.
        gap = len(self.levels) if self.missing else MISSING
        return np.array([*(place.get(v, UNSEEN) for v in distinct), gap], dtype=np.intp)[rows]

    def encode(self, values: Any, label: str) -> Floats:
        """Give the columns, (n, n_columns). Unseen levels are 0 in all of them.

        Missing values that have no column are NaN, which the model refuses as it does in numbers.
        """
        del label
        codes = self.codes(values)
        out = np.zeros((len(codes), self.n_columns))
        known = np.flatnonzero(codes >= 0)
        out[known, codes[known]] = 1.0
        out[codes == MISSING] = np.nan
        return out


@dataclass(frozen=True)
class Gap:
    """A feature of numbers with missing values: its numbers, and a column of 0 and 1.

    Missing values take the place `fill` on the curve. Any place would do: the second column has a
    level of its own, which is added to it.
    """

    fill: float
    n_columns = 2

    def names(self, feature: str) -> list[str]:
        """Name the columns after the feature."""
        return [feature, f"{feature} is missing"]

    def encode(self, values: Any, label: str) -> Floats:
        """Give both columns, (n, 2)."""
        x = numbers(values, label)
        missing = np.isnan(x)
        return np.column_stack([np.where(missing, self.fill, x), missing])


@dataclass(frozen=True)
class Columns:
    """How the user's features become columns of the model.

    Attributes
    ----------
    n_features : int
        Number of the user's features.
    special : dict of int to Levels or Gap
        The features that are not just a column of numbers.
    """

    n_features: int
    special: dict[int, Levels | Gap]

    @classmethod
    def learn(
        cls,
        X: Any,
        categorical: list[int],
        weights: Floats | None,
        label: Label,
        *,
        missing: str,
    ) -> Columns:
        """Find levels and gaps in the rows of X that count."""
        seen = {j: _Seen(label(j)) for j in categorical}
        gaps: set[int] = set()
        seek_gaps = missing == "level" and not left_out_zeros(X)
        as_frames = bool(categorical)
        for rows, piece in raw_pieces(X, as_frames=as_frames) if categorical or seek_gaps else ():
            kept = slice(None) if weights is None else weights[rows] > 0
            for j, levels in seen.items():
                levels.add(column_of(piece, j), kept)
            if seek_gaps:
                gaps.update(_with_gaps(piece, [*categorical, *gaps], kept, label))
        special: dict[int, Levels | Gap] = {j: seen[j].levels(missing) for j in seen}
        special.update(_learn_gaps(X, sorted(gaps), weights, label, as_frames=as_frames))
        return cls(X.shape[1], special)

    @property
    def categorical(self) -> list[int]:
        """The features that are categories."""
        return [j for j, kind in self.special.items() if isinstance(kind, Levels)]

    @property
    def starts(self) -> NDArray[np.intp]:
        """The first column of the model of every feature; at last, the number of columns."""
        widths = np.ones(self.n_features, dtype=np.intp)
        for j, kind in self.special.items():
            widths[j] = kind.n_columns
        return np.concatenate([[0], np.cumsum(widths)])

    @property
    def n_columns(self) -> int:
        """Number of columns of the model."""
        return int(self.starts[-1])

    @property
    def groups(self) -> list[slice]:
        """The columns of the model of every feature: coef_[:, groups[j]] belongs to feature j."""
        return [slice(int(a), int(b)) for a, b in pairwise(self.starts)]

    def feature_of(self, column: int) -> int:
        """Give the feature that a column of the model belongs to."""
        return int(np.searchsorted(self.starts, column, side="right")) - 1

    def names(self, features: list[str]) -> list[str]:
        """Name the columns of the model, after the names of the features."""
        return [
            name
            for j, feature in enumerate(features)
            for name in (self.special[j].names(feature) if j in self.special else [feature])
        ]

    def encode(self, j: int, values: Any, label: str) -> AnyArray:
        """Give the columns of feature j for these values, (n, number of its columns)."""
        kind = self.special.get(j)
        return numbers(values, label)[:, None] if kind is None else kind.encode(values, label)

    def apply(self, X: Any, label: Label) -> Any:
        """Give the matrix of the model's columns; X itself where nothing is to be done."""
        if not self.special:
            return X
        out = np.empty((len(X), self.n_columns), _float_type(X))
        for j, group in enumerate(self.groups):
            out[:, group] = self.encode(j, column_of(X, j), label(j))
        return out

    def refuse_unseen(self, X: Any, label: Label, first_row: int = 0) -> None:
        """Raise an error for a level that was not there in fit; X starts at row `first_row`."""
        for j in self.categorical:
            kind = self.special[j]
            assert isinstance(kind, Levels)
            values = column_of(X, j)
            unseen = np.flatnonzero(kind.codes(values) == UNSEEN)
            if len(unseen):
                row = int(unseen[0])
                shown = ", ".join(map(repr, kind.levels[:10]))
                rest = f", ... ({len(kind.levels)} in all)" if len(kind.levels) > 10 else ""
                found = np.asarray(values, dtype=object)[row]
                raise ValueError(
                    f"Input X contains {found!r} in {label(j)} (first in row {first_row + row}), "
                    f"which was not there in fit; its levels are {shown}{rest}. With "
                    "unseen='ignore' it would count as none of them."
                )


@dataclass(frozen=True, eq=False)
class InColumns:
    """The rows of a table in files, or of a large one, in the columns of the model: a Source.

    Attributes
    ----------
    table : Source, array or data frame
    columns : Columns
    label : callable
    strict : bool
        Whether levels that were not there in fit are an error.
    """

    table: Any
    columns: Columns
    label: Label
    strict: bool
    names = None

    def __len__(self) -> int:
        return len(self.table)

    def __str__(self) -> str:
        return str(self.table)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return len(self), self.columns.n_columns

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the chunks."""
        in_frames = self.columns.categorical and hasattr(self.table, "frames")
        return np.dtype(np.float64) if in_frames else _float_type(self.table)

    def chunks(self, n_rows: int) -> Iterator[AnyArray]:
        """Give all rows in order, at most n_rows at a time."""
        as_frames = bool(self.columns.categorical)
        for rows, piece in raw_pieces(self.table, n_rows, as_frames=as_frames):
            if self.strict:
                self.columns.refuse_unseen(piece, self.label, rows.start)
            yield self.columns.apply(piece, self.label)


def _float_type(X: Any) -> np.dtype[Any]:
    """Give the type of the columns made of X: that of an array of float32, else float64."""
    single = getattr(X, "dtype", None) == np.float32
    return np.dtype(np.float32 if single else np.float64)


# -- what estimators call -------------------------------------------------------------------------


def read_rows(
    estimator: BaseEstimator, X: Any, y: Any, sample_weight: Any, *, reset: bool, **options: Any
) -> tuple[Table, AnyArray, Floats | None, AnyArray | None]:
    """Check what fit was given; learn the columns of the model (reset), and give X in them.

    Returns X (an array, or a CSR matrix if it was sparse), y, the rows' weights, and which rows
    count (None: all of them).
    """
    X, y = open_table(X, y)
    X = check_source(estimator, X, reset=reset) if isinstance(X, Source) else as_frame(X)
    if reset:
        X, categorical = _find_categorical(estimator, X)
    else:
        categorical = estimator.columns_.categorical
    if isinstance(X, Source):
        _, y = check_X_y(
            np.empty((len(X), 0)), y, estimator=estimator, ensure_min_features=0, **options
        )
    elif categorical:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        _, y = check_X_y(np.zeros((len(X), 1)), y, estimator=estimator, **options)
    else:
        X, y = check_table(estimator, X, y=y, reset=reset, **options)
    weights, kept = _read_weights(sample_weight, X)
    if reset:
        estimator.through_zero_ = goes_through_zero(estimator, X)
        label = partial(feature_label, estimator)
        estimator.columns_ = Columns.learn(
            X, categorical, weights, label, missing=estimator.missing
        )
    return _in_columns(estimator, X, seen=reset), y, weights, kept


def _read_weights(sample_weight: Any, X: Any) -> tuple[Floats | None, AnyArray | None]:
    weights = check_weights(sample_weight, X)
    return weights, None if weights is None or np.all(weights > 0) else weights > 0


def read_table(estimator: BaseEstimator, X: Any) -> Table:
    """Check the rows to predict, and give them in the columns of the model."""
    X, _ = open_table(X)
    if isinstance(X, Source):
        return _in_columns(estimator, check_source(estimator, X, reset=False))
    X = as_frame(X)
    if not estimator.columns_.categorical:
        return _in_columns(estimator, check_table(estimator, X, reset=False))
    if not hasattr(X, "iloc") and not is_sparse(X):
        X = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
    if getattr(X, "ndim", 0) != 2 or is_sparse(X):
        check_array(X, dtype=None, estimator=estimator)  # raises
    validate_data(estimator, X, reset=False, skip_check_array=True)
    check_array(np.zeros((len(X), 1)), estimator=estimator)  # at least one row
    return _in_columns(estimator, X)


def _in_columns(estimator: BaseEstimator, X: Any, *, seen: bool = False) -> Table:
    columns, label = estimator.columns_, partial(feature_label, estimator)
    strict = estimator.unseen == "error" and not seen
    if columns.special and left_out_zeros(X):
        raise ValueError(
            f"{type(estimator).__name__} was fitted with categories or missing values, and X is "
            "sparse; give a dense table."
        )
    if not columns.special:
        return X
    # A search needs a matrix, as it visits its rows in any order.
    in_pieces = is_on_disk(X) or X.shape[0] * columns.n_columns > MOST_AT_ONCE
    if isinstance(X, Source) or (in_pieces and hasattr(estimator, "max_memory")):
        return InColumns(X, columns, label, strict)
    if strict:
        columns.refuse_unseen(X, label)
    return columns.apply(X, label)


# -- learning columns -----------------------------------------------------------------------------


def _find_categorical(estimator: BaseEstimator, X: Any) -> tuple[Any, list[int]]:
    """Find the features that are categories: by their types, and by the user's list.

    Gives X too, as an array if it was a list.
    """
    found = set(text_columns(X))
    if estimator.categorical is None:
        return X, sorted(found)
    if left_out_zeros(X):
        raise ValueError(
            "categorical is for dense tables, and X is sparse. Give every level a column of 0 and "
            "1 in X, or X.toarray()."
        )
    if not hasattr(X, "iloc") and not isinstance(X, (np.ndarray, Source)):
        X = np.array(X, dtype=object)
    if len(X.shape) != 2:
        return X, []  # the check of X will say what is wrong
    names = X.names if isinstance(X, Source) else getattr(X, "columns", None)
    names = None if names is None else list(names)
    return X, sorted(found | set(_listed(estimator.categorical, X.shape[1], names)))


def _listed(categorical: Any, n_features: int, names: list[Any] | None) -> list[int]:
    """Read `categorical`: positions, names or a mask."""
    listed = np.asarray(categorical)
    wrong = f"categorical must list features by position or name, or be a mask; got {categorical!r}"
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


@dataclass
class _Seen:
    """The distinct values of a categorical feature, in the pieces of a table so far."""

    label: str
    values: dict[Any, None] = field(default_factory=dict)
    missing: bool = False
    floats: bool = False

    def add(self, values: Any, kept: Any) -> None:
        """Look at a piece of the column, in the rows that count."""
        try:
            distinct, rows = factor(values)
        except TypeError as error:  # lists, for example
            raise ValueError(
                f"X must hold numbers or categories in {self.label}: {error}."
            ) from error
        counted = rows[kept]
        self.values |= dict.fromkeys(distinct[k] for k in np.unique(counted[counted >= 0]))
        self.missing |= bool((counted < 0).any())
        # Whole numbers are floats in a piece with missing values, and so they are in all.
        self.floats |= getattr(values.dtype, "kind", "") == "f"
        if len(self.values) > MAX_LEVELS:
            raise ValueError(
                f"The categories in {self.label} have {len(self.values):,} levels; at most "
                f"{MAX_LEVELS:,} are possible. Leave the column out, or join its rare levels."
            )

    def levels(self, missing: str) -> Levels:
        """Give the levels in order."""
        levels = [float(v) if self.floats and isinstance(v, int) else v for v in self.values]
        try:
            levels = sorted(levels)
        except TypeError:  # of several types
            levels = sorted(levels, key=str)
        gap = missing == "level" and self.missing
        # A column of nothing needs a level all the same, so that NaN is found and refused.
        return Levels(tuple(levels) if levels or gap else (np.nan,), gap)


def _with_gaps(X: Any, categorical: list[int], kept: Any, label: Label) -> list[int]:
    """Find the features of numbers that have missing values in rows that count."""
    if isinstance(X, np.ndarray) and X.dtype != object:
        found = np.zeros(X.shape[1], dtype=bool)
        counted = np.ones(len(X), dtype=bool)[kept] if isinstance(kept, slice) else kept
        for rows, piece in float_chunks(X):
            found |= np.isnan(piece[counted[rows]]).any(axis=0)
        found[categorical] = False
        return [int(j) for j in np.flatnonzero(found)]
    rest = sorted(set(range(X.shape[1])) - set(categorical))
    return [j for j in rest if np.isnan(numbers(column_of(X, j), label(j))[kept]).any()]


def _learn_gaps(
    X: Any, features: list[int], weights: Floats | None, label: Label, *, as_frames: bool
) -> dict[int, Gap]:
    """Find the medians of these features, in the rows that quantile knots are found from."""
    if not features:
        return {}
    some = FOR_QUANTILES.rows(len(X), None if weights is None else weights > 0, len(features))
    values: dict[int, list[AnyArray]] = {j: [] for j in features}
    first: dict[int, float] = {}  # values that count, should all of these rows be gaps
    for rows, piece in raw_pieces(X, as_frames=as_frames):
        start, end = np.searchsorted(some, [rows.start, rows.stop])
        for j in features:
            x = numbers(column_of(piece, j), label(j))
            values[j].append(x[some[start:end] - rows.start])
            there = ~np.isnan(x) if weights is None else ~np.isnan(x) & (weights[rows] > 0)
            if there.any():
                first.setdefault(j, float(x[np.argmax(there)]))
    weight = None if weights is None else weights[some]
    return {j: Gap(_median(np.concatenate(values[j]), weight, first.get(j, 0.0))) for j in features}


def _median(values: AnyArray, weights: Floats | None, instead: float) -> float:
    """Give the smallest value that half of the weight does not exceed; `instead` if all are NaN.

    It is a value of the column, and the same for a row of weight 2 as for two rows.
    """
    there = ~np.isnan(values)
    if not there.any():
        return instead
    order = np.argsort(values[there])
    total = np.cumsum(np.ones(len(order)) if weights is None else weights[there][order])
    return float(values[there][order][np.searchsorted(total, total[-1] / 2)])
