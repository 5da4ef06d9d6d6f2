"""Columns of X in messages: found by what a user calls them, and listed."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Integral
from typing import TypeGuard

__all__ = ["closest", "column_position", "is_whole", "shown"]

_MOST_SHOWN = 10


def column_position(
    column: object, n_features: int, names: Iterable[object] | None, refusal: str
) -> int:
    """Return the position of a column that is given by its name or its position.

    Raises
    ------
    ValueError
        If there is none. The message begins with `refusal`, and says what there is.
    """
    if isinstance(column, str):
        if names is None:
            raise ValueError(
                f"{refusal}: X has no column names; use a position from 0 to {n_features - 1}."
            )
        known = [str(name) for name in names]
        if column in known:
            return known.index(column)
        meant = closest(column, known)
        guess = "" if meant is None else f" Did you mean {meant!r}?"
        raise ValueError(f"{refusal}.{guess} X has {shown(map(repr, known))}.")
    if not is_whole(column) or not 0 <= column < n_features:
        raise ValueError(
            f"{refusal}: expected a column name or a position from 0 to {n_features - 1}."
        )
    return int(column)


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the name that was probably meant; None: none resembles it."""
    return next(iter(get_close_matches(name, known, n=1)), None)


def shown(texts: Iterable[str]) -> str:
    """List texts in a message: the first of them, and how many more there are."""
    listed = list(texts)
    rest = len(listed) - _MOST_SHOWN
    return ", ".join(listed[:_MOST_SHOWN]) + (f" and {rest:,} more" if rest > 0 else "")


def is_whole(value: object) -> TypeGuard[int]:
    """Tell whether a value is a whole number of any type, and not True or False."""
    return isinstance(value, Integral) and not isinstance(value, bool)
