"""SQL text: names, literals, and differences between dialects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["DIALECTS", "Dialect", "added", "branches", "literal", "name", "number"]


@dataclass(frozen=True)
class Dialect:
    """The differences between databases.

    Attributes
    ----------
    as_number, as_text : str
        A column {} as a double, with NULL instead of NaN, and as text.
    largest : str
        The function that returns the largest of its arguments.
    modulo : str
        The remainder of {0} divided by {1}, with the sign of {0}.
    with_query : str
        The beginning of a named query that is computed once.
    has_lists : bool
        Whether there are lists of numbers that can be indexed.
    most_columns : int
        Largest number of columns of a query.
    most_arguments : int
        Largest number of arguments of a function.
    """

    as_number: str
    as_text: str
    largest: str
    modulo: str
    with_query: str
    has_lists: bool
    most_columns: int
    most_arguments: int

    def maximum(self, expressions: Sequence[str]) -> str:
        """Return the maximum of expressions, none of which is NULL."""
        found = list(expressions)
        while len(found) > 1:
            n = self.most_arguments
            groups = [found[k : k + n] for k in range(0, len(found), n)]
            found = [g[0] if len(g) == 1 else f"{self.largest}({', '.join(g)})" for g in groups]
        return found[0]


DIALECTS = {
    "duckdb": Dialect(
        as_number="NULLIF(CAST({} AS DOUBLE), CAST('NaN' AS DOUBLE))",
        as_text="CAST({} AS VARCHAR)",
        largest="greatest",
        modulo="({0} % {1})",
        with_query="{} AS",
        has_lists=True,
        most_columns=2**31,
        most_arguments=100,
    ),
    "sqlite": Dialect(
        as_number="CAST({} AS REAL)",  # SQLite stores NaN as NULL
        as_text="CAST({} AS TEXT) COLLATE BINARY",
        largest="max",
        modulo="mod({0}, {1})",
        # Otherwise SQLite copies the expression of a column to wherever it is used.
        with_query="{} AS MATERIALIZED",
        has_lists=False,
        most_columns=2000,
        most_arguments=100,
    ),
}


def name(text: str) -> str:
    """Return a quoted identifier."""
    if "\0" in text:
        raise ValueError(f"{text!r} has a null character, which SQL cannot express.")
    return '"' + text.replace('"', '""') + '"'


def literal(value: object) -> str:
    """Return a class or a level as an SQL literal."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, str) and "\0" not in value:
        return "'" + value.replace("'", "''") + "'"
    raise TypeError(f"{value!r} cannot be written in SQL; fit the model with text or numbers.")


def number(value: float) -> str:
    """Return a double to the last bit; NULL for NaN.

    Without an exponent it would be a decimal number, and be rounded.
    """
    value = float(value)
    if math.isnan(value):
        return "NULL"
    digits = repr(value)
    digits = digits if "e" in digits else digits.removesuffix(".0") + "e0"
    return f"({digits})" if value < 0 else digits


def added(expressions: Sequence[str]) -> str:
    """Return a sum, split recursively, because databases limit the depth of expressions."""
    if len(expressions) <= 2:
        return " + ".join(expressions)
    half = len(expressions) // 2
    return f"({added(expressions[:half])}) + ({added(expressions[half:])})"


def branches(x: str, starts: Sequence[str], leaves: Sequence[str]) -> str:
    """Return a CASE that selects leaf k if exactly k of the n starts are not above x."""
    if len(leaves) == 1:
        return leaves[0]
    half = len(leaves) // 2
    below = branches(x, starts[: half - 1], leaves[:half])
    above = branches(x, starts[half:], leaves[half:])
    if below == above:
        return below
    return f"CASE WHEN {x} < {starts[half - 1]} THEN {below} ELSE {above} END"
