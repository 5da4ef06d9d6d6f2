"""Terms as ONNX nodes, which compute contributions for all rows at once.

Everything is computed in double precision, whatever the types of inputs and outputs, because knots
can be too close for single precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from onnx import TensorProto

from splinear._types import Floats
from splinear.export.onnx_graph import Graph
from splinear.export.pieces import (
    CategoryTerm,
    CurveTerm,
    Pieces,
    SurfaceAxis,
    SurfaceTerm,
    TermPieces,
    WaveTerm,
)

__all__ = ["ML", "Inputs", "OnnxTerms"]

ML = "ai.onnx.ml"


@dataclass(frozen=True, eq=False)
class Inputs:
    """The columns of X in a graph.

    Attributes
    ----------
    numbers : str
        The numeric columns in double precision, (N, n_numbers); missing values are NaN.
    place : dict of int to int
        From features to these columns.
    text : dict of int to str
        From features to columns of text, (N, 1).
    missing_text : str
        The text of a missing value.
    """

    numbers: str
    place: dict[int, int]
    text: dict[int, str]
    missing_text: str


@dataclass(frozen=True, eq=False)
class _Lookup:
    """A piecewise polynomial of one number; `missing` is its value for a missing one."""

    feature: int
    pieces: Pieces
    missing: Floats  # (n_outputs,)


@dataclass
class OnnxTerms:
    """Adds the nodes of terms to a graph."""

    graph: Graph
    inputs: Inputs
    n_outputs: int
    _axes: dict[tuple[object, ...], int] = field(default_factory=dict)

    def parts(self, terms: Sequence[TermPieces]) -> str:
        """Return the contributions of all terms to all outputs, (N, n_terms, n_outputs)."""
        found: list[tuple[list[int], str]] = []
        lookups = {k: lookup for k, term in enumerate(terms) if (lookup := self._lookup(term))}
        for n_powers in sorted({one.pieces.coef.shape[2] for one in lookups.values()}):
            at = [k for k, one in lookups.items() if one.pieces.coef.shape[2] == n_powers]
            found.append((at, self._looked_up([lookups[k] for k in at])))
        for k, term in enumerate(terms):
            if isinstance(term, WaveTerm):
                found.append(([k], self._wave(term)))
            elif isinstance(term, CategoryTerm) and k not in lookups:
                found.append(([k], self._levels(term)))
        surfaces = [k for k, term in enumerate(terms) if isinstance(term, SurfaceTerm)]
        if surfaces:
            pairs = [term for term in terms if isinstance(term, SurfaceTerm)]
            found.append((surfaces, self._surfaces(pairs)))
        order = np.argsort([k for at, _ in found for k in at])
        joined = self.graph.joined([part for _, part in found])
        if np.array_equal(order, np.arange(len(order))):
            return joined
        return self.graph.columns(joined, order.tolist())

    # -- functions of one number -----------------------------------------------------------------

    def _lookup(self, term: TermPieces) -> _Lookup | None:
        if isinstance(term, CurveTerm):
            return _Lookup(term.feature, term.pieces, _or_nan(term.missing, self.n_outputs))
        if isinstance(term, CategoryTerm) and term.feature in self.inputs.place:
            unseen, missing = (_or_nan(v, self.n_outputs) for v in (term.unseen, term.missing))
            return _Lookup(term.feature, _equal_to(term.levels, term.values, unseen), missing)
        return None

    def _given(self, features: list[int]) -> str:
        """Return the numeric columns of features, (N, n)."""
        return self.graph.columns(self.inputs.numbers, [self.inputs.place[j] for j in features])

    def _looked_up(self, lookups: list[_Lookup], given: str | None = None) -> str:
        """Return the values of piecewise polynomials of the same degree, (N, n, n_outputs).

        They are evaluated at their features, unless `given` holds other numbers.
        """
        graph = self.graph
        given = self._given([one.feature for one in lookups]) if given is None else given
        is_missing = graph.add("IsNaN", given)
        x = graph.add("Where", is_missing, graph.constant(0.0), given)
        piece = self._pieces(x, is_missing, lookups)
        # Rows of terms and pieces; the value of a missing one follows the pieces of its term.
        coef = np.concatenate([_with_missing(one) for one in lookups])
        by_power = [
            graph.add("Gather", graph.constant(np.ascontiguousarray(c)), piece, axis=0)
            for c in np.moveaxis(coef, 1, 0)
        ]
        if len(by_power) == 1:
            return by_power[0]
        origin = np.concatenate([np.append(one.pieces.origin, 0.0) for one in lookups])
        width = np.concatenate([np.append(one.pieces.width, 1.0) for one in lookups])
        begin = graph.add("Gather", graph.constant(origin), piece)
        length = graph.add("Gather", graph.constant(width), piece)
        place = graph.add("Div", graph.add("Sub", x, begin), length)
        return self._polynomial(by_power, graph.unsqueezed(place, 2))

    def _pieces(self, x: str, is_missing: str, lookups: list[_Lookup]) -> str:
        """Return the index of the piece of each value, counted over all terms, (N, n)."""
        graph = self.graph
        n_pieces = np.array([one.pieces.coef.shape[1] for one in lookups])
        found = self._searched(x, [one.pieces.starts for one in lookups])
        # Infinity is not below the padding after the last start.
        found = graph.add("Min", found, graph.constant(n_pieces - 1))
        found = graph.add("Where", is_missing, graph.constant(n_pieces), found)
        offsets = np.cumsum(n_pieces + 1) - (n_pieces + 1)
        return graph.add("Add", found, graph.constant(offsets))

    def _polynomial(self, by_power: list[str], u: str) -> str:
        total = by_power[-1]
        for coef in reversed(by_power[:-1]):
            total = self.graph.add("Add", self.graph.add("Mul", total, u), coef)
        return total

    def _searched(self, x: str, starts: list[Floats]) -> str:
        """Return the number of starts that are not above each value, by column, (N, n)."""
        n_bits = max(1, *(len(given).bit_length() for given in starts))
        graph, size = self.graph, 2**n_bits
        table = np.full((len(starts), size), np.inf)
        for own, given in zip(table, starts, strict=True):
            own[: len(given)] = given
        flat = graph.constant(table.ravel())
        offsets = np.arange(len(starts)) * size
        found: str | None = None
        for bit in reversed(range(n_bits)):
            probe = graph.constant(offsets + 2**bit - 1)
            if found is not None:
                probe = graph.add("Add", found, probe)
            behind = graph.add("LessOrEqual", graph.add("Gather", flat, probe), x)
            step = graph.add("Mul", graph.cast(behind, TensorProto.INT64), graph.constant([2**bit]))
            found = step if found is None else graph.add("Add", found, step)
        assert found is not None
        return found

    # -- waves and text --------------------------------------------------------------------------

    def _wave(self, term: WaveTerm) -> str:
        """Return a sum of sines and cosines, (N, 1, n_outputs)."""
        graph = self.graph
        given = self._given([term.feature])
        x = given if term.period is None else self._modulo(given, term.period)
        # Constants are looked up, because onnxruntime drops an operation whose constant is 0 or 1
        # in single precision.
        place = _Lookup(term.feature, term.place.pieces, np.zeros(1))
        u = graph.squeezed(self._looked_up([place], x), 2)
        n = np.arange(1, term.cosines.shape[1] + 1)
        angle = graph.add("Mul", u, graph.constant(np.pi * n))
        # cos(a) = sin(a + pi/2), because onnxruntime before 2026 has no cosine in double precision.
        later = graph.add("Add", angle, graph.constant(np.pi / 2))
        cosines = graph.add("MatMul", graph.add("Sin", later), graph.constant(_rows(term.cosines)))
        sines = graph.add("MatMul", graph.add("Sin", angle), graph.constant(_rows(term.sines)))
        missing = graph.constant(_or_nan(term.missing, self.n_outputs))
        total = graph.add("Add", cosines, sines)
        total = graph.add("Where", graph.add("IsNaN", given), missing, total)
        return graph.unsqueezed(total, 1)

    def _modulo(self, x: str, period: float) -> str:
        graph, zero = self.graph, self.graph.constant(0.0)
        rest = graph.add("Mod", x, graph.constant(period), fmod=1)
        above = graph.add("Add", rest, graph.constant(period))
        return graph.add("Where", graph.add("Less", rest, zero), above, rest)

    def _levels(self, term: CategoryTerm) -> str:
        """Return the effects of levels of text, (N, 1, n_outputs)."""
        unseen, missing = (_or_nan(v, self.n_outputs) for v in (term.unseen, term.missing))
        table = np.vstack([term.values.T, missing, unseen])
        at = self._number_of_level(term.feature, term.levels)
        return self.graph.add("Gather", self.graph.constant(table), at, axis=0)

    def _number_of_level(self, feature: int, levels: tuple[object, ...]) -> str:
        """Return the index of each text among levels, followed by those of missing and others."""
        return self.graph.add(
            "LabelEncoder",
            self.inputs.text[feature],
            domain=ML,
            keys_strings=[*map(str, levels), self.inputs.missing_text],
            values_int64s=list(range(len(levels) + 1)),
            default_int64=len(levels) + 1,
        )

    # -- surfaces --------------------------------------------------------------------------------

    def _surfaces(self, terms: list[SurfaceTerm]) -> str:
        """Return the values of surfaces, (N, n, n_outputs)."""
        graph, positions = self.graph, self._positions(terms)
        sizes = np.array([term.values.shape[1:] for term in terms])
        both = [
            graph.columns(positions, [self._axes[term.axes[side].key] for term in terms])
            for side in (0, 1)
        ]
        zero = graph.constant(0.0)
        cells, shares = [], []
        for side, place in enumerate(both):
            last = graph.constant(sizes[:, side] - 2.0)
            cell = graph.add("Max", graph.add("Min", graph.add("Floor", place), last), zero)
            cells.append(cell)
            shares.append(graph.unsqueezed(graph.add("Sub", place, cell), 2))
        node = self._node(cells, sizes)
        there = graph.add("And", *(graph.add("GreaterOrEqual", place, zero) for place in both))
        flat = [term.values.reshape(self.n_outputs, -1).T for term in terms]
        table, n_second = graph.constant(np.vstack(flat)), sizes[:, 1]
        corners = [
            graph.add("Gather", table, graph.add("Add", node, graph.constant(step)), axis=0)
            for step in (0 * n_second, 0 * n_second + 1, n_second, n_second + 1)
        ]
        above = self._between(corners[0], corners[1], shares[1])
        below = self._between(corners[2], corners[3], shares[1])
        value = self._between(above, below, shares[0])
        return graph.add("Where", graph.unsqueezed(there, 2), value, zero)

    def _node(self, cells: list[str], sizes: Floats) -> str:
        """Return the indices of the first corners of cells among the nodes of all surfaces."""
        graph = self.graph
        offsets = np.concatenate([[0], np.cumsum(sizes.prod(axis=1))[:-1]])
        row = graph.add("Mul", cells[0], graph.constant(sizes[:, 1].astype(np.float64)))
        node = graph.cast(graph.add("Add", row, cells[1]), TensorProto.INT64)
        return graph.add("Add", node, graph.constant(offsets.astype(np.int64)))

    def _between(self, first: str, second: str, share: str) -> str:
        """Return (1 - share) first + share second."""
        graph = self.graph
        rest = graph.add("Sub", graph.constant(1.0), share)
        return graph.add("Add", graph.add("Mul", rest, first), graph.add("Mul", share, second))

    def _positions(self, terms: list[SurfaceTerm]) -> str:
        """Return the rows' positions on all distinct axes, (N, n_axes); -1 if they have none."""
        graph = self.graph
        axes = {axis.key: axis for term in terms for axis in term.axes}
        text = {key: axis for key, axis in axes.items() if axis.feature in self.inputs.text}
        numbers = {key: axis for key, axis in axes.items() if key not in text}
        groups: dict[tuple[int, float | None], list[tuple[object, ...]]] = {}  # by powers, period
        for key, axis in numbers.items():
            n_powers = 1 if axis.knots is None or len(axis.knots) < 2 else 2
            groups.setdefault((n_powers, axis.period), []).append(key)
        parts = []
        for (_, period), keys in groups.items():
            given = self._given([numbers[key].feature for key in keys])
            x = given if period is None else self._modulo(given, period)
            found = self._looked_up([_axis_lookup(numbers[key]) for key in keys], x)
            parts.append(graph.squeezed(found, 2))
        parts += [self._node_of_text(axis) for axis in text.values()]
        for keys in (*groups.values(), list(text)):
            for key in keys:
                self._axes[key] = len(self._axes)
        return graph.joined(parts)

    def _node_of_text(self, axis: SurfaceAxis) -> str:
        assert axis.levels is not None
        assert axis.nodes is not None
        missing = -1 if axis.missing is None else axis.missing
        table = self.graph.constant(np.array([*axis.nodes, missing, -1], dtype=np.float64))
        return self.graph.add("Gather", table, self._number_of_level(axis.feature, axis.levels))


