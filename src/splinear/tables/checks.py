"""Checks of the user's input, made once, with messages that name what is wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Number

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from splinear._compat import check_sample_weight, get_feature_names
from splinear._types import AnyArray, Floats, Input
from splinear.tables.chunks import as_dense
from splinear.tables.kinds import refuse_others, refuse_text
from splinear.tables.opening import open_table
from splinear.tables.table import MOST_COLUMNS, Table
from splinear.tables.values import as_missing, is_missing

__all__ = [
    "check_columns",
    "check_counts",
    "check_groups",
    "check_in_range",
    "check_offset",
    "check_size",
    "check_weights",
    "column_ranges",
    "feature_label",
    "read_numeric",
]

# The largest sum of weights; sums of losses are then far below the largest float32, 3e38.
MOST_WEIGHT = 1e30
# Weights of which the largest is smaller than this are multiplied by a power of two: the core sums
# over codes in single precision, where less than 1e-38 is 0. Each positive one counts as at least
# a share of the largest: products of two, and reciprocals, stay in range.
LEAST_LARGEST, LEAST_SHARE = 1e-20, 1e-100
MOST_OFFSET = 1e30  # absolute value; some predictions are in single precision
MOST_COUNTS = 2**53  # in all; larger numbers of rows are not exact
# A table with more columns than this must have a value for every so many of them.
MANY_COLUMNS, MOST_EMPTY = 1_000_000, 100


def feature_label(estimator: BaseEstimator, j: int) -> str:
    """Return the name of feature j for messages."""
    names = getattr(estimator, "feature_names_in_", None)
    return f"column {j}" if names is None else f"column {names[j]!r}"


def read_numeric(estimator: BaseEstimator, X: Input, *, reset: bool) -> Table:
    """Open X, all of whose columns must hold numbers; NaN and infinity are not checked yet."""
    table = open_table(X, type(estimator).__name__)
    table = check_columns(estimator, table, reset=reset)
    check_size(estimator, table)
    refuse_others(table)
    refuse_text(table, (), reset=reset)
    return table


def check_columns(estimator: BaseEstimator, table: Table, *, reset: bool) -> Table:
    """Set n_features_in_ and feature_names_in_ if `reset`, or compare with them."""
    if table.given is not None:
        if not reset and _is_as_in_fit(estimator, table):
            return table
        validate_data(estimator, _with_names(table), reset=reset, skip_check_array=True)
        return table
    if reset:
        estimator.n_features_in_ = table.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
        if table.names is not None:
            estimator.feature_names_in_ = np.asarray(table.names, dtype=object)
    if table.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"{table} has {table.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    return table


def _with_names(table: Table) -> object:
    """Return the user's table, or its names if scikit-learn cannot read those itself."""
    is_known = table.names is None or get_feature_names(table.given) is not None
    return table.given if is_known else _Names(table.shape, table.names)


@dataclass(frozen=True)
class _Names:
    """A table without values, with the interface that scikit-learn used before 1.8."""

    shape: tuple[int, int]
    names: Sequence[str] | None

    def __dataframe__(self) -> _Names:
        return self

    def column_names(self) -> Sequence[str] | None:
        """Return the names of all columns."""
        return self.names


