"""Picture of a category's effects: bars, or colored cells if there are several classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from splinear._types import Floats
from splinear.inspection.text import told_apart
from splinear.report.pictures.axes import Axis, bottom_axis
from splinear.report.pictures.heat import color_cells, key
from splinear.report.pictures.svg import Picture, cell_path, element, text

__all__ = ["LevelPanel", "draw_levels"]

WIDTH, LEFT, RIGHT, TOP = 360.0, 128.0, 308.0, 22.0
SHARES = 318.0  # x of the column with the shares of rows
ROW = 17.0
_LONGEST = 20  # characters of a name


@dataclass(frozen=True, eq=False)
class LevelPanel:
    """The data of a picture of a category.

    Attributes
    ----------
    levels : sequence of str
        From top to bottom.
    f : ndarray of shape (n_levels, n_classes)
        Centered.
    half : ndarray of shape (n_levels,) or None
        Half the width of the band; NaN where it is not known.
    shares : ndarray of shape (n_levels,)
        Shares of the rows.
    names : sequence of str
        Names of the classes, if there are several.
    unit : str
        A short name of the unit of f.
    least : float
        The least width of the axis.
    is_factor : bool
        Whether f is the logarithm of a factor, and the axis has factors.
    """

    levels: Sequence[str]
    f: Floats
    half: Floats | None
    shares: Floats
    names: Sequence[str]
    unit: str
    least: float
    is_factor: bool = False


def draw_levels(panel: LevelPanel, words: str) -> str:
    """Return the picture."""
    return _bars(panel, words) if panel.f.shape[1] == 1 else _cells(panel, words)


def _bars(panel: LevelPanel, words: str) -> str:
    bottom = TOP + ROW * len(panel.levels) + 4
    picture, axis = Picture(WIDTH, bottom + 24), _axis(panel)
    picture.add(
        text(panel.unit, LEFT, 11, class_="unit"),
        text("rows", SHARES, 11, class_="unit"),
        bottom_axis(axis, bottom, most=5, grid_top=TOP - 2),
        element("path", d=f"M{axis.at(0.0):.1f} {TOP - 2}V{bottom:.1f}", class_="zero"),
    )
    widest = max(float(panel.shares.max(initial=0.0)), 1e-300)
    short = told_apart(panel.levels, _LONGEST)
    for k, (name, share) in enumerate(zip(panel.levels, panel.shares, strict=True)):
        y, zero, x = TOP + ROW * k, axis.at(0.0), axis.at(float(panel.f[k, 0]))
        bar = (min(zero, x), y + 3, abs(x - zero), ROW - 6)
        picture.add(
            _label(short[k], name, y),
            element("path", d=cell_path([bar]), class_="bar up" if x > zero else "bar down"),
            _whisker(panel, axis, k, y),
            element("path", d=cell_path([(SHARES, y + 5, 36 * share / widest, ROW - 10)]),
                    class_="bars"),
        )  # fmt: skip
    return picture.rendered(words, "panel")


def _label(short: str, name: str, y: float) -> str:
    return text(short, LEFT - 8, y + ROW / 2 + 3.5, full=name, text_anchor="end", class_="level")


def _axis(panel: LevelPanel) -> Axis:
    lowest, highest = float(min(panel.f.min(), 0.0)), float(max(panel.f.max(), 0.0))
    if panel.half is not None:
        more, half = 0.35 * (highest - lowest), np.nan_to_num(panel.half)
        lowest = max(lowest - more, min(lowest, float((panel.f[:, 0] - half).min())))
        highest = min(highest + more, max(highest, float((panel.f[:, 0] + half).max())))
    more = max(0.0, panel.least - (highest - lowest)) / 2
    room = 0.02 * max(highest - lowest, panel.least, 1e-300)
    return Axis(lowest - more - room, highest + more + room, LEFT, RIGHT, is_factor=panel.is_factor)


def _whisker(panel: LevelPanel, axis: Axis, k: int, y: float) -> str:
    if panel.half is None or not panel.half[k] > 0.0:
        return ""
    ends = np.clip(panel.f[k, 0] + np.array([-1, 1]) * panel.half[k], axis.lo, axis.hi)
    low, high = axis(ends)
    d = f"M{low:.1f} {y + ROW / 2:.1f}H{high:.1f}"
    return element("path", d=d, class_="whisker")


def _cells(panel: LevelPanel, words: str) -> str:
    """Return a picture with one cell per level and class, colored by its value."""
    n_levels, n_classes = panel.f.shape
    top = 58.0
    width, picture = (348.0 - LEFT) / n_classes, Picture(WIDTH, top + ROW * n_levels + 34)
    height = max(float(np.abs(panel.f).max()), panel.least / 2, 1e-300)
    above, beside = told_apart(panel.names, 9), told_apart(panel.levels, _LONGEST)
    for k, name in enumerate(panel.names):
        x = LEFT + width * (k + 0.5)
        turn = f"rotate(-40 {x:.1f} {top - 6:.1f})"
        picture.add(text(above[k], x, top - 6, full=name, transform=turn))
    for k, name in enumerate(panel.levels):
        picture.add(_label(beside[k], name, top + ROW * k))
    edges_x = LEFT + width * np.arange(n_classes + 1.0)
    edges_y = top + ROW * np.arange(n_levels + 1.0)
    picture.add(color_cells(panel.f.T, edges_x, edges_y, height))
    picture.add(key(LEFT, top + ROW * n_levels + 10, height))
    return picture.rendered(words, "panel")
