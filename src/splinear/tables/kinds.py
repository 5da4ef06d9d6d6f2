"""Checks of columns that do not hold numbers."""

from __future__ import annotations

from collections.abc import Collection

from splinear._lookup import shown
from splinear.tables.table import Table
from splinear.tables.values import Kind

__all__ = ["categories_in", "refuse_others", "refuse_text"]


def categories_in(table: Table) -> list[int]:
    """Return the columns that hold text, categories or other objects."""
    return [j for j, kind in enumerate(table.kinds) if kind in (Kind.CATEGORY, Kind.OBJECT)]


def refuse_text(table: Table, but: Collection[int], *, reset: bool) -> None:
    """Raise if columns hold text or categories, except those in `but`."""
    if table.is_numeric:
        return
    columns = [j for j in categories_in(table) if j not in but]
    if not columns:
        return
    names = shown(_name_of(table, j) for j in columns)
    if all(table.kinds[j] is Kind.OBJECT for j in columns):  # a message like that of float()
        raise TypeError(
            f"X must be numeric, but these columns hold other objects: {names}. Every argument "
            "must be a string or a real number."
        )
    if not reset:
        raise ValueError(
            f"X must be numeric, as it was in fit, but these columns hold text or categories: "
            f"{names}. Convert them to numbers; where `splinear fit --dates` read dates, these are "
            "days since 1970-01-01, pandas.to_datetime(df['day']).to_numpy('datetime64[s]')"
            ".astype(float) / 86400."
        )
    raise ValueError(
        f"X must be numeric, but these columns hold text or categories: {names}. "
        "Encode them first, for example with sklearn.preprocessing.OneHotEncoder; the additive "
        "estimators take them as they are with categorical_features='from_dtype'."
    )


def refuse_others(table: Table) -> None:
    """Raise if columns hold neither numbers nor categories, naming them."""
    if table.is_numeric:
        return
    kinds = table.kinds
    dates = [_name_of(table, j) for j, kind in enumerate(kinds) if kind is Kind.DATE]
    if dates:
        raise ValueError(
            "X must hold numbers or categories, but these columns hold dates, times or intervals: "
            f"{shown(dates)}. Use numbers instead, for example days since 1970-01-01 (as --dates "
            "of the command line does), df['day'].to_numpy('datetime64[s]').astype(float) / 86400, "
            "the month, the hour or the "
            "middle of an interval; or text, to have categories."
        )
    for kind in (Kind.COMPLEX, Kind.BYTES, Kind.OTHER):
        found = [_name_of(table, j) for j, other in enumerate(kinds) if other is kind]
        if found:
            raise ValueError(
                f"X must hold real numbers or categories, but these columns hold {kind.value}: "
                f"{shown(found)}. Convert them first, or leave them out."
            )


def _name_of(table: Table, j: int) -> str:
    return f"column {j}" if table.names is None else table.names[j]
