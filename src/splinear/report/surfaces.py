"""Heat maps of surfaces, one per class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from splinear._types import Floats
from splinear.export.pieces import SurfaceAxis, SurfaceTerm
from splinear.inspection.adding import column_of
from splinear.inspection.text import number, places_for
from splinear.model.fitted import FittedPair, FittedTerm
from splinear.report.content import Content, Shown
from splinear.report.numbers import Drawn, Numbers
from splinear.report.pictures.axes import Axis, choose_axis
from splinear.report.pictures.heat import HeatPanel, HeatSide, draw_heat
from splinear.report.spreads import count_levels, spread_of

__all__ = ["draw_surface"]

MOST_LEVELS, MOST_MAPS = 10, 10
_CELLS, _FEW_CELLS, _FEW_CELLS_FROM = 28, 16, 3  # per numeric axis; fewer for many maps
_NEAR = 1.5  # cells within which a row counts as near


class _Side:
    """One axis of a surface, divided into cells."""

    def __init__(self, content: Content, axis: SurfaceAxis, n_cells: int) -> None:
        self.axis, self.n_hidden = axis, 0
        term = content.model.terms_.of_feature(axis.feature)
        assert isinstance(term, FittedTerm)
        scale: Axis | None = None
        if axis.levels is not None:
            self._take_levels(content, term, axis.levels)
        elif content.is_boolean(term) and len(_knots(axis)) == 2:
            self.nodes, self.edges = np.arange(2.0), np.array([-0.5, 0.5, 1.5])
            self.labels = content.names_of(term, _knots(axis))
        else:
            scale = self._divide(content, term, n_cells)
        self.levels = () if scale is not None else tuple(self.labels)
        self.side = HeatSide(axis.name, scale, self.levels, len(self.nodes))

    def _divide(self, content: Content, term: FittedTerm, n_cells: int) -> Axis:
        """Divide the range of a number into cells, and return its axis."""
        knots, spread = _knots(self.axis), spread_of(term, content.table)
        scale = _scale(self.axis, choose_axis(term.lo, term.hi, 0.0, 1.0, spread))
        self.edges = scale.steps(n_cells + 1)
        values = (self.edges[1:] + self.edges[:-1]) / 2
        self.nodes = np.interp(values, knots, np.arange(len(knots)))
        self.labels = [number(float(v), 3) for v in values]
        return scale

    def _take_levels(self, content: Content, term: FittedTerm, levels: tuple[object, ...]) -> None:
        """Make a cell for each of the most frequent levels."""
        pool = content.pools[self.axis.feature]
        shares = count_levels(term, pool, content.table).shares
        shown = np.sort(np.argsort(-shares, kind="stable")[:MOST_LEVELS])
        self.n_hidden = len(levels) - len(shown)
        self.nodes = shown.astype(np.float64)
        self.labels = [str(levels[int(k)]) for k in shown]
        of = np.full(len(pool.counts), len(pool.named))
        of[pool.named] = np.arange(len(pool.named))
        self.place = of  # index of each level among the shown ones, with rare levels pooled

    def cells(self, column: Floats) -> NDArray[np.intp]:
        """Return the cell of each row; -1 for none."""
        out = np.full(len(column), -1, dtype=np.intp)
        there = ~np.isnan(column)
        if self.axis.levels is None:
            at = np.searchsorted(self.edges, column[there], side="right") - 1
            out[there] = np.clip(at, 0, len(self.nodes) - 1)
            return out
        there &= column >= 0
        places = self.place[column[there].astype(np.intp)]
        position = {int(node): k for k, node in enumerate(self.nodes)}
        out[there] = [position.get(int(p), -1) for p in places]
        return out


def _knots(axis: SurfaceAxis) -> Floats:
    assert axis.knots is not None
    return axis.knots


def _scale(axis: SurfaceAxis, wanted: Axis) -> Axis:
    """Return an axis over the range of the surface's knots."""
    lo, hi = float(_knots(axis)[0]), float(_knots(axis)[-1])
    return Axis(lo, hi, 0.0, 1.0, wanted.bend) if lo < hi else wanted


