"""How one panel is drawn: a curve or bars, the band, and where the data lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from splinear._types import Floats
from splinear.plotting.curve import MISSING_AFTER, Curve
from splinear.plotting.fitting import fit_levels, fit_title
from splinear.plotting.scales import height_marks, mark_numbers, n_marks_between
from splinear.plotting.style import DOWN, FAINT, INK, MUTED, UP, Style, line_style, room

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.lines import Line2D

__all__ = ["BAND", "MISSING", "MOST_BANDS", "common_limits", "draw_panel"]

Drawn: TypeAlias = "Line2D | BarContainer"

MISSING: Style = {"marker": "D", "ls": "", "ms": 6}
BAND: Style = {"alpha": 0.16, "lw": 0, "zorder": 2.5}
MOST_BANDS = 4  # of one panel; more of them would hide each other

_STRIP = 0.13  # the share of a panel's height that the data's histogram takes
_MOST_KNOTS = 32  # more marks than this would hide the curve
_FEW_CELLS = 6
_WIDEST_BAR = 0.05  # the share of a panel's width
_BARS = 0.72  # of the distance of levels, that their bars take
_MOST_OF_BAND = 0.35  # of the curves' height, above and below them; bands are cut off there
_SEEN = 0.995  # the share of rows whose effects are always within the panels
_MOST_BEYOND = 0.5  # of the height of these, above and below; curves are cut off there


def common_limits(curves: Sequence[Curve]) -> tuple[float, float]:
    """Lowest and highest y that the curves need, zero among them, and a little air.

    What few rows have, and is far from what nearly all rows have, is cut off.
    """
    heights = [curve.f for curve in curves]
    heights += [np.asarray(curve.f_missing) for curve in curves if curve.f_missing is not None]
    low = min([0.0, *(float(f.min()) for f in heights)])
    high = max([0.0, *(float(f.max()) for f in heights)])
    seen = np.array([_seen(curve) for curve in curves] or [(0.0, 0.0)])
    least, most = min(0.0, float(seen[:, 0].min())), max(0.0, float(seen[:, 1].max()))
    beyond = _MOST_BEYOND * (most - least)
    if beyond > 0.0:
        low, high = max(low, least - beyond), min(high, most + beyond)
    if bands := [(curve.f, curve.half) for curve in curves if curve.half is not None]:
        reach = _MOST_OF_BAND * (high - low)
        low = max(low - reach, min(low, *(float((f - half).min()) for f, half in bands)))
        high = min(high + reach, max(high, *(float((f + half).max()) for f, half in bands)))
    air = 0.07 * ((high - low) or 1.0)
    return low - air, high + air


def _seen(curve: Curve) -> tuple[float, float]:
    """Return between which heights the effects of nearly all rows lie."""
    at = (curve.edges[1:] + curve.edges[:-1]) / 2
    heights = [np.interp(at, curve.x, f) for f in curve.lines]
    counts = curve.counts
    if curve.f_missing is not None:
        gaps = np.atleast_1d(curve.f_missing)
        heights = [np.append(f, gap) for f, gap in zip(heights, gaps, strict=True)]
        counts = np.append(counts, float(curve.n_missing))
    if not counts.any():
        return 0.0, 0.0
    ends = [_weighted_ends(f, counts) for f in heights]
    return min(low for low, _ in ends), max(high for _, high in ends)


def _weighted_ends(f: Floats, counts: Floats) -> tuple[float, float]:
    order = np.argsort(f)
    below = np.cumsum(counts[order]) / counts.sum()
    low, high = np.searchsorted(below, [1.0 - _SEEN, _SEEN])
    return float(f[order[low]]), float(f[order[min(high, len(f) - 1)]])


def draw_panel(
    ax: Axes, curve: Curve, limits: tuple[float, float], *, is_factor: bool = False
) -> list[Drawn]:
    """Draw one panel and return the line of each class, or its bars.

    `is_factor`: heights are logarithms, and marked as factors.
    """
    low, high = limits
    ax.set_ylim(low - (high - low) * _STRIP / (1.0 - _STRIP), high)
    ax.set_yticks(*height_marks(low, high, is_factor=is_factor))
    after = 0.0 if curve.f_missing is None else MISSING_AFTER
    curve.scale.apply(ax, float(curve.x[0]), float(curve.x[-1]), 1.3 * after)
    _dress(ax, curve)
    _draw_data(ax, curve)
    ax.axhline(0, color=MUTED, lw=0.8, zorder=1.5)
    if curve.levels:
        return _draw_levels(ax, curve)
    if curve.f_missing is not None:
        _draw_missing(ax, curve)
    _draw_band(ax, curve)
    if curve.f.ndim == 2:
        return [_draw_line(ax, curve, f, line_style(k)) for k, f in enumerate(curve.lines)]
    for color, where in ((UP, curve.f >= 0), (DOWN, curve.f <= 0)):
        ax.fill_between(
            curve.x, 0, curve.f, where=where, interpolate=True, color=color, alpha=0.22, lw=0
        )
    line = _draw_line(ax, curve, curve.f, {"color": INK, "lw": 2.0})
    if 0 < len(curve.knots) <= _MOST_KNOTS:
        ax.plot(curve.knots, curve.f_knots, "o", ms=3.6, mfc="white", mec=INK, mew=0.9, zorder=4)
    return [line]


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
    halves = curve.halves
    if halves is None:
        return
    for f, half, color in zip(curve.lines, halves, curve.colors, strict=True):
        ax.fill_between(curve.x, f - half, f + half, color=color, **BAND)
    if curve.f_missing is not None and curve.half_missing is not None:
        f, half = np.atleast_1d(curve.f_missing), np.atleast_1d(curve.half_missing)
        at = np.full(len(f), curve.place_of_missing)
        ax.vlines(at, f - half, f + half, colors=curve.colors, lw=1.2, zorder=3.5)


def _draw_levels(ax: Axes, curve: Curve) -> list[Drawn]:
    """Draw a bar for each level, or one for each class beside each other, with whiskers."""
    ax.set_xlim(-0.6, len(curve.x) - 0.4)
    fit_levels(ax, curve.x, curve.levels)
    if curve.n_hidden:
        n = len(curve.levels)
        note = f"{n} of {n + curve.n_hidden:,} levels: those that matter most"
        ax.set_xlabel(note, color=MUTED, fontsize=9, loc="right")
    lines, none = curve.lines, [None] * len(curve.lines)
    halves: Sequence[Floats | None] = curve.halves or none
    width = _BARS / len(lines)
    out: list[Drawn] = []
    for k, (f, half) in enumerate(zip(lines, halves, strict=True)):
        x = curve.x + (k - (len(lines) - 1) / 2) * width
        one = curve.f.ndim == 1
        color = np.where(f >= 0, UP, DOWN).tolist() if one else curve.colors[k]
        out.append(ax.bar(x, f, 0.94 * width, color=color, alpha=0.6 if one else 0.85, zorder=2))
        if half is not None:
            ax.vlines(x, f - half, f + half, colors=INK, lw=1.2 if one else 0.8, zorder=3)
    return out


def _draw_missing(ax: Axes, curve: Curve) -> None:
    """Draw what a missing value adds, as diamonds to the right of the curve."""
    gaps = np.atleast_1d(np.asarray(curve.f_missing))
    for f, color in zip(gaps, curve.colors, strict=True):
        ax.plot([curve.place_of_missing], [f], **MISSING, color=color, zorder=4)


def _dress(ax: Axes, curve: Curve) -> None:
    """Title, corner, spines and marks."""
    fit_title(ax, curve.name, curve.share)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.spines["bottom"].set_color(FAINT)
    ax.tick_params(colors=MUTED, labelsize=10, length=0)
    ax.grid(axis="y", color=FAINT, lw=0.6, alpha=0.6)
    ax.set_axisbelow(True)
    if curve.levels:
        return
    if len(curve.x) == 1:
        width, value = room(float(curve.x[0])), float(curve.x[0])
        ax.set_xticks([value] if curve.counts.any() else [])
        ax.set_xlim(value - width / 2, value + width / 2)
        return
    ax.margins(x=0.02)
    if note := curve.scale.note(float(curve.x[0])):
        ax.set_xlabel(note, color=MUTED, fontsize=9, loc="right")
        return
    n_marks = n_marks_between(float(curve.x[0]), float(curve.x[-1]))
    mark_numbers(ax.xaxis, n_marks, whole=curve.is_whole)
    if len(curve.counts) <= _FEW_CELLS:  # a cell at each value
        ax.set_xticks((curve.edges[1:] + curve.edges[:-1]) / 2)


def _draw_data(ax: Axes, curve: Curve) -> None:
    """Draw the histogram as a strip at the foot of the panel, with a bar for missing values."""
    x, counts = (curve.edges[1:] + curve.edges[:-1]) / 2, curve.counts
    widths = np.diff(curve.edges)
    if curve.levels:
        widths = _BARS * widths
    elif len(curve.x) > 1 and curve.scale.is_linear:
        widths = np.minimum(widths, _WIDEST_BAR * float(np.ptp(curve.x)))
    if curve.f_missing is not None:
        at, ends = curve.place_of_missing, curve.x[[0, -1]].tolist()
        x, counts = np.append(x, at), np.append(counts, curve.n_missing)
        wide = widths[0] if curve.scale.is_linear else 0.6 * (at - ends[1])
        widths = np.append(widths, wide)
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
