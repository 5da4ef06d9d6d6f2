"""The values of a column: their kind, and their conversion to numbers or levels.

A column is a NumPy array, or a narwhals series of a data frame.
"""

from __future__ import annotations

from datetime import date, time, timedelta
from enum import Enum
from numbers import Number
from typing import TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from splinear._compat import is_pandas_na
from splinear._types import AnyArray, Input
from splinear.tables.chunks import as_floats

__all__ = [
    "Kind",
    "Values",
    "as_missing",
    "factor",
    "is_boolean",
    "is_missing",
    "kind_of",
    "level_order",
    "numbers",
    "ordered",
]

Values: TypeAlias = "AnyArray | nw.Series[Input]"

DATES = (date, time, timedelta, np.datetime64, np.timedelta64)
SPANS = ("Period", "Interval")  # names of pandas types


class Kind(Enum):
    """What a column holds."""

    NUMBER = "numbers"
    CATEGORY = "text or categories"
    OBJECT = "objects that are neither text nor numbers"  # may be categories
    DATE = "dates, times or intervals"
    COMPLEX = "complex numbers"
    BYTES = "bytes, not UTF-8 text"
    OTHER = "neither numbers nor text"


def kind_of(values: Values) -> Kind:
    """Return what a column holds; a column of objects is inspected value by value."""
    if isinstance(values, np.ndarray):
        return _kind_of_array(values)
    dtype = values.dtype
    if _are_objects(values, dtype):
        return _kind_of_array(values.to_numpy())
    if dtype.is_numeric() or dtype == nw.Boolean:
        return Kind.NUMBER
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return Kind.CATEGORY
    if dtype == nw.Binary:
        return Kind.BYTES
    return Kind.DATE if dtype.is_temporal() else Kind.OTHER


def level_order(y: Input) -> tuple[object, ...] | None:
    """Return the categories of an ordered categorical type, in their order; otherwise None.

    These are ordered categories of pandas, and enumerations of polars.
    """
    dtype = getattr(y, "dtype", None)
    categories = getattr(dtype, "categories", None)
    if categories is None:
        return None
    is_ordered = getattr(dtype, "ordered", None)  # polars has none, and only enumerations an order
    if is_ordered is None:
        is_ordered = nw.dependencies.is_polars_series(y) and type(dtype).__name__ == "Enum"
    return (
        tuple(categories.to_list() if hasattr(categories, "to_list") else categories)
        if (is_ordered)
        else None
    )


def _are_objects(values: nw.Series[Input], dtype: nw.dtypes.DType) -> bool:
    """Return whether the column's type, which takes long to ask for, does not say what it holds."""
    if dtype in (nw.Object, nw.Unknown):
        return True
    # narwhals reports pandas objects as text unless it finds other types.
    return dtype == nw.String and str(getattr(values.to_native(), "dtype", "")) == "object"


def _kind_of_array(values: AnyArray) -> Kind:
    if values.dtype.kind == "O":
        return _kind_of_objects(values)
    by_letter = {"c": Kind.COMPLEX, "m": Kind.DATE, "M": Kind.DATE}
    by_letter |= dict.fromkeys("fiub", Kind.NUMBER) | dict.fromkeys("US", Kind.CATEGORY)
    return by_letter.get(values.dtype.kind, Kind.OTHER)


def _kind_of_objects(values: AnyArray) -> Kind:
    listed = values.tolist()
    types = set(map(type, listed)) & {str}  # fast for text, which is never missing
    types |= {type(value) for value in listed if type(value) is not str and not is_missing(value)}
    if any(issubclass(kind, DATES) or kind.__name__ in SPANS for kind in types):
        return Kind.DATE
    if all(issubclass(kind, (Number, np.number, np.bool_)) for kind in types):
        has_complex = any(issubclass(kind, (complex, np.complexfloating)) for kind in types)
        return Kind.COMPLEX if has_complex else Kind.NUMBER
    return Kind.CATEGORY if any(issubclass(kind, str) for kind in types) else Kind.OBJECT


def is_boolean(values: Values) -> bool:
    """Return whether a column holds True and False, by its type or value by value."""
    if not isinstance(values, np.ndarray):
        dtype = values.dtype
        if not _are_objects(values, dtype):
            return bool(dtype == nw.Boolean)
        values = values.to_numpy()
    if values.dtype != object:
        return values.dtype == bool
    types = {type(value) for value in values.tolist() if not is_missing(value)}
    return bool(types) and types <= {bool, np.bool_}


def numbers(values: Values, label: str) -> AnyArray:
    """Return a column of numbers as floats, missing values as NaN; `label` names it in errors."""
    try:
        if isinstance(values, np.ndarray):
            return as_floats(_without_na(values))
        dtype = values.dtype
        if dtype == nw.Float64 or dtype == nw.Float32:
            return values.to_numpy()
        if _are_objects(values, dtype):
            return as_floats(_without_na(values.to_numpy()))
        return values.cast(nw.Float64).to_numpy()
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"X must hold numbers in {label}: {error}. Text is for categories: use "
            "categorical_features='from_dtype', or list this column there."
        ) from error


def _without_na(values: AnyArray) -> AnyArray:
    """Return objects with pandas.NA replaced by None, which can be converted to a float."""
    if values.dtype != object:
        return values
    return as_missing(values, np.array([is_missing(value) for value in values.tolist()], bool))


def factor(values: Values) -> tuple[list[object], NDArray[np.intp]]:
    """Return the distinct values of a column, and each row's index in them; -1 if missing."""
    if isinstance(values, np.ndarray):
        return _factor_of_array(values)
    native = values.to_native()
    if hasattr(native, "factorize"):  # pandas; several times as fast as the code below
        places, distinct = native.factorize()
        return distinct.tolist(), places
    if _are_objects(values, values.dtype):
        return _factor_of_array(values.to_numpy())
    if values.dtype.is_float():
        values = values.fill_nan(None)
    distinct = values.drop_nulls().unique(maintain_order=True).to_list()
    if not distinct:  # Arrow has no type for a list of None
        return [], np.full(len(values), -1, dtype=np.intp)
    old, new = [*distinct, None], [*range(len(distinct)), -1]
    return distinct, values.replace_strict(old, new, return_dtype=nw.Int64).to_numpy()


def _factor_of_array(values: AnyArray) -> tuple[list[object], NDArray[np.intp]]:
    places: dict[object, int] = {}
    found = [
        -1 if is_missing(value) else places.setdefault(value, len(places))
        for value in values.tolist()
    ]
    return list(places), np.array(found, dtype=np.intp)


def ordered(values: Values) -> tuple[object, ...] | None:
    """Return all levels of a column of ordered categories; None for other columns."""
    if isinstance(values, np.ndarray) or values.dtype != nw.Enum:
        return None
    return tuple(values.dtype.categories)  # type: ignore[attr-defined]


def as_missing(values: AnyArray, gone: AnyArray) -> AnyArray:
    """Return the values as objects, with None where `gone` is True."""
    out = values.astype(object)
    out[gone] = None
    return out


def is_missing(value: object) -> bool:
    """Return whether a value is None, pandas.NA, or not equal to itself, as NaN and NaT are."""
    if isinstance(value, str):  # the most frequent case
        return False
    if value is None or is_pandas_na(value):
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # an array, for example
        return False
