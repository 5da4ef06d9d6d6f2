"""How a query finds the piece of a curve, or the cell of a surface, that a row is in.

By branches, which every data base has: CASE in CASE, the middle start first. Or by lists, where
there are any: halving in steps, all curves at once, and numbers by their places in lists. A query
of lists has far fewer expressions, which is what planning takes time for: 50 curves of 128 pieces
take DuckDB a seventh of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from splinear._types import Floats
from splinear.export.pieces import Pieces
from splinear.export.sql_text import branches, number, polynomial

__all__ = ["Branches", "Lists", "Lookup"]


class Lookup(Protocol):
    """One of the ways."""

    @property
    def searches(self) -> list[dict[str, str]]:
        """Columns that have to be there, in steps, before places are computed."""
        ...

    @property
    def cells(self) -> dict[str, str]:
        """Columns that have to be there once places have been computed."""
        ...

    def of_pieces(self, x: str, pieces: Pieces) -> list[str]:
        """Return functions of a column in pieces, an expression per output."""
        ...

    def of_grid(self, p: str, q: str, values: Floats) -> list[str]:
        """Return values (n_outputs, n_first, n_second), bilinear at places p and q of 0 or more."""
        ...


class Branches:
    """CASE in CASE."""

    searches: list[dict[str, str]] = []  # noqa: RUF012 (nothing has to be there)
    cells: dict[str, str] = {}  # noqa: RUF012

    def of_pieces(self, x: str, pieces: Pieces) -> list[str]:
        """Return functions of a column in pieces, an expression per output."""
        starts = [number(start) for start in pieces.starts]
        places = list(zip(pieces.origin, pieces.width, strict=True))
        return [
            branches(x, starts, [_leaf(x, c, *at) for c, at in zip(coef, places, strict=True)])
            for coef in pieces.coef
        ]

    def of_grid(self, p: str, q: str, values: Floats) -> list[str]:
        """Return a bilinear function, an expression per output."""
        n_first, n_second = values.shape[1] - 1, values.shape[2] - 1
        at = [number(k) for k in range(1, max(n_first, n_second))]
        out = []
        for corners in np.stack(_bilinear(values), axis=-1):
            rows = [
                branches(q, at[: n_second - 1], [_cell(c, k, m, p, q) for m, c in enumerate(row)])
                for k, row in enumerate(corners)
            ]
            out.append(branches(p, at[: n_first - 1], rows))
        return out


@dataclass
class Lists:
    """Places in lists."""

    cells: dict[str, str] = field(default_factory=dict)
    _starts: list[tuple[str, Floats]] = field(default_factory=list)

    @property
    def searches(self) -> list[dict[str, str]]:
        """Columns i0_b, i1_b, ... of how many starts are not above x, but for the last b bits."""
        bits = [len(starts).bit_length() for _, starts in self._starts]
        steps = []
        for bit in reversed(range(max(bits, default=0))):
            step = {}
            for k, (x, starts) in enumerate(self._starts):
                if bit < bits[k]:
                    so_far = f"i{k}_{bit + 1} + " if bit + 1 < bits[k] else ""
                    start = f"{_listed(starts)}[{so_far}{2**bit}]"  # NULL behind the last one
                    found = f"CASE WHEN {start} <= {x} THEN {2**bit} ELSE 0 END"
                    step[f"i{k}_{bit}"] = so_far + found
            steps.append(step)
        return steps

    def of_pieces(self, x: str, pieces: Pieces) -> list[str]:
        """Return functions of a column in pieces, an expression per output."""
        piece = f"i{len(self._starts)}_0 + 1" if len(pieces.starts) else "1"
        self._starts.append((x, pieces.starts))
        origin, width = (f"{_listed(a)}[{piece}]" for a in (pieces.origin, pieces.width))
        u = f"(({x} - {origin}) / {width})"
        out = []
        for coef in pieces.coef:
            by_power = [f"{_listed(c)}[{piece}]" for c in coef.T]
            total = by_power[-1]
            for c in reversed(by_power[:-1]):
                total = f"{c} + {u} * ({total})"
            out.append(total)
        return out

    def of_grid(self, p: str, q: str, values: Floats) -> list[str]:
        """Return a bilinear function, an expression per output."""
        n_first, n_second = values.shape[1] - 1, values.shape[2] - 1
        row, column = (f"{letter}{len(self.cells)}" for letter in "fg")
        self.cells[row] = f"CAST(least(floor({p}), {n_first - 1}) AS INTEGER)"
        self.cells[column] = f"CAST(least(floor({q}), {n_second - 1}) AS INTEGER)"
        a, b = f"({p} - {row})", f"({q} - {column})"
        at = f"{row} * {n_second} + {column} + 1"
        out = []
        for corners in zip(*_bilinear(values), strict=True):
            corner, right, below, both = (f"{_listed(c.ravel())}[{at}]" for c in corners)
            out.append(f"{corner} + {b} * {right} + {a} * ({below} + {b} * {both})")
        return out


def _bilinear(T: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return c of c0 + b c1 + a (c2 + b c3) for every cell, (n_outputs, rows, columns) each."""
    right, below = np.diff(T, axis=2), np.diff(T, axis=1)
    return T[:, :-1, :-1], right[:, :-1], below[:, :, :-1], np.diff(right, axis=1)


def _cell(c: Floats, k: int, m: int, p: str, q: str) -> str:
    a, b = f"({p} - {number(k)})", f"({q} - {number(m)})"
    return f"{polynomial(b, c[:2])} + {a} * ({polynomial(b, c[2:])})"


def _leaf(x: str, coef: Floats, origin: float, width: float) -> str:
    """Return a polynomial of (x - origin) / width."""
    if np.isnan(coef).any():
        return "NULL"
    if len(coef) == 2:
        return polynomial(f"({x} - {number(origin)})", np.array([coef[0], coef[1] / width]))
    return polynomial(f"(({x} - {number(origin)}) / {number(width)})", coef)


def _listed(values: Sequence[float] | Floats) -> str:
    """Return a list of doubles; as text, which is read faster than numbers."""
    numbers = (float(value) for value in values)
    return f"CAST('[{','.join('NULL' if v != v else repr(v) for v in numbers)}]' AS DOUBLE[])"
