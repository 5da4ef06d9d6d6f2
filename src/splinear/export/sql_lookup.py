"""How a query finds the piece of a curve, or the cell of a surface, that a row is in.

Pieces and cells have numbers, which are columns, and what belongs to a piece is looked up by its
number in an array: a list in DuckDB, a blob of text of equal lengths in SQLite. A CASE with a
formula in every branch would say the same, and take far longer: 50 curves of 128 pieces have 6,400
formulas, which DuckDB plans for seconds; SQLite compares all constants with each other.
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

Search = tuple[str, str, Floats]  # the name of a column, x, and starts

FIELD = 24  # characters of the longest double


class Arrays(Protocol):
    """Arrays of constants in a query."""

    def item(self, values: Floats, place: str) -> str:
        """Return the item at a place from 0 on; NaN is NULL."""
        ...

    def searched(self, searches: Sequence[Search]) -> list[dict[str, str]]:
        """Return columns, in steps, of how many starts are not above x."""
        ...

    def cell(self, place: str, n_cells: int) -> str:
        """Return the number of the cell of a place that is not negative."""
        ...


class Lists:
    """Lists of DuckDB; as text, which is read faster than numbers."""

    def item(self, values: Floats, place: str) -> str:
        """Return the item at a place."""
        return f"{_listed(values)}[{place} + 1]"

    def searched(self, searches: Sequence[Search]) -> list[dict[str, str]]:
        """Halve what is left in every step, for all searches at once."""
        bits = [len(starts).bit_length() for _, _, starts in searches]
        steps = []
        for bit in reversed(range(max(bits, default=0))):
            step = {}
            for (column, x, starts), n in zip(searches, bits, strict=True):
                if bit < n:
                    so_far = f"{column}_{bit + 1} + " if bit + 1 < n else ""
                    start = f"{_listed(starts)}[{so_far}{2**bit}]"  # NULL behind the last one
                    found = f"CASE WHEN {start} <= {x} THEN {2**bit} ELSE 0 END"
                    step[column if bit == 0 else f"{column}_{bit}"] = so_far + found
            steps.append(step)
        return steps

    def cell(self, place: str, n_cells: int) -> str:
        """Return the number of a cell."""
        return f"CAST(least(floor({place}), {n_cells - 1}) AS INTEGER)"


class Blobs:
    """Text of equal lengths, which SQLite finds in a blob without reading what is before."""

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
        """Ask for the middle start first: CASE in CASE."""
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
    """Functions in pieces and over cells, whose numbers are columns.

    Attributes
    ----------
    arrays : Arrays
    cells : dict of str to str
        Columns that have to be there once places on axes have been computed.
    """

    arrays: Arrays
    cells: dict[str, str] = field(default_factory=dict)
    _searches: list[Search] = field(default_factory=list)

    @property
    def pieces(self) -> list[dict[str, str]]:
        """Columns that have to be there, in steps, as soon as there are those of the features."""
        return self.arrays.searched(self._searches)

    def of_pieces(self, x: str, pieces: Pieces) -> list[str]:
        """Return functions of a column in pieces, an expression per output."""
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
        """Return what is bilinear at places p and q that are not negative, one per output.

        `values` are (n_outputs, n_first, n_second).
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
    """Return c of c0 + b c1 + a (c2 + b c3) for every cell, (n_outputs, rows, columns) each."""
    right, below = np.diff(T, axis=2), np.diff(T, axis=1)
    return T[:, :-1, :-1], right[:, :-1], below[:, :, :-1], np.diff(right, axis=1)


def _listed(values: Floats) -> str:
    numbers = ",".join("NULL" if v != v else repr(v) for v in values.tolist())
    return f"CAST('[{numbers}]' AS DOUBLE[])"
