"""A profile of a file's columns: kinds, missing values, levels, ranges, in one pass."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from splinear._types import AnyArray
from splinear.tables.table import Table
from splinear.tables.values import Kind, Values, factor, numbers

__all__ = ["ColumnProfile", "profile"]

MANY = 20  # distinct numbers that are counted, at most
LONGEST = 10_000  # levels that are counted, at most


@dataclass
class ColumnProfile:
    """The profile of one column.

    Attributes
    ----------
    name : str
    kind : Kind
    is_boolean : bool
        Whether its numbers stand for True and False.
    n_rows, n_gaps : int
    lo, hi : float
        The range of numbers; NaN if there are none.
    is_whole : bool
        Whether all numbers are integers.
    is_count : bool
        Whether each number is one more than that of the row before.
    counts : Counter
        Rows per level of a category, or per value of a column with few numbers. It is incomplete
        for more than 10,000 levels or 20 numbers.
    """

    name: str
    kind: Kind
    is_boolean: bool = False
    n_rows: int = 0
    n_gaps: int = 0
    lo: float = np.nan
    hi: float = np.nan
    is_whole: bool = True
    is_count: bool = True
    counts: Counter[object] = field(default_factory=Counter)

    @property
    def is_category(self) -> bool:
        """Whether the column is a category."""
        return self.kind in (Kind.CATEGORY, Kind.OBJECT)

    @property
    def is_constant(self) -> bool:
        """Whether there is at most one value; a missing value counts as one."""
        n_values = len(self.counts) + (self.n_gaps > 0)
        return n_values <= 1 and (self.is_category or self.kind is Kind.NUMBER)

    @property
    def is_identifier(self) -> bool:
        """Whether nearly every row has a level of its own, or the numbers count the rows."""
        if self.kind is Kind.NUMBER:
            return self.is_count and self.n_rows > MANY
        return self.is_category and 2 * len(self.counts) > self.n_rows > MANY

    def add(self, values: Values) -> None:
        """Add rows."""
        self.n_rows += len(values)
        if self.is_category:
            distinct, places = factor(values)
            self.n_gaps += int((places < 0).sum())
            if len(self.counts) <= LONGEST:
                counts = np.bincount(places[places >= 0], minlength=len(distinct))
                self.counts.update(dict(zip(distinct, counts.tolist(), strict=True)))
        elif self.kind is Kind.NUMBER:
            self._add_numbers(numbers(values, f"column {self.name!r}"))

    def _add_numbers(self, x: AnyArray) -> None:
        if self.is_count and len(x):
            before = self.hi if self.n_rows > len(x) else x[0] - 1.0
            self.is_count = bool(np.all(np.diff(x, prepend=before) == 1.0))
        there = x[~np.isnan(x)]
        self.n_gaps += len(x) - len(there)
        if len(there):
            self.lo = float(np.fmin(self.lo, there.min()))
            self.hi = float(np.fmax(self.hi, there.max()))
            self.is_whole = self.is_whole and bool(np.all(there == np.floor(there)))
        if len(self.counts) <= MANY:
            distinct, counts = np.unique(there, return_counts=True)
            few = slice(MANY + 1)
            self.counts.update(dict(zip(distinct[few].tolist(), counts[few].tolist(), strict=True)))


def profile(table: Table, most: int | None = None) -> list[ColumnProfile]:
    """Return the profiles of the columns of a table with names.

    Numbers beyond the first `most` columns are left out, because a table may have very many.
    """
    named, booleans = zip(table.names or (), table.kinds, strict=True), table.booleans
    found = {
        j: ColumnProfile(name, kind, j in booleans)
        for j, (name, kind) in enumerate(named)
        if most is None or j < most or kind is not Kind.NUMBER
    }
    for _, columns in table.columns(list(found)):
        for column, values in zip(found.values(), columns, strict=True):
            column.add(values)
    return list(found.values())
