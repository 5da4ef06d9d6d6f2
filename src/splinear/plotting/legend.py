"""What colors and marks mean, said once for a whole figure of curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from splinear.inspection.bands import LEVEL
from splinear.inspection.text import told_apart
from splinear.plotting.curve import Curve, Words
from splinear.plotting.drawing import BAND, MISSING
from splinear.plotting.heatmap import NO_DATA
from splinear.plotting.style import AS_IT_IS, DOWN, FAINT, INK, MUTED, UP, line_style
from splinear.plotting.surfaces import Surface

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure, SubFigure

__all__ = ["NAMED", "draw_legend"]

NAMED = 3  # lines, or more, are named at their ends
_PER_PANEL = 1.7  # entries side by side


def draw_legend(
    figure: Figure | SubFigure, panels: Sequence[Curve | Surface], words: Words, n_cols: int
) -> None:
    """Draw the legend above the panels, which stand in rows of `n_cols`."""
    named = all(isinstance(panel, Curve) and not panel.levels for panel in panels)
    lines = [] if named and len(words.lines) >= NAMED else _lines(words)
    handles = [*lines, *_marks(panels)]
    most = max(1, int(_PER_PANEL * min(n_cols, len(panels))))
    n_rows = -(-len(handles) // most)
    labels = [str(handle.get_label()) for handle in handles]
    legend = figure.legend(
        handles=handles,
        labels=["" for _ in labels],
        loc="outside upper right",
        ncols=-(-len(handles) // n_rows),
        frameon=False,
        labelcolor=INK,
        fontsize=11,
        handlelength=1.4,
        handleheight=0.9,
        columnspacing=1.6,
    )
    # Only now: matplotlib before 3.10 leaves out names that begin with an underscore.
    for text, label in zip(legend.get_texts(), labels, strict=True):
        text.set(text=label, **AS_IT_IS)


def _lines(words: Words) -> list[Artist]:
    """Return what colors mean: which class, or the sign of an effect."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if not words.lines:
        return [
            Patch(facecolor=UP, alpha=0.55, label=words.up),
            Patch(facecolor=DOWN, alpha=0.55, label=words.down),
        ]
    return [
        Line2D([], [], **line_style(k), label=name)
        for k, name in enumerate(told_apart(words.lines, 24))
    ]


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