def _is_as_in_fit(estimator: BaseEstimator, table: Table) -> bool:
    """Return whether the names and number of columns are those seen in fit."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        is_array = isinstance(table.given, np.ndarray)
        return is_array and table.shape[1] == int(estimator.n_features_in_)
    return table.names is not None and bool(table.names == names.tolist())


def check_size(estimator: BaseEstimator, table: Table) -> None:
    """Raise if a table has no rows, no columns or too many columns."""
    if 0 in table.shape:
        what, plural = ("row", "sample(s)") if table.shape[0] == 0 else ("feature", "feature(s)")
        raise ValueError(
            f"Found array with 0 {plural} (shape={table.shape}) while a minimum of 1 is "
            f"required by {type(estimator).__name__}: there is no {what} in {table}."
        )
    if table.shape[1] > MOST_COLUMNS:
        raise ValueError(
            f"There are {table.shape[1]:,} features in {table}, and {type(estimator).__name__} "
            f"takes at most {MOST_COLUMNS:,}: each has a curve of its own, which takes about 1 kB. "
            "Leave out columns that are 0 everywhere, or hash them into fewer."
        )
    n_values = table.values_per_row * table.shape[0] if table.is_sparse else np.inf
    if table.shape[1] > MANY_COLUMNS and n_values * MOST_EMPTY < table.shape[1]:
        raise ValueError(
            f"There are {table.shape[1]:,} features in {table}, and only {n_values:,.0f} values "
            "that are not 0, so nearly all features are 0 everywhere; each would take about 1 kB. "
            "Is an index wrong? Otherwise number the columns without gaps, or hash them into fewer."
        )


def check_weights(sample_weight: Input, n_rows: int) -> Floats | None:
    """Return checked weights: None, or one number >= 0 per row, not all 0 and not too large."""
    if sample_weight is None:
        return None
    _refuse_no_numbers("sample_weight", np.asarray(sample_weight))
    weights: Floats = check_sample_weight(sample_weight, np.empty((n_rows, 0)), dtype=np.float64)
    if np.any(weights < 0):
        row = int(np.argmax(weights < 0))
        raise ValueError(
            "Negative values in data passed to `sample_weight`: "
            f"{weights[row]:g} for row {row}; weights must be at least 0."
        )
    if not np.any(weights > 0):
        raise ValueError("All entries of sample_weight are zero; there is nothing to learn from.")
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if total > MOST_WEIGHT:
        raise ValueError(
            f"sample_weight adds up to {total:.3g}, and must not exceed {MOST_WEIGHT:.0e}; divide "
            "the weights, for example by their mean."
        )
    return _in_range(weights)


def _in_range(weights: Floats) -> Floats:
    """Return weights whose products and reciprocals are normal numbers, in the same proportions."""
    largest = float(weights.max())
    if largest < LEAST_LARGEST:
        by = math.frexp(LEAST_LARGEST)[1] - math.frexp(largest)[1] + 1
        weights, largest = np.ldexp(weights, by), math.ldexp(largest, by)
    least = LEAST_SHARE * largest
    is_tiny = (weights > 0.0) & (weights < least)
    return np.where(is_tiny, least, weights) if is_tiny.any() else weights


def check_counts(counts: Input, n_rows: int) -> Floats | None:
    """Return checked counts of observations: None, or a whole number >= 0 per row, not all 0."""
    if counts is None:
        return None
    found = _per_row(counts, "counts", n_rows)
    _refuse_no_numbers("counts", found)
    if found.dtype == object:
        found = np.array([np.nan if is_missing(value) else value for value in found.tolist()])
    numbers: Floats = np.asarray(found, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        wrong = ~(np.isfinite(numbers) & (numbers >= 0) & (numbers == np.floor(numbers)))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            "counts must be whole numbers of at least 0, how many observations each row stands "
            f"for; got {numbers[row]:g} in row {row}. Other weights are given by sample_weight."
        )
    if not numbers.any():
        raise ValueError("All counts are 0; there is nothing to learn from.")
    if numbers.sum() > MOST_COUNTS:
        raise ValueError(
            f"counts add up to {numbers.sum():.3g} observations, and must not exceed 2**53, about "
            "9e+15. Other weights are given by sample_weight."
        )
    return numbers


def check_offset(offset: Input, n_rows: int, n_outputs: int) -> Floats | None:
    """Return checked offsets: None, or finite numbers, (n_rows,) or (n_rows, n_outputs).

    There is one number per row for a single output, and otherwise one per row and output.
    """
    if offset is None:
        return None
    if isinstance(offset, np.ma.MaskedArray):
        offset = as_missing(offset.data, np.ma.getmaskarray(offset))
    found = np.asarray(offset)
    _refuse_no_numbers("offset", found)
    if n_outputs == 1 and found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    shape = (n_rows,) if n_outputs == 1 else (n_rows, n_outputs)
    if found.shape != shape:
        what = "one number per row"
        if n_outputs > 1:
            what = f"one column for each of the {n_outputs} scores of a row"
        raise ValueError(f"offset must have {what}, shape {shape}; got shape {found.shape}.")
    if found.dtype == object:
        known = [np.nan if is_missing(value) else value for value in found.ravel().tolist()]
        found = np.array(known, dtype=np.float64).reshape(shape)
    numbers: Floats = np.asarray(found, dtype=np.float64, order="C")  # sums take one order
    with np.errstate(invalid="ignore"):
        wrong = ~(np.abs(numbers) <= MOST_OFFSET).reshape(n_rows, -1).all(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        if not np.isfinite(numbers[row]).all():
            value = "NaN" if np.isnan(numbers[row]).any() else "infinity"
            raise ValueError(
                f"offset contains {value} (first in row {row}); every row needs a finite offset: "
                "0 where nothing is known of the score."
            )
        raise ValueError(
            f"offset must be at most {MOST_OFFSET:.0e} in absolute value; got "
            f"{numbers[row].tolist()} in row {row}."
        )
    return numbers


def _refuse_no_numbers(name: str, found: AnyArray) -> None:
    """Raise unless an array holds real numbers; NumPy would make some of dates and text."""
    values = found.ravel()
    if values.dtype == object:
        wrong = [
            not is_missing(value) and (isinstance(value, complex) or not isinstance(value, Number))
            for value in values.tolist()
        ]
    else:
        wrong = [values.dtype.kind not in "biuf"]
    if any(wrong):
        value = values[wrong.index(True)] if values.size else values.dtype
        text = repr(str(value)) if isinstance(value, str) else str(value)
        raise ValueError(f"{name} must hold numbers; got {text}.")


def check_groups(groups: Input, n_rows: int) -> NDArray[np.intp] | None:
    """Return the index of the group of every row, (n_rows,); None if there are no groups."""
    if groups is None:
        return None
    found = _per_row(groups, "groups", n_rows)
    if found.dtype == object:
        missing = np.array([is_missing(value) for value in found.tolist()], dtype=bool)
    else:
        missing = found != found  # NaN and NaT
    if np.any(missing):
        row = int(np.argmax(missing))
        raise ValueError(f"groups must name the group of every row; it is missing in row {row}.")
    try:
        index = np.unique(found, return_inverse=True)[1]
    except TypeError as error:
        raise TypeError(
            f"groups must be values that can be sorted, of one type ({error})."
        ) from error
    if n_rows > 1 and not index.any():
        raise ValueError(
            f"groups names the same group in all {n_rows:,} rows, which says nothing of others: "
            "leave it out, or name the unit that each row belongs to."
        )
    return np.asarray(index, dtype=np.intp)


def _per_row(values: Input, name: str, n_rows: int) -> AnyArray:
    """Return an array with one value per row."""
    found = np.asarray(values)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.shape != (n_rows,):
        raise ValueError(f"{name} must have one value per row, {n_rows:,}; got {found.shape}.")
    return found


def column_ranges(
    estimator: BaseEstimator,
    table: Table,
    kept: AnyArray | None = None,
    *,
    gaps: bool = False,
    n_threads: int = 1,
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return the lowest and highest value of every column, and whether it has missing values.

    `kept` (n_rows,) marks the rows with a positive weight; None if all have one. Infinity raises an
    error that names the column, and so does NaN unless `gaps`. The range of a column with missing
    values only is NaN, as is that of columns that the estimator drops.
    """
    with np.errstate(invalid="ignore"):
        lo, hi, has_gap = table.ends(kept, n_threads)
    dropped = list(getattr(getattr(estimator, "_columns", None), "dropped", ()))
    has_gap[dropped] = False
    empty = ~(lo <= hi)
    empty[dropped] = True
    lo[empty], hi[empty] = np.nan, np.nan
    _check_finite(estimator, table, np.isinf(lo) | np.isinf(hi), "infinity")
    if not gaps:
        _check_finite(estimator, table, has_gap, "NaN")
    return lo, hi, has_gap