def _with_missing(one: _Lookup) -> Floats:
    """Return coefficients (n_pieces + 1, n_powers, n_outputs), those of a missing value last."""
    coef = np.moveaxis(one.pieces.coef, 0, 2)
    last = np.zeros((1, *coef.shape[1:]))
    last[0, 0] = one.missing
    return np.concatenate([coef, last])


def _axis_lookup(axis: SurfaceAxis) -> _Lookup:
    """Return the position on an axis as a function of a number."""
    missing = np.array([-1.0 if axis.missing is None else axis.missing])
    if axis.knots is None:
        assert axis.levels is not None
        assert axis.nodes is not None
        nodes = axis.nodes[None].astype(np.float64)
        return _Lookup(axis.feature, _equal_to(axis.levels, nodes, np.array([-1.0])), missing)
    return _Lookup(axis.feature, axis.place.pieces, missing)


def _equal_to(levels: tuple[object, ...], values: Floats, unseen: Floats) -> Pieces:
    """Return a function of numbers with given values (n_outputs, n_levels) at the levels.

    Numbers that equal a level in single precision count as the level.
    """
    numbers = np.array([float(level) for level in levels])  # type: ignore[arg-type]
    order = np.argsort(numbers)
    numbers = numbers[order]
    rounded = numbers.astype(np.float32).astype(np.float64)
    first, last = np.minimum(numbers, rounded), np.maximum(numbers, rounded)
    if np.any(first[1:] <= last[:-1]):  # levels are equal in single precision
        first = last = numbers
    starts = np.column_stack([first, np.nextafter(last, np.inf)]).ravel()
    between = np.repeat(unseen[:, None], 2 * len(numbers) + 1, axis=1)
    between[:, 1::2] = values[:, order]
    none = np.zeros(len(starts) + 1)
    return Pieces(starts, none, none + 1.0, between[:, :, None])


def _or_nan(values: Floats | None, n_outputs: int) -> Floats:
    """Return values, or NaN for rows for which the estimator raises an error."""
    return np.full(n_outputs, np.nan) if values is None else values


def _rows(coef: Floats) -> Floats:
    return np.ascontiguousarray(coef.T)
