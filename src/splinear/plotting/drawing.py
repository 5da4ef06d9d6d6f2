"""One panel of a picture: what is drawn, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from splinear._types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

__all__ = [
    "AS_IT_IS",
    "BAND",
    "DOWN",
    "FAINT",
    "INK",
    "LINES",
    "MISSING",
    "MUTED",
    "UP",
    "Curve",
    "Words",
    "common_limits",
    "draw_panel",
    "dress",
    "entitle",
    "room",
    "shortened",
    "style",
]

Style: TypeAlias = dict[str, Any]  # keywords for matplotlib

# Okabe and Ito's blue and vermilion stay apart for every common kind of color vision.
UP = "#0072B2"
DOWN = "#D55E00"
INK = "#22262B"
MUTED = "#7A828C"
FAINT = "#C9CED6"

# One per class, after Okabe and Ito; from the sixth on dashed as well.
LINES = (UP, DOWN, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", INK, "#A89B00", "#7B4A1E", MUTED)

AS_IT_IS: Style = {"parse_math": False}  # of names, in which a dollar is a dollar
MISSING: Style = {"marker": "D", "ls": "", "ms": 6}

_STRIP = 0.13  # the share of a panel's height that the data's histogram takes
_MOST_KNOTS = 32  # more marks than this would hide the curve
_FEW_CELLS = 6
_WIDEST_BAR = 0.05  # the share of a panel's width
_LONGEST_LINE = 40  # letters that fit below a panel
_MOST_OF_BAND = 0.35  # of the curves' height, above and below them; bands are cut off there

BAND: Style = {"alpha": 0.16, "lw": 0, "zorder": 2.5}


@dataclass(frozen=True)
class Curve:
    """One panel: the curve f_j of a feature, and what is known about the feature.

    For a categorical feature x counts its levels, in the order in which they are drawn.

    Attributes
    ----------
    name : str
    x : ndarray of shape (n_points,)
    f : ndarray of shape (n_points,) or (n_points, n_lines)
        The curve, or one for each class.
    knots : ndarray of shape (n_knots,)
    f_knots : ndarray of shape (n_knots,) or (n_knots, n_lines)
        Where its pieces meet.
    edges : ndarray of shape (n_cells + 1,)
    counts : ndarray of shape (n_cells,)
        Histogram of the data.
    share : float
        The feature's part of the sum of all importances, from 0 to 1.
    lo, hi : float
        The range the curve was learned on; it is dotted beyond.
    levels : tuple of str
        Names of the levels of a categorical feature; empty for numbers.
    n_hidden : int
        Levels that there was no room for, the rarest ones.
    f_missing : float, ndarray of shape (n_lines,) or None
        What a missing value adds, where a feature of numbers had some in training.
    n_missing : int
        Rows of the data in which the feature is missing.
    half : ndarray of the shape of f, or None
        Half the width of the band around the curve; None: there is none.
    half_missing : float, ndarray of shape (n_lines,) or None
        The same of what a missing value adds.
    """

    name: str
    x: Floats
    f: Floats
    knots: Floats
    f_knots: Floats
    edges: Floats
    counts: Floats
    share: float
    lo: float = -np.inf
    hi: float = np.inf
    levels: tuple[str, ...] = ()
    n_hidden: int = 0
    f_missing: Floats | float | None = None
    n_missing: int = 0
    half: Floats | None = None
    half_missing: Floats | float | None = None


@dataclass(frozen=True)
class Words:
    """What the legend and the axis say.

    Attributes
    ----------
    up, down : str
        What it means for a curve to lie above or below zero.
    lines : tuple of str
        Names of the lines, where a panel has several; empty otherwise.
    axis : str
        What the height of a curve is.
    """

    up: str = "raises the score"
    down: str = "lowers the score"
    lines: tuple[str, ...] = ()
    axis: str = "contribution to the score"


def room(value: float) -> float:
    """Return the width of the panel of a feature that has one value."""
    return max(1.0, 0.2 * abs(value))


def common_limits(curves: Sequence[Curve]) -> tuple[float, float]:
    """Lowest and highest y that the curves need, zero among them, and a little air."""
    heights = [curve.f for curve in curves]
    heights += [np.asarray(curve.f_missing) for curve in curves if curve.f_missing is not None]
    low = min([0.0, *(float(f.min()) for f in heights)])
    high = max([0.0, *(float(f.max()) for f in heights)])
    if bands := [(curve.f, curve.half) for curve in curves if curve.half is not None]:
        reach = _MOST_OF_BAND * (high - low)
        low = max(low - reach, min(low, *(float((f - half).min()) for f, half in bands)))
        high = min(high + reach, max(high, *(float((f + half).max()) for f, half in bands)))
    air = 0.07 * ((high - low) or 1.0)
    return low - air, high + air


def draw_panel(ax: Axes, curve: Curve, limits: tuple[float, float]) -> Line2D | list[Line2D]:
    """Draw one panel and return the line of its curve, or the lines of all classes."""
    from matplotlib.ticker import MaxNLocator

    low, high = limits
    ax.set_ylim(low - (high - low) * _STRIP / (1.0 - _STRIP), high)
    ticks = np.asarray(MaxNLocator(5).tick_values(low, high))
    ax.set_yticks(ticks[(ticks >= low) & (ticks <= high)])
    dress(ax, curve)
    _draw_data(ax, curve)
    ax.axhline(0, color=MUTED, lw=0.8, zorder=1.5)
    if curve.levels:
        return _draw_levels(ax, curve)
    if curve.f_missing is not None:
        _draw_missing(ax, curve)
    _draw_band(ax, curve)
    if curve.f.ndim == 2:
        return [_draw_line(ax, curve, f, style(k)) for k, f in enumerate(curve.f.T)]
    for color, where in ((UP, curve.f >= 0), (DOWN, curve.f <= 0)):
        ax.fill_between(
            curve.x, 0, curve.f, where=where, interpolate=True, color=color, alpha=0.22, lw=0
        )
    line = _draw_line(ax, curve, curve.f, {"color": INK, "lw": 2.0})
    if 0 < len(curve.knots) <= _MOST_KNOTS:
        ax.plot(curve.knots, curve.f_knots, "o", ms=3.6, mfc="white", mec=INK, mew=0.9, zorder=4)
    return line


def _draw_line(ax: Axes, curve: Curve, f: Floats, style: Style) -> Line2D:
    """Draw a curve over the range it was learned on, and in dots beyond; return the former.

    Of a constant feature, the curve is a dot, if it has a value at all.
    """
    if len(curve.x) == 1:
        style = style | {"marker": "o" if curve.counts.any() else "", "ms": 5}
    inside = (curve.x >= curve.lo) & (curve.x <= curve.hi)
    for beyond in (curve.x <= curve.lo, curve.x >= curve.hi):
        if np.count_nonzero(beyond) > 1:
            ax.plot(curve.x[beyond], f[beyond], **(style | {"ls": ":"}), zorder=3)
    (line,) = ax.plot(curve.x[inside], f[inside], **style, solid_joinstyle="round", zorder=3)
    return line


def _draw_band(ax: Axes, curve: Curve) -> None:
    """Shade what is around each curve, and draw a bar at what a missing value adds."""
    if curve.half is None:
        return
    lines, halves = curve.f.reshape(len(curve.x), -1).T, curve.half.reshape(len(curve.x), -1).T
    one = curve.f.ndim == 1
    for k, (f, half) in enumerate(zip(lines, halves, strict=True)):
        ax.fill_between(curve.x, f - half, f + half, color=INK if one else LINES[k], **BAND)
    if curve.f_missing is not None and curve.half_missing is not None:
        f, half = np.atleast_1d(curve.f_missing), np.atleast_1d(curve.half_missing)
        at = np.full(len(f), _place_of_missing(curve))
        ax.vlines(at, f - half, f + half, colors=_colors(curve, len(f)), lw=1.2, zorder=3.5)


def _colors(curve: Curve, n: int) -> list[str]:
    return [INK] if curve.f.ndim == 1 else list(LINES[:n])


def _draw_bars(ax: Axes, curve: Curve) -> None:
    """Draw a bar at every level, in the color of its line."""
    if curve.half is None:
        return
    lines, halves = curve.f.reshape(len(curve.x), -1).T, curve.half.reshape(len(curve.x), -1).T
    for f, half, color in zip(lines, halves, _colors(curve, len(lines)), strict=True):
        ax.vlines(curve.x, f - half, f + half, colors=color, lw=1.2, alpha=0.8, zorder=2.8)


def _draw_levels(ax: Axes, curve: Curve) -> Line2D | list[Line2D]:
    """Draw one dot per level, on a stem from zero; with several lines, dots of their colors."""
    labels = [shortened(level, 14) for level in curve.levels]
    style: Style = {"fontsize": 10}
    if len(labels) * (max(map(len, labels)) + 2) > _LONGEST_LINE:
        style = {"rotation": 45, "ha": "right", "rotation_mode": "anchor", "fontsize": 9}
    ax.set_xticks(curve.x, labels, **style, **AS_IT_IS)
    ax.set_xlim(-0.7, len(curve.x) - 0.3)
    if curve.n_hidden:
        ax.set_xlabel(f"and {curve.n_hidden} rarer ones", color=MUTED, fontsize=9, loc="right")
    _draw_bars(ax, curve)
    if curve.f.ndim == 2:
        return [
            ax.plot(curve.x, f, "o", color=LINES[k], ms=6, mec="white", mew=0.6, zorder=3)[0]
            for k, f in enumerate(curve.f.T)
        ]
    colors = np.where(curve.f >= 0, UP, DOWN)
    ax.vlines(curve.x, 0, curve.f, colors=colors.tolist(), alpha=0.45, lw=5, zorder=2)
    (dots,) = ax.plot(curve.x, curve.f, "o", color=INK, ms=5, zorder=3)
    return dots


def _draw_missing(ax: Axes, curve: Curve) -> None:
    """Draw what a missing value adds, as diamonds to the right of the curve."""
    beyond = _place_of_missing(curve)
    for k, f in enumerate(np.atleast_1d(np.asarray(curve.f_missing))):
        ax.plot([beyond], [f], **MISSING, color=INK if curve.f.ndim == 1 else LINES[k], zorder=4)


def _place_of_missing(curve: Curve) -> float:
    lo, hi = float(curve.x[0]), float(curve.x[-1])
    return hi + (0.07 * (hi - lo) if lo < hi else 0.3 * room(lo))


def style(k: int) -> Style:
    """Color and dashes of line k."""
    return {"color": LINES[k], "lw": 2.0, "ls": "-" if k < 5 else (0, (3.5, 1.2))}


def entitle(ax: Axes, title: str, share: float) -> None:
    """Write the name of a term, and its share of importance into the other corner."""
    ax.set_title(title, loc="left", fontsize=12, fontweight="bold", color=INK, **AS_IT_IS)
    ax.set_title(f"{share:.0%}", loc="right", fontsize=11, color=MUTED)


def dress(ax: Axes, curve: Curve) -> None:
    """Title, corner and spines."""
    from matplotlib.ticker import MaxNLocator

    entitle(ax, shortened(curve.name), curve.share)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.spines["bottom"].set_color(FAINT)
    ax.tick_params(colors=MUTED, labelsize=10, length=0)
    ax.grid(axis="y", color=FAINT, lw=0.6, alpha=0.6)
    ax.set_axisbelow(True)
    if len(curve.x) == 1 and not curve.levels:
        width, value = room(float(curve.x[0])), float(curve.x[0])
        ax.set_xticks([value] if curve.counts.any() else [])
        ax.set_xlim(value - width / 2, value + width / 2)
    else:
        ax.xaxis.set_major_locator(MaxNLocator(5))
        ax.margins(x=0.02)
        if len(curve.counts) <= _FEW_CELLS and not curve.levels:  # a cell at each value
            ax.set_xticks((curve.edges[1:] + curve.edges[:-1]) / 2)


def _draw_data(ax: Axes, curve: Curve) -> None:
    """Draw the histogram as a strip at the foot of the panel, with a bar for missing values."""
    x, counts = (curve.edges[1:] + curve.edges[:-1]) / 2, curve.counts
    widths = np.diff(curve.edges)
    if curve.levels:
        widths = 0.7 * widths
    elif len(curve.x) > 1:
        widest = _WIDEST_BAR * float(np.ptp(curve.x))
        widths = np.minimum(widths, widest)
    if curve.f_missing is not None:
        x, counts = np.append(x, _place_of_missing(curve)), np.append(counts, curve.n_missing)
        widths = np.append(widths, widths[0])
    highest = max(float(curve.counts.max()), 1.0)
    # The bar of missing values may end at the top of the strip.
    heights = _STRIP * 0.85 * np.minimum(counts / highest, 1.0)
    ax.bar(
        x,
        heights,
        width=widths,
        color=FAINT,
        linewidth=0,
        transform=ax.get_xaxis_transform(),
        zorder=1,
    )


def shortened(name: str, most: int = 30) -> str:
    """Return a name, cut where it has more letters than `most`."""
    return name if len(name) <= most else name[: most - 1] + "…"
