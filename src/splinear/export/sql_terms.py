"""Terms as SQL expressions of the columns of a query."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from splinear._types import Floats
from splinear.export.pieces import (
    CategoryTerm,
    CurveTerm,
    SurfaceAxis,
    SurfaceTerm,
    TermPieces,
    WaveTerm,
)
from splinear.export.sql_lookup import Lookup
from splinear.export.sql_text import Dialect, added, branches, literal, number

__all__ = ["SqlTerms"]

FEW_LEVELS = 16  # more levels are searched by bisection


@dataclass
class SqlTerms:
    """SQL expressions of terms; subexpressions that are used often become columns.

    Attributes
    ----------
    dialect : Dialect
    lookup : Lookup
    text : frozenset of int
        The features whose levels are text.
    places : dict of str to str
        Columns to add: names, and expressions of the features' columns.
    """

    dialect: Dialect
    lookup: Lookup
    text: frozenset[int]
    places: dict[str, str] = field(default_factory=dict)
    _axes: dict[tuple[object, ...], str] = field(default_factory=dict)

    def column(self, feature: int) -> str:
        """Return the name of the column of a feature."""
        return f"x{feature}"

    def values(self, term: TermPieces) -> list[str]:
        """Return the contributions of a term, one expression per output."""
        if isinstance(term, SurfaceTerm):
            return self._surface(term)
        x = self.column(term.feature)
        if isinstance(term, CurveTerm):
            found = self.lookup.of_pieces(x, term.pieces)
        elif isinstance(term, WaveTerm):
            found = self._wave(term, x)
        else:
            found = self._category(term, x)
        missing = ["NULL"] * len(found) if term.missing is None else map(number, term.missing)
        given = zip(found, missing, strict=True)
        return [f"CASE WHEN {x} IS NULL THEN {gap} ELSE {f} END" for f, gap in given]

    def _wave(self, term: WaveTerm, x: str) -> list[str]:
        x = self._modulo(x, term.period)
        lo, hi = number(term.lo), number(term.hi)
        inside = f"CASE WHEN {x} < {lo} THEN {lo} WHEN {x} > {hi} THEN {hi} ELSE {x} END"
        width, turn = number(term.hi - term.lo), number(np.pi * (term.last - term.first))
        angle = f"a{len(self.places)}"
        first = number(np.pi * term.first)
        self.places[angle] = f"{first} + (({inside}) - {lo}) / {width} * {turn}"
        out = []
        for cosines, sines in zip(term.cosines, term.sines, strict=True):
            waves = [
                f"{number(c)} * {function}({n}e0 * {angle})"
                for function, coef in (("cos", cosines), ("sin", sines))
                for n, c in enumerate(coef, start=1)
            ]
            out.append(f"({added(waves)})")
        return out

    def _modulo(self, x: str, period: float | None) -> str:
        """Return x modulo a period, at least 0; x if there is no period."""
        if period is None:
            return x
        rest = self.dialect.modulo.format(x, number(period))
        return f"(CASE WHEN {rest} < 0e0 THEN {rest} + {number(period)} ELSE {rest} END)"

    def _category(self, term: CategoryTerm, x: str) -> list[str]:
        n_outputs = len(term.values)
        others = ["NULL"] * n_outputs if term.unseen is None else [*map(number, term.unseen)]
        return [
            self._among(x, term.feature, term.levels, values, other)
            for values, other in zip(term.values, others, strict=True)
        ]

    def _among(
        self, x: str, feature: int, levels: tuple[object, ...], values: Floats, other: str
    ) -> str:
        """Return the value of the level that x equals, or else `other`."""
        is_text = feature in self.text
        known = [
            (literal(level) if is_text else number(float(level)), number(value))  # type: ignore[arg-type]
            for level, value in sorted(zip(levels, values.tolist(), strict=True))
        ]
        if not known:
            return other
        if len(known) <= FEW_LEVELS:
            cases = " ".join(f"WHEN {level} THEN {value}" for level, value in known)
            return f"CASE {x} {cases} ELSE {other} END"
        leaves = [f"CASE WHEN {x} = {a} THEN {v} ELSE {other} END" for a, v in known]
        return branches(x, [a for a, _ in known[1:]], leaves)

    # -- surfaces --------------------------------------------------------------------------------

    def _surface(self, term: SurfaceTerm) -> list[str]:
        p, q = (self._place(axis) for axis in term.axes)
        nowhere = f"{p} < 0e0 OR {q} < 0e0"
        found = self.lookup.of_grid(p, q, term.values)
        return [f"CASE WHEN {nowhere} THEN 0e0 ELSE {f} END" for f in found]

    def _place(self, axis: SurfaceAxis) -> str:
        """Return the column of positions on an axis; -1 for values without one."""
        if axis.key not in self._axes:
            place, x = f"p{len(self._axes)}", self.column(axis.feature)
            missing = "(-1e0)" if axis.missing is None else number(axis.missing)
            on = self._on(axis, x)
            self.places[place] = f"CASE WHEN {x} IS NULL THEN {missing} ELSE {on} END"
            self._axes[axis.key] = place
        return self._axes[axis.key]

    def _on(self, axis: SurfaceAxis, x: str) -> str:
        if axis.knots is None:
            assert axis.levels is not None
            assert axis.nodes is not None
            nodes = axis.nodes.astype(np.float64)
            return self._among(x, axis.feature, axis.levels, nodes, "(-1e0)")
        return self.lookup.of_pieces(self._modulo(x, axis.period), axis.place.pieces)[0]
