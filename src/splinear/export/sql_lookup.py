"""Lookups in SQL: the piece of a curve, or the cell of a surface, of each row.

The index of a piece or cell is a column, by which coefficients are looked up in an array: a list in
DuckDB, and a blob of text with equal lengths in SQLite. A CASE with a formula in every branch would
be equivalent but far slower: 50 curves of 128 pieces have 6,400 formulas, which take DuckDB seconds
to plan; SQLite compares all constants with each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from splinear._types import Floats
from splinear.export.pieces import Pieces
from splinear.export.sql_text import branches, number

__all__ = ["Arrays", "Blobs", "Lists", "Lookup"]

Search = tuple[str, str, Floats]  # the name of the new column, x, and the starts of pieces

FIELD = 24  # characters of the longest double


class Arrays(Protocol):
    """Arrays of constants in a query."""

    def item(self, values: Floats, place: str) -> str:
        """Return the expression of the item at an index; NaN becomes NULL."""
        ...

    def searched(self, searches: Sequence[Search]) -> list[dict[str, str]]:
        """Return steps of columns that count the starts not above x."""
        ...

    def cell(self, place: str, n_cells: int) -> str:
        """Return the index of the cell of a nonnegative position."""
        ...


class Lists:
    """DuckDB lists, written as text, which is parsed faster than numbers."""

    def item(self, values: Floats, place: str) -> str:
        """Return the item at a place."""
        return f"{_listed(values)}[{place} + 1]"

    def searched(self, searches: Sequence[Search]) -> list[dict[str, str]]:
        """Return the steps of a bisection, for all searches at once."""
        bits = [len(starts).bit_length() for _, _, starts in searches]
        steps = []
        for bit in reversed(range(max(bits, default=0))):
            step = {}
            for (column, x, starts), n in zip(searches, bits, strict=True):
                if bit < n:
                    so_far = f"{column}_{bit + 1} + " if bit + 1 < n else ""
                    start = f"{_listed(starts)}[{so_far}{2**bit}]"  # NULL after the last one
                    found = f"CASE WHEN {start} <= {x} THEN {2**bit} ELSE 0 END"
                    step[column if bit == 0 else f"{column}_{bit}"] = so_far + found
            steps.append(step)
        return steps

    def cell(self, place: str, n_cells: int) -> str:
        """Return the number of a cell."""
        return f"CAST(least(floor({place}), {n_cells - 1}) AS INTEGER)"


class Blobs:
    """Blobs of text items with equal lengths, which SQLite accesses directly."""

    def item(self, values: Floats, place: str) -> str:
        """Return the item at a place."""
        if len(values) == 1:
            return number(values[0])
        text = "".join(repr(value).ljust(FIELD) for value in values.tolist())
        found = f"CAST(substr(x'{text.encode().hex()}', {FIELD} * ({place}) + 1, {FIELD}) AS REAL)"
        if not np.isnan(values).any():
            return found
        refused = ", ".join(str(k) for k in np.flatnonzero(np.isnan(values)))
        return f"CASE WHEN {place} IN ({refused}) THEN NULL ELSE {found} END"

    def searched(self, searches: Sequence[Search]) -> list[dict[str, str]]:
        """Return nested CASE expressions that bisect the starts."""
        return [
            {
                column: branches(x, [*map(number, starts)], [*map(str, range(len(starts) + 1))])
                for column, x, starts in searches
            }
        ]

    def cell(self, place: str, n_cells: int) -> str:
        """Return the number of a cell."""
        return f"min(CAST({place} AS INTEGER), {n_cells - 1})"


@dataclass
class Lookup:
    """Piecewise functions and functions over cells, by columns with their indices.

    Attributes
    ----------
    arrays : Arrays
    cells : dict of str to str
        Columns to add once the positions on axes are computed.
    """

    arrays: Arrays
    cells: dict[str, str] = field(default_factory=dict)
    _searches: list[Search] = field(default_factory=list)

    @property
    def pieces(self) -> list[dict[str, str]]:
        """Steps of columns to add once the columns of the features are there."""
        return self.arrays.searched(self._searches)

    def of_pieces(self, x: str, pieces: Pieces) -> list[str]:
        """Return the expressions of a piecewise function of a column, one per output."""
        at = f"i{len(self._searches)}"
        self._searches.append((at, x, pieces.starts))
        origin, width = (self.arrays.item(a, at) for a in (pieces.origin, pieces.width))
        u, out = f"(({x} - {origin}) / {width})", []
        for coef in pieces.coef:
            by_power = [self.arrays.item(c, at) for c in coef.T]
            total = by_power[-1]
            for c in reversed(by_power[:-1]):
                total = f"{c} + {u} * ({total})"
            out.append(total)
        return out

    def of_grid(self, p: str, q: str, values: Floats) -> list[str]:
        """Return the bilinear expressions at nonnegative positions p and q, one per output.

        `values` is (n_outputs, n_first, n_second).
        """
        n_first, n_second = values.shape[1] - 1, values.shape[2] - 1
        row, column = (f"{letter}{len(self.cells)}" for letter in "fg")
        self.cells[row] = self.arrays.cell(p, n_first)
        self.cells[column] = self.arrays.cell(q, n_second)
        a, b, at = f"({p} - {row})", f"({q} - {column})", f"{row} * {n_second} + {column}"
        out = []
        for cells in zip(*_bilinear(values), strict=True):
            corner, right, below, both = (self.arrays.item(c.ravel(), at) for c in cells)
            out.append(f"{corner} + {b} * {right} + {a} * ({below} + {b} * {both})")
        return out


def _bilinear(T: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return c0, ..., c3 of c0 + b c1 + a (c2 + b c3) per cell, (n_outputs, rows, columns)."""
    right, below = np.diff(T, axis=2), np.diff(T, axis=1)
    return T[:, :-1, :-1], right[:, :-1], below[:, :, :-1], np.diff(right, axis=1)


def _listed(values: Floats) -> str:
    numbers = ",".join("NULL" if v != v else repr(v) for v in values.tolist())
    return f"CAST('[{numbers}]' AS DOUBLE[])"
