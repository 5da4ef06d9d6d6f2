"""What the columns of a table hold: numbers, text, or dates, which are refused."""

from __future__ import annotations

from datetime import date, time, timedelta
from numbers import Number
from typing import Any

import numpy as np

from splinear._types import AnyArray
from splinear.tables.reading import column_of, is_frame, is_missing, numbers

__all__ = [
    "refuse_dates",
    "refuse_text",
    "text_columns",
    "without_objects",
]

NUMBERS = (Number, np.number, np.bool_, date, time, timedelta)  # dates are refused elsewhere


def text_columns(X: Any) -> list[int]:
    """Find the columns of a data frame, an array of objects or a file that hold text."""
    if hasattr(X, "text_columns"):
        found: list[int] = X.text_columns()
        return found
    if isinstance(X, np.ndarray):
        if X.dtype.kind in "US" and X.ndim == 2:
            return list(range(X.shape[1]))
        if X.dtype != object or X.ndim != 2:
            return []
        return [j for j in range(X.shape[1]) if _is_text(X[:, j], "object")]
    return [j for j, dtype in _dtypes(X) if _is_text(column_of(X, j), dtype)]


def refuse_text(X: Any, *, reset: bool) -> None:
    """Point at the columns that hold no numbers."""
    columns = text_columns(X)
    if isinstance(X, np.ndarray) and X.dtype == object:  # what is not even text, NumPy refuses
        columns = [j for j in columns if any(isinstance(value, str) for value in X[:, j])]
    text = [_name_of(X, j) for j in columns]
    if text and not reset:
        raise ValueError(
            f"X must be numeric, as it was in fit, but these columns hold text or categories: "
            f"{', '.join(text)}. Convert them to numbers."
        )
    if text:
        raise ValueError(
            f"X must be numeric, but these columns hold text or categories: {', '.join(text)}. "
            "Encode them first, for example with sklearn.preprocessing.OneHotEncoder; the additive "
            "estimators take them as they are with categorical_features='from_dtype'."
        )


def refuse_dates(X: Any) -> None:
    """Point at the columns that hold dates, times, periods or intervals."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "mM":
        dates = [f"column {j}" for j in range(X.shape[1] if X.ndim == 2 else 1)]
    elif isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2:
        dates = [f"column {j}" for j in range(X.shape[1]) if _holds_dates(X[:, j])]
    else:
        dates = [
            str(X.columns[j])
            for j, dtype in _dtypes(X)
            if dtype.lower().startswith(("date", "time", "period", "interval", "duration"))
            or (dtype == "object" and _holds_dates(np.asarray(column_of(X, j), dtype=object)))
        ]
    if dates:
        shown = ", ".join(dates[:10])
        raise ValueError(
            "X must hold numbers or categories, but these columns hold dates, times or intervals: "
            f"{shown}. Give numbers instead, for example days since a fixed day, the month, the "
            "hour or the middle of an interval; or text, to have categories."
        )


def without_objects(X: Any) -> Any:
    """Read the columns of objects of a pandas data frame, all of them numbers, as floats."""
    objects = [j for j, dtype in _dtypes(X) if dtype == "object"]
    if not objects or not hasattr(X, "iloc"):
        return X
    X = X.copy(deep=False)
    for j in objects:
        X.isetitem(j, numbers(column_of(X, j), f"column {_name_of(X, j)!r}"))
    return X


def _is_text(values: Any, dtype: str) -> bool:
    if dtype == "object":
        found = np.asarray(values, dtype=object).tolist()
        if any(isinstance(value, str) for value in found):
            return True
        return any(not isinstance(value, NUMBERS) and not is_missing(value) for value in found)
    kinds = ("category", "str", "String", "Categ", "Enum", "large_string", "dictionary")
    return dtype.startswith(kinds) and not dtype.startswith("struct")


def _holds_dates(values: AnyArray) -> bool:
    kinds = (date, time, timedelta, np.datetime64, np.timedelta64)
    return any(
        isinstance(value, kinds) or type(value).__name__ == "Period"  # of pandas
        for value in values.tolist()
    )


def _name_of(X: Any, j: int) -> str:
    return str(X.columns[j]) if hasattr(X, "columns") else f"column {j}"


def _dtypes(X: Any) -> list[tuple[int, str]]:
    """Name the type of every column of a data frame; nothing for all else."""
    if not is_frame(X):
        return []
    return [(j, str(dtype)) for j, dtype in enumerate(X.dtypes)]
