"""Heat maps of surfaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from splinear._types import Floats
from splinear.inspection.text import number, told_apart
from splinear.report.numbers import factor
from splinear.report.pictures.axes import Axis, bottom_axis, tick_text
from splinear.report.pictures.svg import Picture, cell_path, element, text

__all__ = ["HeatPanel", "HeatSide", "color_cells", "draw_heat", "key"]

N_COLORS = 6  # on each side of 0
WIDTH, RIGHT, TOP, BOTTOM = 360.0, 350.0, 10.0, 222.0
LEFT, LEFT_OF_LEVELS = 64.0, 104.0
_LETTERS = 12  # of a level beside the cells


@dataclass(frozen=True, eq=False)
class HeatSide:
    """One axis of a heat map, of numbers or of levels."""

    name: str
    axis: Axis | None  # of numbers; its pixels are set when it is drawn
    levels: Sequence[str]
    n_cells: int


@dataclass(frozen=True, eq=False)
class HeatPanel:
    """The data of a heat map.

    Attributes
    ----------
    x, z : HeatSide
        The horizontal and the vertical axis.
    f : ndarray of shape (n_x, n_z)
    empty : ndarray of shape (n_x, n_z) or None
        Whether no row is near each cell; None if unknown.
    height : float
        |f| of the deepest color.
    is_factor : bool
        Whether f is the logarithm of a factor.
    """

    x: HeatSide
    z: HeatSide
    f: Floats
    empty: NDArray[np.bool_] | None
    height: float
    is_factor: bool = False


def draw_heat(panel: HeatPanel, words: str) -> str:
    """Return the picture."""
    has_levels, left = bool(panel.x.levels), LEFT_OF_LEVELS if panel.z.levels else LEFT
    picture = Picture(WIDTH, BOTTOM + (74 if has_levels else 62))
    edges_x = np.linspace(left, RIGHT, panel.x.n_cells + 1)
    edges_z = np.linspace(BOTTOM, TOP, panel.z.n_cells + 1)
    picture.add(color_cells(panel.f, edges_x, edges_z, panel.height))
    if panel.empty is not None and panel.empty.any():
        veil = _runs(panel.empty, edges_x, edges_z)
        picture.add(element("path", d=cell_path(veil), class_="empty"))
    picture.add(_below(panel.x, left), _beside(panel.z, left))
    y = BOTTOM + (30 if has_levels else 20)
    name_x, name_z = told_apart([panel.x.name, panel.z.name])
    picture.add(
        text(name_x, (left + RIGHT) / 2, y + 13, text_anchor="middle",
             class_="side"),
        _upright(name_z),
        key(left, y + 20, panel.height, is_factor=panel.is_factor),
    )  # fmt: skip
    return picture.rendered(words, "panel")


def _upright(name: str) -> str:
    y = (TOP + BOTTOM) / 2
    turn = f"rotate(-90 12 {y:.1f})"
    return text(name, 12, y, text_anchor="middle", class_="side", transform=turn)


def _below(side: HeatSide, left: float) -> str:
    if side.axis is not None:
        own = side.axis
        return bottom_axis(Axis(own.lo, own.hi, left, RIGHT, own.bend, own.places), BOTTOM)
    width = (RIGHT - left) / side.n_cells
    room, out = max(2, int(width / 5.2)), []
    letters = room if room >= 8 else 2 * room - 1
    short = told_apart(side.levels, letters)
    for k, name in enumerate(side.levels):
        x, y = left + width * (k + 0.5), BOTTOM + 12 + (11 if room < 8 and k % 2 else 0)
        out.append(text(short[k], x, y, full=name, text_anchor="middle"))
    return "".join(out)


def _beside(side: HeatSide, left: float) -> str:
    if side.axis is not None:
        own, out = side.axis, []
        up = Axis(own.lo, own.hi, BOTTOM, TOP, own.bend, own.places)
        ticks = up.ticks(6)
        for x in ticks:
            out.append(text(tick_text(x, ticks), left - 6, up.at(x) + 3.5, text_anchor="end"))
        return "".join(out)
    height = (BOTTOM - TOP) / side.n_cells
    short = told_apart(side.levels, _LETTERS)
    return "".join(
        text(short[k], left - 6, BOTTOM - height * (k + 0.5) + 3.5, full=name, text_anchor="end")
        for k, name in enumerate(side.levels)
    )


def color_cells(f: Floats, edges_x: Floats, edges_z: Floats, height: float) -> str:
    """Return the colored cells f (n_x, n_z), with one path per color."""
    colors = np.clip(np.round(N_COLORS * f / height), -N_COLORS, N_COLORS).astype(int)
    out = []
    for color in np.unique(colors).tolist():
        runs = _runs(colors == color, edges_x, edges_z)
        out.append(element("path", d=cell_path(runs), class_=_color(color)))
    return "".join(out)


def _color(k: int) -> str:
    return f"heat p{k}" if k > 0 else f"heat n{-k}" if k < 0 else "heat z0"


def _runs(
    chosen: NDArray[np.bool_], edges_x: Floats, edges_z: Floats
) -> list[tuple[float, float, float, float]]:
    """Return the chosen cells as rectangles, with neighbors in a row merged."""
    out = []
    for k in range(chosen.shape[1]):
        padded = np.concatenate([[False], chosen[:, k], [False]]).astype(np.int8)
        turns = np.flatnonzero(np.diff(padded))
        y, h = float(min(edges_z[k : k + 2])), float(abs(edges_z[k + 1] - edges_z[k]))
        for first, last in zip(turns[::2], turns[1::2], strict=True):
            x = float(edges_x[first])
            out.append((x, y, float(edges_x[last]) - x, h))
    return out


def key(x: float, y: float, height: float, *, is_factor: bool = False) -> str:
    """Return the legend of colors."""
    n, cell = 2 * N_COLORS + 1, 8.0
    out = []
    for k in range(-N_COLORS, N_COLORS + 1):
        at = x + cell * (k + N_COLORS)
        out.append(element("path", d=cell_path([(at, y, cell, 9)]), class_=_color(k)))
    size = number(float(f"{height:.2g}"))
    ends = f"{factor(-height)} to {factor(height)}" if is_factor else f"−{size} to +{size}"
    return "".join(out) + text(ends, x + cell * n + 8, y + 8, class_="note")
