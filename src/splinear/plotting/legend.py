"""What colors and marks mean, said once for a whole figure of curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from splinear._types import Floats
from splinear.inspection.bands import LEVEL
from splinear.inspection.text import told_apart
from splinear.plotting.curve import Curve, Words
from splinear.plotting.drawing import BAND, MISSING
from splinear.plotting.heatmap import NO_DATA
from splinear.plotting.style import AS_IT_IS, DOWN, FAINT, INK, LINES, MUTED, UP, line_style
from splinear.plotting.surfaces import Surface

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure, SubFigure

__all__ = ["NAMED", "draw_legend", "width_for_legend"]

NAMED = 3  # lines, or more, are named at their ends
_LETTER, _HANDLE = 0.085, 0.55  # widths of a letter and of what stands before it, in inches
_MOST_ROWS = 4  # of a legend above the panels


def draw_legend(
    figure: Figure | SubFigure, panels: Sequence[Curve | Surface], words: Words
) -> None:
    """Draw the legend above the panels, or to their right where it would be too high."""
    handles = _handles(panels, words)
    labels = [str(handle.get_label()) for handle in handles]
    room = figure.bbox.width / figure.dpi
    n_rows = _rows_within(room, labels)
    is_beside = n_rows > _MOST_ROWS and _widths(labels).max() < 0.5 * room
    legend = figure.legend(
        handles=handles,
        labels=["" for _ in labels],
        loc="outside right upper" if is_beside else "outside upper right",
        ncols=1 if is_beside else -(-len(handles) // n_rows),
        frameon=False,
        labelcolor=INK,
        fontsize=11,
        handlelength=1.4,
        handleheight=0.9,
        columnspacing=1.6,
        title=words.note or None,
        title_fontproperties={"size": 11},
        alignment="left" if is_beside else "right",
    )
    legend.get_title().set(color=INK, text=words.note.replace(": ", ":\n" if is_beside else ": "))
    # Only now: matplotlib before 3.10 leaves out names that begin with an underscore.
    for text, label in zip(legend.get_texts(), labels, strict=True):
        text.set(text=label, **AS_IT_IS)


def _widths(labels: Sequence[str]) -> Floats:
    """Return how wide entries are in inches, about."""
    return np.array([_HANDLE + _LETTER * len(label) for label in labels])


def _rows_within(room: float, labels: Sequence[str]) -> int:
    """Return in how few rows, filled column by column, entries are no wider than the room."""
    wide = _widths(labels)
    for n_rows in range(1, len(labels)):
        n_cols = -(-len(labels) // n_rows)
        if sum(column.max() for column in np.array_split(wide, n_cols)) <= room:
            return n_rows
    return len(labels)


def width_for_legend(panels: Sequence[Curve | Surface], words: Words) -> float:
    """Return how much wider a single panel should be for its legend, in inches."""
    handles = _handles(panels, words)
    widths = _widths([str(handle.get_label()) for handle in handles])
    return float(widths.max()) if len(handles) > 2 * _MOST_ROWS else 1.0


def _handles(panels: Sequence[Curve | Surface], words: Words) -> list[Artist]:
    """Return what the legend explains; lines that are named at their ends need none."""
    named = all(isinstance(panel, Curve) and not panel.levels for panel in panels)
    is_bars = all(isinstance(panel, Curve) and panel.levels for panel in panels)
    lines = [] if named and len(words.lines) >= NAMED else _lines(words, is_bars=is_bars)
    return [*lines, *_marks(panels)]


def _lines(words: Words, *, is_bars: bool) -> list[Artist]:
    """Return what colors mean: which class, or the sign of an effect."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if not words.lines:
        return [
            Patch(facecolor=UP, alpha=0.55, label=words.up),
            Patch(facecolor=DOWN, alpha=0.55, label=words.down),
        ]
    names = told_apart(words.lines, 24)
    if is_bars:
        return [Patch(facecolor=LINES[k], label=name) for k, name in enumerate(names)]
    return [Line2D([], [], **line_style(k), label=name) for k, name in enumerate(names)]


def _marks(panels: Sequence[Curve | Surface]) -> list[Artist]:
    """Return what all else means."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    meaning: list[Artist] = []
    curves = [curve for curve in panels if isinstance(curve, Curve)]
    if any(curve.x[0] < curve.lo or curve.x[-1] > curve.hi for curve in curves):
        meaning.append(Line2D([], [], color=INK, lw=2.0, ls=":", label="straight beyond"))
    if any(curve.half is not None for curve in curves):
        meaning.append(Patch(facecolor=INK, alpha=BAND["alpha"], label=f"{LEVEL:.0%} band"))
    if any(curve.f_missing is not None for curve in curves):
        meaning.append(Line2D([], [], **MISSING, color=INK, label="value missing"))
    if curves:
        meaning.append(Patch(facecolor=FAINT, label="where the data lie"))
    if len(curves) < len(panels):
        meaning.append(Patch(facecolor=NO_DATA, label="no rows nearby"))
    share = Line2D([], [], marker=r"$\%$", color=MUTED, lw=0, ms=9, label="share of importance")
    return [*meaning, share]
