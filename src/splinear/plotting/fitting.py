"""Texts that fit into the room that there is: wrapped where they can be, cut where they must."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from sklearn.isotonic import isotonic_regression

from splinear._types import Floats
from splinear.inspection.text import told_apart
from splinear.plotting.style import AS_IT_IS, INK, MUTED, Style, line_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.text import Annotation, Text

__all__ = [
    "cut",
    "fit_levels",
    "fit_title",
    "lay_out",
    "look_flat",
    "name_lines",
    "spread",
    "wrapped",
]

_BREAKS = re.compile(r"(?<=[\s\-_/,.;:])(?=\S)")  # a line may end behind these
_GAP = 12.0  # pixels between a title and the number in the other corner
_ANGLE = 40  # degrees, of names of levels that have no room
_LINE = 18  # letters in a line of such a name, if it may have two
_LONGEST = 26  # letters of one that has no second line
_LONGEST_CLASS = 14  # letters of a class that is named at its line
_FLAT = 5.0  # points within which lines cannot be told apart


def wrapped(text: str, fits: Callable[[str], bool], most: int) -> str | None:
    """Return a text in at most this many lines that fit; None if there is no way."""
    lines, line = [], ""
    for part in _BREAKS.split(text):
        if line and not fits((line + part).rstrip()):
            lines.append(line.rstrip())
            line = part
        else:
            line += part
    lines.append(line.rstrip())
    return "\n".join(lines) if len(lines) <= most and all(map(fits, lines)) else None


def cut(text: str, fits: Callable[[str], bool]) -> str:
    """Return as much of the beginning of a text as fits, with dots behind it if it is cut."""
    if fits(text):
        return text
    low, high = 0, len(text) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(text[:middle].rstrip() + "…") else (low, middle - 1)
    return text[:low].rstrip() + "…"


def _fits(text: Text, room: float) -> Callable[[str], bool]:
    """Return what tells whether a string, written as `text` is, takes no more room in pixels."""

    def fits(string: str) -> bool:
        before = text.get_text()
        text.set_text(string)
        width = text.get_window_extent().width
        text.set_text(before)
        return bool(width <= room)

    return fits


def lay_out(figure: Figure | SubFigure | None) -> None:
    """Let a figure find out where its panels are; a part of one cannot."""
    if figure is not None and hasattr(figure, "draw_without_rendering"):
        figure.draw_without_rendering()


def fit_title(ax: Axes, title: str, share: float) -> None:
    """Write the name of a term above a panel, and its share of importance into the other corner.

    A name that would run into the share takes two lines, or is cut.
    """
    style: Style = {"fontsize": 12, "fontweight": "bold", "color": INK, **AS_IT_IS}
    name = ax.set_title(title, loc="left", **style)
    number = ax.set_title(f"{share:.0%}", loc="right", fontsize=11, color=MUTED)
    room = ax.bbox.width - number.get_window_extent().width - _GAP
    fits = _fits(name, room)
    if not fits(title):
        name.set_text(wrapped(title, fits, 2) or cut(title, fits))


def fit_levels(ax: Axes, places: Floats, levels: Sequence[str]) -> None:
    """Write the names of levels below a panel: in lines of their own, or at an angle."""
    low, high = ax.get_xlim()
    slot = 0.94 * ax.bbox.width * (places[1] - places[0] if len(places) > 1 else 1.0) / (high - low)
    ax.set_xticks(places, levels, fontsize=10, **AS_IT_IS)
    labels = ax.get_xticklabels()
    found = [
        wrapped(level, _fits(label, slot), 3) for level, label in zip(levels, labels, strict=True)
    ]
    if None not in found:
        ax.set_xticks(places, [text or "" for text in found], fontsize=10, **AS_IT_IS)
        return
    turned: Style = {"rotation": _ANGLE, "ha": "right", "rotation_mode": "anchor", "fontsize": 9}
    tall = labels[0].get_window_extent().height
    n_lines = 2 if slot * np.sin(np.radians(_ANGLE)) > 2.0 * tall else 1
    short = told_apart(levels, _LONGEST)
    texts = [_in_lines(*names, n_lines) for names in zip(levels, short, strict=True)]
    ax.set_xticks(places, texts, **turned, **AS_IT_IS)


def _in_lines(name: str, short: str, most: int) -> str:
    """Return the name of a level in lines of few letters, or as it is if it is shortened."""
    if len(name) <= _LINE:
        return name
    found = wrapped(name, lambda line: len(line) <= _LINE, most)
    return short if found is None else found


def look_flat(ax: Axes, f: Floats) -> bool:
    """Return whether all lines f (n_points, n_lines) of a panel look like a single flat one."""
    ends = [(0.0, float(f.min())), (0.0, float(f.max()))]
    (_, low), (_, high) = ax.transData.transform(ends)
    return bool(high - low < _FLAT * ax.figure.dpi / 72.0)


def name_lines(ax: Axes, x: float, heights: Floats, names: Sequence[str]) -> list[Annotation]:
    """Write the names of lines that end at x beside the panel, in their colors."""
    short = told_apart(names, _LONGEST_CLASS)
    style: Style = {"fontsize": 10, "va": "center", "annotation_clip": False, **AS_IT_IS}
    where: Style = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    out = []
    for k, (name, height) in enumerate(zip(short, heights, strict=True)):
        color = line_style(k)["color"]
        out.append(ax.annotate(name, (1.0, height), (6, 0), color=color, **where, **style))
    tall = max(text.get_window_extent().height for text in out)
    to_pixels, to_data = ax.transData, ax.transData.inverted()
    at = np.array([to_pixels.transform((x, height))[1] for height in heights])
    moved = spread(at, tall, ax.bbox.y0 + tall / 2, ax.bbox.y1 - tall / 2)
    left = to_pixels.transform((x, 0.0))[0]
    for k, (text, y) in enumerate(zip(out, moved.tolist(), strict=True)):
        height = float(to_data.transform((left, y))[1])
        text.xy = (1.0, height)
        right = float(to_data.transform((ax.bbox.x1 + 3.0, y))[0])
        ax.plot([x, right], [heights[k], height], color=line_style(k)["color"], lw=0.7,
                alpha=0.6, clip_on=False, zorder=1.8)  # fmt: skip
    return out


def spread(at: Floats, apart: float, low: float, high: float) -> Floats:
    """Return the nearest places in the same order that are `apart`, between low and high.

    If there is no room for that, they are at equal distances.
    """
    order, n = np.argsort(at, kind="stable"), len(at)
    apart = min(apart, (high - low) / max(n - 1, 1))
    offsets = apart * np.arange(n)
    nearest = np.asarray(isotonic_regression(at[order] - offsets))
    out = np.empty(n)
    out[order] = np.clip(nearest, low, high - offsets[-1]) + offsets
    return out
