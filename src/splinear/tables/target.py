"""Checks of y: missing values, which are named by their row, and numbers."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from splinear._types import AnyArray, Floats, Input
from splinear.tables.values import as_missing, is_missing

__all__ = ["check_target", "target_numbers"]


def check_target(y: Input, *, numeric: bool) -> Input:
    """Return y for further checks; raise if it has missing values, naming the first row.

    If `numeric`, y must hold finite numbers, or text that can be converted to such.
    """
    values = _as_array(y)
    if values is None or values.ndim == 0:
        return y
    row = _first_missing(values)
    if row is not None:
        raise ValueError(
            f"Input y contains NaN (first in row {row}): a missing value, but every row needs a "
            f"{'finite target' if numeric else 'class'}. Leave such rows out."
        )
    if numeric and values.ndim == 2 and values.shape[1] > 1:
        raise ValueError(
            f"y has {values.shape[1]} columns, and must be a 1d array of one number per row. Fit a "
            "model per column, for example with sklearn.multioutput.MultiOutputRegressor."
        )
    if numeric and values.ndim == 1 and values.dtype.kind != "c":
        return target_numbers(values, None)
    return values if isinstance(y, (np.ma.MaskedArray, list, tuple)) else y


def target_numbers(y: AnyArray, kept: AnyArray | None) -> Floats:
    """Return y as floats; raise if a row in `kept` has NaN or infinity, naming the first."""
    if y.dtype.kind in "mM":
        raise ValueError("y must hold numbers; it holds dates or times.")
    try:
        numbers = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must hold numbers{_first_text(y)}.") from error
    wrong = ~np.isfinite(numbers)
    if kept is not None:
        wrong &= kept
    if wrong.any():
        row = int(np.argmax(wrong))
        found = "NaN" if np.isnan(numbers[row]) else "infinity"
        raise ValueError(
            f"Input y contains {found} (first in row {row}); every row needs a finite target. "
            "Leave such rows out."
        )
    return numbers


def _as_array(y: Input) -> AnyArray | None:
    """Return y as an array, with its missing values; None if it is not array-like."""
    if y is None or sparse.issparse(y):
        return None
    if isinstance(y, np.ma.MaskedArray):
        gaps = np.ma.getmaskarray(y)
        return as_missing(y.data, gaps) if gaps.any() else y.data
    if not isinstance(y, (list, tuple)):
        return np.asarray(y) if hasattr(y, "__array__") else None
    try:
        array = np.asarray(y)
        # Next to text, numbers and NaN would become text.
        return np.array(y, dtype=object) if array.dtype.kind in "US" else array
    except ValueError:  # ragged
        return None


def _first_missing(values: AnyArray) -> int | None:
    """Return the first row with a missing value; None if there is none."""
    if values.dtype.kind == "f":
        with np.errstate(invalid="ignore", over="ignore"):
            if not np.isnan(values.sum()):  # avoids an array as long as y in the usual case
                return None
        gaps = np.isnan(values)
    elif values.dtype.kind == "O":
        found = [is_missing(value) for value in values.ravel().tolist()]
        gaps = np.reshape(found, values.shape)
    else:
        return None
    rows = gaps.reshape(len(values), -1).any(axis=1)
    return int(np.argmax(rows)) if rows.any() else None


def _first_text(y: AnyArray) -> str:
    """Return a message that names the first row that is not a number."""
    for row, value in enumerate(y.tolist()):
        try:
            float(value)
        except (TypeError, ValueError):
            return f", but row {row} holds {value!r}"
    return ""