def draw_surface(content: Content, shown: Shown, least: float) -> Drawn:
    """Return the heat maps of a surface, a table of its values, and notes.

    `least` is the least length of a scale, from the deepest color below 0 to that above, so that
    small effects stay pale.
    """
    pieces, pair = shown.pieces, shown.term
    assert isinstance(pieces, SurfaceTerm)
    assert isinstance(pair, FittedPair)
    n_maps = min(pieces.values.shape[0], MOST_MAPS)
    n_cells = _FEW_CELLS if n_maps >= _FEW_CELLS_FROM else _CELLS
    flip = pieces.axes[0].levels is not None and pieces.axes[1].levels is None
    axes = pieces.axes[::-1] if flip else pieces.axes
    values = np.swapaxes(pieces.values, 1, 2) if flip else pieces.values
    x, z = (_Side(content, axis, n_cells) for axis in axes)
    f = np.array([_bilinear(own, x.nodes, z.nodes) for own in values])
    empty = _empty(content, x, z)
    seen = np.abs(f) if empty is None or empty.all() else np.abs(f[:, ~empty])
    height = max(float(seen.max()), 0.5 * least, 1e-300)
    order = np.sort(np.argsort(-np.abs(f).max(axis=(1, 2)), kind="stable")[:n_maps]).tolist()
    pictures = []
    for k in order:
        panel = HeatPanel(x.side, z.side, f[k], empty, height, content.is_factor)
        of = f" of {content.outputs[k]}" if len(f) > 1 else ""
        what = f"The {content.unit} of" if content.is_factor else "What"
        to = "" if content.is_factor else f" add together to the {content.unit}{of}"
        words = f"{what} {pair.name}{to}, as a heat map."
        pictures.append((content.outputs[k] if len(f) > 1 else "", draw_heat(panel, words)))
    return pictures, _numbers(content, x, z, f[order[0]], order[0]), _notes(x, z, f, n_maps)


def _bilinear(values: Floats, x: Floats, z: Floats) -> Floats:
    """Return a table, interpolated at positions x and z between its nodes, (n_x, n_z)."""
    along = np.array([np.interp(x, np.arange(len(values)), column) for column in values.T])
    return np.array([np.interp(z, np.arange(len(along)), row) for row in along.T])


def _empty(content: Content, x: _Side, z: _Side) -> NDArray[np.bool_] | None:
    """Return whether no test row is near each cell; None without test rows."""
    if content.table is None:
        return None
    j, k = (side.cells(column_of(content.table, side.axis.feature)) for side in (x, z))
    counts = np.zeros((len(x.nodes), len(z.nodes)))
    there = (j >= 0) & (k >= 0)
    np.add.at(counts, (j[there], k[there]), 1.0)
    near = [_nearness(side) for side in (x, z)]
    return np.asarray(near[0] @ counts @ near[1].T == 0.0)


def _nearness(side: _Side) -> Floats:
    n = len(side.nodes)
    if side.levels:
        return np.eye(n)
    return (np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= _NEAR).astype(np.float64)


def _numbers(content: Content, x: _Side, z: _Side, f: Floats, output: int) -> Numbers:
    """Return a coarse table of a surface's values."""
    rows, columns = (_some(side) for side in (x, z))
    places = places_for(float(np.abs(f).max()))
    of = f" ({content.outputs[output]})" if content.pieces.n_outputs > 1 else ""
    return Numbers(
        (f"{x.axis.name} \\ {z.axis.name}{of}", *(z.labels[k] for k in columns)),
        tuple((x.labels[j], *(content.effect(f[j, k], places) for k in columns)) for j in rows),
    )


def _some(side: _Side) -> list[int]:
    n = len(side.nodes)
    if side.levels:
        return list(range(n))
    return sorted({round(k) for k in np.linspace(0, n - 1, 5).tolist()})


def _notes(x: _Side, z: _Side, f: Floats, n_maps: int) -> list[str]:
    notes = []
    for side in (x, z):
        if side.n_hidden:
            notes.append(f"Less frequent levels of {side.axis.name} are left out: {side.n_hidden}.")
    if n_maps < len(f):
        notes.append(f"Of {len(f)} classes, the {n_maps} for which it matters most are drawn.")
    return notes