def check_in_range(
    estimator: BaseEstimator, values: AnyArray, j: int, lo: float, hi: float, first_row: int = 0
) -> None:
    """Raise if values (n,) of column j, from row `first_row` on, are outside [lo, hi]."""
    outside = (values < lo) | (values > hi)
    if outside.any():
        row = int(np.argmax(outside))
        raise ValueError(
            f"Input X holds {values[row]} in {feature_label(estimator, j)}, row {first_row + row}, "
            f"outside its range of {lo} to {hi}, which extrapolation='error' does not "
            "allow. Use 'constant' or 'linear' to predict beyond the range."
        )


def _check_finite(
    estimator: BaseEstimator, table: Table, bad: NDArray[np.bool_], found: str
) -> None:
    """Raise if any column is `bad`, naming the first row with NaN or infinity."""
    if not bad.any():
        return
    wrong_in = np.isnan if found == "NaN" else np.isinf
    j = int(np.argmax(bad))
    row = next(
        rows.start + int(np.argmax(wrong))
        for rows, piece in table.chunks([j])
        if (wrong := wrong_in(as_dense(piece)[:, 0])).any()
    )
    more = int(bad.sum()) - 1
    others = f" and {more} other column{'s' if more > 1 else ''}" if more else ""
    raise ValueError(
        f"Input X contains {found} in {feature_label(estimator, j)} (first in row {row}){others}; "
        f"{type(estimator).__name__} needs finite numbers. {_advice(estimator, found)}"
    )


def _advice(estimator: BaseEstimator, found: str) -> str:
    """Return advice on what to do about NaN or infinity."""
    if found == "infinity":  # which imputers do not accept either
        gaps = getattr(estimator, "missing", None) == "level"
        other = "NaN, a missing value" if gaps else "finite numbers"
        return f"Replace it by {other}, or leave such rows out."
    other = "Use missing='level', or impute" if hasattr(estimator, "missing") else "Impute"
    return f"{other} or drop them first, for example with sklearn.impute.SimpleImputer."
