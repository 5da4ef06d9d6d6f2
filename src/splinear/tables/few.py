"""A fast way to open a few rows for prediction.

The tables are those that :func:`splinear.tables.opening.open_table` would return for the same rows.
Its checks of what X is take longer than the prediction of a single row.
"""

from __future__ import annotations

import sys
from collections.abc import Collection

import numpy as np

from splinear._types import AnyArray, Input
from splinear.tables.chunks import float_type
from splinear.tables.dense import ArrayTable
from splinear.tables.frame import FrameTable
from splinear.tables.table import Table
from splinear.tables.values import Kind, Values, kind_of

__all__ = ["open_few"]

SINGLE = np.dtype(np.float32)
FLOATS = (np.dtype(np.float64), SINGLE)
WHOLE = frozenset(np.dtype(letter) for letter in "?bhilqBHILQ")
MOST_VALUES = 2**14  # in a data frame
BY_LETTER = {"O": Kind.OBJECT, **dict.fromkeys("fiub", Kind.NUMBER)}


def open_few(X: Input, categories: Collection[int] = ()) -> Table | None:
    """Open an array of floats or a small pandas data frame; None for anything else.

    Frames in which `categories` are integers are not opened here, because those must not become
    floats.
    """
    if type(X) is np.ndarray:
        return ArrayTable(X) if X.ndim == 2 and X.dtype in FLOATS else None
    pandas = sys.modules.get("pandas")
    if pandas is None or type(X) is not pandas.DataFrame:
        return None
    names = X.columns.tolist()
    if not 0 < len(X) * len(names) <= MOST_VALUES:
        return None
    types = X.dtypes.tolist()
    if len(set(names)) < len(names) or not all(type(name) is str for name in names):
        return None
    if any(j < len(types) and types[j] in WHOLE for j in categories):
        return None
    if SINGLE in types and len(set(types)) > 1:  # each column is read in its own precision
        return None
    kinds = [_kind(dtype) for dtype in types]
    if all(kind is Kind.NUMBER for kind in kinds):
        return NamedArray(np.ascontiguousarray(X.to_numpy(dtype=float_type(*types))), names, X)
    return None if None in kinds else _of_columns(X, names, kinds)


class NamedArray(ArrayTable):
    """The numbers of a data frame, `given`, as an array."""

    def __init__(self, array: AnyArray, names: list[str], given: Input) -> None:
        super().__init__(array)
        self.names, self.given = names, given


def _kind(dtype: Input) -> Kind | None:
    """Return what a column of this type holds; OBJECT if unknown, None for other types."""
    if isinstance(dtype, np.dtype):
        return BY_LETTER.get(dtype.kind)
    return Kind.CATEGORY if dtype.name in ("category", "str", "string") else None


def _of_columns(X: Input, names: list[str], kinds: list[Kind | None]) -> Table:
    """Return a table of columns of numbers, text and categories."""
    whole = _only_row(X, kinds) if len(X) == 1 else X.to_numpy(dtype=object)
    of_numbers = [j for j, kind in enumerate(kinds) if kind is Kind.NUMBER]
    numbers = iter(np.array(whole[:, of_numbers], dtype=np.float64, order="F").T)
    data: list[Values] = []
    found: list[Kind] = []
    for j, kind in enumerate(kinds):
        data.append(next(numbers) if kind is Kind.NUMBER else whole[:, j])
        found.append(kind_of(data[j]) if kind is None or kind is Kind.OBJECT else kind)
    return FrameTable(data, names, X, len(whole), found)


def _only_row(X: Input, kinds: list[Kind | None]) -> AnyArray:
    """Return the values of a single row, (1, n_columns), faster than X.to_numpy."""
    out = np.empty((1, len(kinds)), dtype=object)
    at = X.iat
    for j, kind in enumerate(kinds):
        value = at[0, j]
        is_level = kind is Kind.CATEGORY and isinstance(value, np.generic)
        out[0, j] = value.item() if is_level else value
    return out
