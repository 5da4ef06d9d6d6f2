"""What the figures share: colors, bare panels, and PNG bytes."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from splinear.plotting import DOWN, FAINT, INK, MUTED, UP

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["COLORS", "FAINT", "INK", "MUTED", "bare", "png"]

# Okabe and Ito's colors, without the yellow that is too light for lines.
COLORS = (UP, DOWN, "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
DPI = 110


def bare(ax: Axes, title: str) -> None:
    """Leave a panel with a title, two axes and light ticks."""
    ax.set_title(title, fontsize=10, color=INK)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(colors=MUTED, labelsize=8)


def png(figure: Figure) -> bytes:
    """Return the figure as the bytes of a PNG file. The same figure gives the same bytes."""
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, facecolor="white", metadata={"Software": None})
    return buffer.getvalue()
