"""Picture of the curve of a numeric feature, with its band and a histogram of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from splinear._types import Floats
from splinear.inspection.text import shortened, told_apart
from splinear.report.pictures.axes import Axis, bottom_axis, choose_axis, left_axis
from splinear.report.pictures.svg import Picture, cell_path, closed_path, element, path_of, text
from splinear.report.spreads import Spread

__all__ = ["CurvePanel", "draw_curve", "end_labels", "reach_of"]

WIDTH, HEIGHT = 360.0, 218.0
LEFT, RIGHT, TOP, BOTTOM = 48.0, 350.0, 22.0, 196.0
STRIP = 30.0  # the height of the histogram
SLOT = 46.0  # the width of the area for missing values
MISSING = "missing"
_CELLS = 40
_MOST_OF_BAND = 0.35  # largest visible part of a band, relative to the curve's height
_FEW = 12  # values up to which each is marked
_LETTERS = 9  # characters of a class name
_LINE_HEIGHT = 11.0  # least distance of names at the ends of lines


@dataclass(frozen=True, eq=False)
class CurvePanel:
    """The data of a picture of a curve.

    Attributes
    ----------
    x : ndarray of shape (n,)
    f : ndarray of shape (n, n_lines)
        Centered.
    half : ndarray of shape (n,) or None
        Half the width of the band around a single line.
    at_missing : ndarray of shape (n_lines,) or None
        The contribution of a missing value; None if there were none in training.
    half_missing : float
    spread : Spread
    names : sequence of str
        Names of the lines, if there are several.
    unit : str
        A short name of the unit of f.
    least : float
        The least height of the vertical axis.
    is_factor : bool
        Whether f is the logarithm of a factor, and the axis has factors.
    """

    x: Floats
    f: Floats
    half: Floats | None
    at_missing: Floats | None
    half_missing: float
    spread: Spread
    names: Sequence[str]
    unit: str
    least: float
    is_factor: bool = False


def reach_of(f: Floats, half: Floats | None) -> tuple[float, float]:
    """Return the range of the vertical axis, which includes 0."""
    lowest, highest = float(min(f.min(), 0.0)), float(max(f.max(), 0.0))
    if half is None:
        return lowest, highest
    more = _MOST_OF_BAND * max(highest - lowest, 1e-300)
    below, above = float((f[:, 0] - half).min()), float((f[:, 0] + half).max())
    return max(below, lowest - more), min(above, highest + more)


def draw_curve(panel: CurvePanel, words: str) -> str:
    """Return the picture."""
    several, missing = panel.f.shape[1] > 1, panel.at_missing is not None
    labels = _label_width(panel.names) if several else 0.0
    end = RIGHT - (SLOT if missing else 0.0) - labels
    across = choose_axis(float(panel.x[0]), float(panel.x[-1]), LEFT, end, panel.spread)
    up = _vertical(panel)
    picture = Picture(WIDTH, HEIGHT)
    right = across.end + (SLOT if missing else 0.0)
    picture.add(
        text(panel.unit, LEFT - 40, 11, class_="unit"),
        left_axis(up, LEFT, right, most=5),
        *_histogram(panel, across),
        bottom_axis(
            _with_ticks(across, panel.spread),
            BOTTOM,
            beside=(MISSING, across.end + SLOT / 2) if missing else None,
        ),
    )
    if across.bend is not None:
        picture.add(text("horizontal: log scale", right, 11, text_anchor="end", class_="unit"))
    pixels = across(panel.x)
    if panel.half is not None:
        lower, upper = (panel.f[:, 0] + by * panel.half for by in (-1, 1))
        band = (up(np.clip(edge, up.lo, up.hi)) for edge in (lower, upper))
        picture.add(element("path", d=closed_path(pixels, *band), class_="band"))
    for k in range(panel.f.shape[1]):
        d = path_of(pixels, up(panel.f[:, k]))
        picture.add(element("path", d=d, class_=f"line c{k % 10}" if several else "line"))
    picture.add(*_dots(panel, across, up), *_missing(panel, up, across.end + SLOT / 2))
    if several:
        picture.add(end_labels(panel.names, up(panel.f[-1]), right + 6))
    return picture.rendered(words, "panel")


def _label_width(names: Sequence[str]) -> float:
    """Return the width reserved for names of classes."""
    return 12.0 + 5.8 * max(len(shortened(name, _LETTERS)) for name in names)


def _vertical(panel: CurvePanel) -> Axis:
    lowest, highest = reach_of(panel.f, panel.half)
    if panel.at_missing is not None:
        lowest = min(lowest, float(panel.at_missing.min()) - panel.half_missing)
        highest = max(highest, float(panel.at_missing.max()) + panel.half_missing)
    more = max(0.0, panel.least - (highest - lowest)) / 2
    room = 0.04 * max(highest - lowest, panel.least)
    return Axis(lowest - more - room, highest + more + room, BOTTOM - STRIP - 6, TOP,
                is_factor=panel.is_factor)  # fmt: skip


def _with_ticks(across: Axis, spread: Spread) -> Axis:
    """Return the axis, with a tick at each value if these are few integers."""
    values = spread.few_values
    if across.places is not None or values is None or len(values) > _FEW:
        return across
    at, apart = across(values), 22.0
    if len(values) > 1 and np.diff(at).min() < apart:
        return across
    return Axis(across.lo, across.hi, across.start, across.end, across.bend, tuple(values.tolist()))


def _histogram(panel: CurvePanel, across: Axis) -> list[str]:
    spread, values = panel.spread, panel.spread.few_values
    cells: list[tuple[float, float, float, float]] = []
    if values is not None:
        shares = np.array([float(spread.weights[spread.places == v].sum()) for v in values])
        at = across(values)
        apart = float(np.diff(at).min()) if len(at) > 1 else 40.0
        width = min(0.7 * apart, 24.0)
        left, widths = at - width / 2, np.full(len(at), width)
    else:
        edges = across.steps(_CELLS + 1)
        shares, _ = np.histogram(spread.places, edges, weights=spread.weights)
        left, widths = across(edges)[:-1], np.diff(across(edges))
    highest = float(shares.max(initial=0.0))
    if highest > 0.0:
        heights = STRIP * shares / highest
        cells = [
            (float(x), BOTTOM - float(h), float(w), float(h))
            for x, w, h in zip(left, widths, heights, strict=True)
            if h > 0.04
        ]
    out = [element("path", d=cell_path(cells), class_="bars")] if cells else []
    return [*out, element("path", d=f"M{LEFT} {BOTTOM}H{across.end:.1f}", class_="tick")]


def _dots(panel: CurvePanel, across: Axis, up: Axis) -> list[str]:
    """Return marks at the values of a feature that has few."""
    values = panel.spread.few_values
    if len(panel.x) == 1 or not panel.x[0] < panel.x[-1]:
        values = panel.x[:1]
    if values is None or len(values) > _FEW:
        return []
    out = []
    for k in range(panel.f.shape[1]):
        heights = up(np.interp(values, panel.x, panel.f[:, k]))
        kind = f"dot c{k % 10}" if panel.f.shape[1] > 1 else "dot"
        out += [
            element("circle", cx=float(x), cy=float(y), r=2.6, class_=kind)
            for x, y in zip(across(values), heights, strict=True)
        ]
    return out


def _missing(panel: CurvePanel, up: Axis, x: float) -> list[str]:
    if panel.at_missing is None:
        return []
    out = [text(MISSING, x, BOTTOM + 16, text_anchor="middle")]
    if panel.f.shape[1] == 1 and panel.half_missing > 0.0:
        ends = np.clip(panel.at_missing[0] + np.array([-1, 1]) * panel.half_missing, up.lo, up.hi)
        low, high = up(ends)
        out.append(element("path", d=f"M{x:.1f} {low:.1f}V{high:.1f}", class_="whisker"))
    for k, value in enumerate(panel.at_missing):
        y, kind = up.at(float(value)), f"dot c{k % 10}" if panel.f.shape[1] > 1 else "dot"
        out.append(element("path", d=f"M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5 -5z", class_=kind))
    return out


def end_labels(names: Sequence[str], heights: Floats, x: float) -> str:
    """Return the names of lines at their ends, moved apart so that they do not overlap."""
    order = np.argsort(heights, kind="stable")
    places = heights[order].astype(np.float64)
    for _ in range(50):  # push neighbors apart until none overlap
        close = np.maximum(0.0, _LINE_HEIGHT - np.diff(places)) / 2
        if close.max(initial=0.0) < 0.01:
            break
        places[:-1] -= close
        places[1:] += close
    places -= max(0.0, float(places[-1]) - (BOTTOM + 4))
    places += max(0.0, 8.0 - float(places[0]))
    short = told_apart(names, _LETTERS)
    return "".join(
        text(
            short[k],
            x,
            float(y) + 3.5,
            full=names[k],
            class_=f"name c{k % 10}",
        )
        for k, y in zip(order.tolist(), places, strict=True)
    )
