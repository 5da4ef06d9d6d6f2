"""Reading tables: as the core takes them, in pieces, as floats; and column by column."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._missing import is_pandas_na

from splinear._types import AnyArray

__all__ = ["as_floats", "as_frame", "column_of", "factor", "float_chunks", "numbers"]

# Values per piece of X that is read at a time, so that Ctrl-C is heard; fewer where a piece is
# copied because its type must be converted, so that the copy stays small.
_PIECE = 2**24
_COPIED_PIECE = 2**20


def as_floats(X: AnyArray) -> AnyArray:
    """Give X as the core reads it: float32 and float64 as they are, other types as float64."""
    native = X.dtype.newbyteorder("=")
    wanted = native if native in (np.float32, np.float64) else np.dtype(np.float64)
    return X if X.dtype == wanted and X.flags.aligned else X.astype(wanted)


def float_chunks(X: AnyArray) -> Iterator[tuple[slice, AnyArray]]:
    """Give X in pieces of rows, as the core reads them."""
    size = _PIECE if X.dtype in (np.float32, np.float64) else _COPIED_PIECE
    rows = max(1, size // max(1, X.shape[1]))
    for start in range(0, len(X), rows):
        piece = as_floats(X[start : start + rows])
        yield slice(start, start + len(piece)), piece


def as_frame(X: Any) -> Any:
    """Give a polars or Arrow table as a pandas one, if pandas is there; all else as it is."""
    if isinstance(X, np.ndarray) or hasattr(X, "iloc"):
        return X
    try:
        if hasattr(X, "to_pandas"):
            return X.to_pandas()
        if hasattr(X, "__arrow_c_stream__"):
            return import_module("pyarrow").table(X).to_pandas()
    except ImportError:
        pass
    return X


def column_of(X: Any, j: int) -> Any:
    """Give column j of a data frame or an array."""
    return X.iloc[:, j] if hasattr(X, "iloc") else X[:, j]


def numbers(values: Any, label: str) -> AnyArray:
    """Read a column as floats, missing values as NaN."""
    dtype = getattr(values, "dtype", None)
    if getattr(dtype, "kind", "") in "mM":
        raise ValueError(f"X must hold numbers or categories in {label}; it holds dates or times.")
    try:
        if hasattr(values, "isna"):
            return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
        wanted = np.float32 if dtype == np.float32 else np.float64
        return np.asarray(values).astype(wanted, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X must hold numbers in {label}: {error}.") from error


def factor(values: Any) -> tuple[list[Any], NDArray[np.intp]]:
    """Give the distinct values of a column, and the place of every row among them; -1: missing."""
    if hasattr(values, "factorize"):  # a column of a data frame
        rows, distinct = values.factorize()
        return distinct.tolist(), rows
    places: dict[Any, int] = {}
    found = [
        -1 if _is_missing(value) else places.setdefault(value, len(places))
        for value in np.asarray(values).tolist()
    ]
    return list(places), np.array(found, dtype=np.intp)


def _is_missing(value: Any) -> bool:
    return value is None or is_pandas_na(value) or bool(value != value)
