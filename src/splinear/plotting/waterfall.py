"""How the reasons of a score are drawn: bars, each of which begins where the last one ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit

from splinear._types import Floats
from splinear.inspection.reasons import Reasons
from splinear.inspection.text import shortened, told_apart
from splinear.plotting.scales import mark_numbers, marks_of_exponentials
from splinear.plotting.style import AS_IT_IS, DOWN, FAINT, INK, MUTED, UP, Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.container import BarContainer

__all__ = ["draw_waterfall"]

_AIR = 0.04  # the share of the width beside the bars
_MOST_OF_WHISKERS = 0.25  # of the bars' width, on both sides; whiskers are cut off there
_MARKS = (0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999)  # probabilities
_FINER = (20, 100, 1000)  # parts of 1, at whose ends there are more marks
_FEWEST_MARKS, _MARKS_BELOW = 3, 8
_LEAST_APART = 0.03  # of the marks, as a share of the width, per letter
_LONGEST = 34  # letters of a name or value


def draw_waterfall(ax: Axes, reasons: Reasons) -> tuple[BarContainer, LineCollection | None]:
    """Draw the reasons of a score into axes; return the bars, and the whiskers if there are any."""
    lines = reasons.lines()
    steps = np.array([amount for _, _, amount, _ in lines[:-2]])
    ends = reasons.base + np.cumsum(steps)
    y = np.arange(1.0, len(steps) + 1.0)
    ax.set_xlim(*_limits(reasons, ends))
    ax.set_ylim(len(steps) + 1.6, -0.6)
    colors = [UP if step >= 0 else DOWN for step in steps]
    bars = ax.barh(y, steps, 0.62, left=ends - steps, color=colors, alpha=0.85, lw=0, zorder=3)
    for k, at in enumerate([reasons.base, *ends.tolist()]):  # from each bar to the next
        ax.plot([at, at], [k, k + 1.0], color=MUTED, lw=0.9, ls=(0, (2, 2)), zorder=2)
    last = len(steps) + 1
    ax.plot([reasons.base], [0], "o", color=MUTED, ms=7, zorder=4)
    ax.plot([reasons.score], [last], "o", color=INK, ms=9, zorder=5)
    _write(ax, reasons)
    _dress(ax, reasons)
    errors = np.array([*(error for _, _, _, error in lines[:-2]), reasons.score_error])
    return bars, _draw_whiskers(ax, np.append(ends, reasons.score), np.append(y, last), errors)


def _limits(reasons: Reasons, ends: Floats) -> tuple[float, float]:
    """Return both ends of the axis: of all bars, and of whiskers that are not too long."""
    places = np.array([reasons.base, reasons.score, *ends])
    low, high = float(places.min()), float(places.max())
    reach = _MOST_OF_WHISKERS * (high - low)
    at = np.append(ends[: len(reasons.terms)], reasons.score)
    wide = np.nan_to_num([*(reason.error for reason in reasons.terms), reasons.score_error])
    left = max(low - reach, min(low, float((at - wide).min())))
    right = min(high + reach, max(high, float((at + wide).max())))
    air = _AIR * ((right - left) or 1.0)
    return left - air, right + air


def _draw_whiskers(ax: Axes, at: Floats, y: Floats, errors: Floats) -> LineCollection | None:
    known = ~np.isnan(errors)
    if not known.any():
        return None
    at, y, errors = at[known], y[known], errors[known]
    for end, beyond in zip(ax.get_xlim(), (at - errors, at + errors), strict=True):
        _mark_beyond(ax, end, y[(beyond - end) * (end - at) > 0])  # it lies between
    return ax.hlines(y, at - errors, at + errors, colors=INK, lw=1.4, zorder=6)


def _mark_beyond(ax: Axes, end: float, y: Floats) -> None:
    """Draw an arrow at this end of the axis for each whisker that continues beyond it."""
    marker = "<" if end == ax.get_xlim()[0] else ">"
    if len(y):  # a line without points would disturb the layout
        ax.plot(np.full(len(y), end), y, marker, color=INK, ms=6, zorder=6, clip_on=False)


def _write(ax: Axes, reasons: Reasons) -> None:
    """Write names and values to the left of the axes, and numbers to the right."""
    lines = [reasons.lines()[-2], *reasons.lines()[:-2], reasons.lines()[-1]]
    names = told_apart([line[0] for line in lines], _LONGEST)
    for k, (_, value, amount, error) in enumerate(lines):
        is_end, is_last = k in (0, len(lines) - 1), k == len(lines) - 1
        weight = "bold" if value or is_last else "normal"
        style: Style = {"ha": "right", "fontsize": 11, "color": INK, "fontweight": weight}
        style["va"] = "bottom" if value else "center"
        _beside(ax, names[k], (0.0, k), (-10, 1 if value else 0), style)
        if value:
            small: Style = {"ha": "right", "va": "top", "fontsize": 10, "color": MUTED}
            _beside(ax, shortened(value, _LONGEST), (0.0, k), (-10, -1), small)
        number = reasons.shown(amount, plus=not is_end).replace("-", "\N{MINUS SIGN}")
        is_zero = not number.strip("+\N{MINUS SIGN}0.")
        color = INK if is_end else MUTED if is_zero else UP if amount > 0 else DOWN
        bold: Style = {"ha": "right", "va": "center", "fontsize": 11, "fontweight": "bold"}
        _beside(ax, number, (1.0, k), (58, 0), bold | {"color": color})
        if text := reasons.shown_error(error):
            pale: Style = {"ha": "left", "va": "center", "fontsize": 10, "color": MUTED}
            _beside(ax, text, (1.0, k), (64, 0), pale)


def _beside(
    ax: Axes, text: str, at: tuple[float, float], offset: tuple[float, float], style: Style
) -> None:
    """Write a text beside the axes, this many points away: `at` is 0 or 1, and a height."""
    where: Style = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    ax.annotate(text, at, offset, annotation_clip=False, **where, **style, **AS_IT_IS)


def _dress(ax: Axes, reasons: Reasons) -> None:
    """Title, axis, and the probabilities that belong to scores."""
    ax.set_title(reasons.headline, loc="left", fontsize=13, fontweight="bold", color=INK, pad=12,
                 **AS_IT_IS)  # fmt: skip
    has_errors = any(not np.isnan(error) for *_, error in reasons.lines())
    note = " (whiskers: one standard error)" if has_errors else ""
    ax.set_xlabel(reasons.unit + note, color=INK, fontsize=11, **AS_IT_IS)
    mark_numbers(ax.xaxis, _MARKS_BELOW, whole=False)
    ax.set_yticks([])
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.spines["bottom"].set_color(FAINT)
    ax.tick_params(colors=MUTED, labelsize=10, length=0)
    ax.grid(axis="x", color=FAINT, lw=0.6, alpha=0.6)
    ax.set_axisbelow(True)
    if np.isclose(expit(reasons.score), reasons.probability, rtol=1e-9, atol=0.0):
        _mark_probabilities(ax, reasons.probability_of)
    elif reasons.mean_of:
        _mark_above(ax, *marks_of_exponentials(*ax.get_xlim()), f"mean of {reasons.mean_of}")


def _mark_probabilities(ax: Axes, name: str) -> None:
    """Add an axis above, on which scores are probabilities."""
    shown: list[float] = []
    for marks in (_MARKS, *([k / n for k in range(1, n)] for n in _FINER)):
        if len(shown) < _FEWEST_MARKS:
            shown = _shown(marks, shown, *ax.get_xlim())
    at, texts = np.array([logit(share) for share in shown]), [f"{share:.3g}" for share in shown]
    _mark_above(ax, at, texts, f"probability of {name}")


def _mark_above(ax: Axes, at: Floats, texts: list[str], label: str) -> None:
    top = ax.secondary_xaxis("top")
    top.set_xticks(at, texts)
    top.set_xlabel(label, color=MUTED, fontsize=10, labelpad=7, **AS_IT_IS)
    top.spines["top"].set_visible(False)
    top.tick_params(colors=MUTED, labelsize=10, length=0)


def _shown(marks: Sequence[float], shown: list[float], low: float, high: float) -> list[float]:
    """Return the probabilities shown, and those marks that are far enough from all others."""
    shown = list(shown)
    for share in sorted(marks, key=lambda share: abs(share - 0.5)):  # the middle first
        at = float(logit(share))
        apart = _LEAST_APART * len(f"{share:.3g}") * (high - low)
        near = [abs(at - float(logit(other))) for other in shown]
        if low <= at <= high and min(near, default=np.inf) > apart:
            shown.append(share)
    return shown
