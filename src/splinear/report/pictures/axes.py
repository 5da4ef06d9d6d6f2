"""Axes: the map from numbers to pixels, and ticks at round numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from splinear._types import Floats
from splinear.inspection.text import decimals_of, digits_apart, fixed
from splinear.inspection.ticks import even_ticks, factor_ticks
from splinear.report.pictures.svg import element, text
from splinear.report.spreads import Spread

__all__ = ["Axis", "bottom_axis", "choose_axis", "left_axis", "tick_text"]

_MIDDLE, _NARROW = 0.9, 0.3  # an axis is bent if this share of rows is on this share of it
_LETTER = 5.8  # width of a character of a label
_LARGE = 1e6  # from here on, labels are 1M, 2M, ... if that is shorter
_THOUSANDS = 1e4  # from here on, thousands are separated


@dataclass(frozen=True)
class Axis:
    """An axis from lo to hi at the pixels from `start` to `end`.

    With a `bend` positions follow asinh(x / bend), which is linear near 0 and logarithmic beyond.
    """

    lo: float
    hi: float
    start: float
    end: float
    bend: float | None = None
    places: tuple[float, ...] | None = None  # of ticks, if given
    is_factor: bool = False  # of numbers that are logarithms of factors, which ticks show

    def __call__(self, x: Floats | Sequence[float]) -> Floats:
        """Return the pixels of numbers."""
        first, last = self._along(np.array([self.lo, self.hi]))
        share = (self._along(np.asarray(x, dtype=np.float64)) - first) / (last - first)
        return np.asarray(self.start + (self.end - self.start) * share)

    def at(self, x: float) -> float:
        """Return the pixel of a number."""
        return float(self([x])[0])

    def steps(self, n: int) -> Floats:
        """Return n numbers at equal distances in pixels, both ends included."""
        first, last = self._along(np.array([self.lo, self.hi]))
        along = np.linspace(first, last, n)
        x = along if self.bend is None else self.bend * np.sinh(along)
        return np.clip(x, self.lo, self.hi)

    def _along(self, x: Floats) -> Floats:
        return x if self.bend is None else np.asarray(np.arcsinh(x / self.bend))

    def ticks(self, most: int) -> list[float]:
        """Return the numbers of at most `most` ticks."""
        if self.places is not None:
            return list(self.places)
        if self.is_factor:
            return factor_ticks(self.lo, self.hi, most)
        if self.bend is None:
            return even_ticks(self.lo, self.hi, most)
        return self._bent_ticks(most)

    def label(self, x: float, ticks: Sequence[float]) -> str:
        """Return the label of one of the ticks."""
        if not self.is_factor:
            return tick_text(x, ticks)
        factors = [round(float(np.exp(tick)), 12) for tick in ticks]
        return f"\N{MULTIPLICATION SIGN}{tick_text(factors[list(ticks).index(x)], factors)}"

    def _bent_ticks(self, most: int) -> list[float]:
        kept: list[float]
        assert self.bend is not None
        first = int(np.floor(np.log10(self.bend)))
        last = int(np.ceil(np.log10(max(abs(self.lo), abs(self.hi), self.bend))))
        powers = [10.0**k for k in range(last, first - 1, -1)]  # the largest numbers matter most
        wanted = [0.0, *(sign * m * p for m in (1, 5, 2) for p in powers for sign in (1, -1))]
        apart, kept = abs(self.end - self.start) / most, []
        for x in wanted:
            here = self.lo <= x <= self.hi
            if here and all(abs(self.at(x) - self.at(other)) >= apart for other in kept):
                kept.append(x)
        return sorted(kept)


def choose_axis(lo: float, hi: float, start: float, end: float, spread: Spread) -> Axis:
    """Return the axis of a feature, bent if most rows would otherwise be on a small part."""
    if not lo < hi:
        room = max(1.0, abs(lo)) / 2
        return Axis(lo - room, lo + room, start, end, places=(lo,))
    tail = (1.0 - _MIDDLE) / 2
    left, right = (spread.quantile(q, at) for q, at in ((tail, lo), (1.0 - tail, hi)))
    if right - left >= _NARROW * (hi - lo):
        return Axis(lo, hi, start, end)
    away = np.abs(spread.places[spread.places != 0.0])
    bend = float(np.quantile(away, 0.25)) if len(away) else 0.0
    widest = max(abs(lo), abs(hi))
    if not 0.0 < bend < 0.1 * widest:
        return Axis(lo, hi, start, end)
    return Axis(lo, hi, start, end, bend=max(bend, 1e-4 * widest))


def tick_text(x: float, ticks: Sequence[float]) -> str:
    """Return the label of a tick, with the digits that tell it from the others."""
    if x == 0.0:
        return "0"
    largest = max((abs(tick) for tick in ticks), default=0.0)
    if largest >= 1e15 or largest < 1e-4:
        digits = _digits(largest, ticks)
        return f"{x:.{digits - 1}e}".replace("e-0", "e-").replace("e+0", "e").replace("-", "−")
    with_unit = [_with_unit(tick, ticks) for tick in ticks]
    written_out = [_written_out(tick, ticks) for tick in ticks]
    in_units = largest >= _LARGE and _longest(with_unit) < _longest(written_out)
    return (_with_unit if in_units else _written_out)(x, ticks).replace("-", "−")


def _longest(words: Sequence[str]) -> int:
    return max(map(len, words), default=0)


def _with_unit(x: float, ticks: Sequence[float]) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(x) >= size:
            return f"{x / size:.{max(4, _digits(x, ticks))}g}{letter}"
    return _written_out(x, ticks)


def _written_out(x: float, ticks: Sequence[float]) -> str:
    if len(ticks) == 1 and x != round(x):
        return f"{x:.4g}"
    step = _even_step(ticks) or abs(x)
    places = 0 if step == 0.0 else int(np.clip(decimals_of(step), 0, 8))
    text = fixed(x, places)
    is_long = max(abs(tick) for tick in ticks) >= _THOUSANDS
    return text if is_long else text.replace(",", "")


def _digits(x: float, ticks: Sequence[float]) -> int:
    """Return how many significant digits tell x from its neighbors; 1 on a bent axis."""
    return digits_apart(abs(x), _even_step(ticks) or 0.0)


def _even_step(ticks: Sequence[float]) -> float | None:
    """Return the distance of ticks; None on a bent axis, where they differ, and for one tick."""
    gaps = np.abs(np.diff(ticks))
    gaps = gaps[gaps > 0]
    return float(gaps.min()) if len(gaps) and gaps.max() < 1.5 * gaps.min() else None


def bottom_axis(
    axis: Axis,
    y: float,
    most: int = 6,
    *,
    grid_top: float | None = None,
    beside: tuple[str, float] | None = None,
) -> str:
    """Return ticks below y, and grid lines up to `grid_top`.

    `beside` is a label on the right that no tick may touch, with the place of its middle.
    """
    ticks = _legible_ticks(axis, most)
    if beside is not None:
        name, place = beside
        room = place - _LETTER * (len(name) + 1) / 2  # half a letter of space
        ticks = [t for t in ticks if axis.at(t) + _LETTER * len(axis.label(t, ticks)) / 2 <= room]
    at = axis(ticks).tolist()
    lines = ""
    if grid_top is not None:
        d = "".join(f"M{x:.1f} {grid_top:.1f}V{y:.1f}" for x in at)
        lines = element("path", d=d, class_="grid")
    marks = element("path", d="".join(f"M{x:.1f} {y:.1f}v4" for x in at), class_="tick")
    names = [text(axis.label(tick, ticks), x, y + 16) for tick, x in zip(ticks, at, strict=True)]
    return lines + marks + element("g", "".join(names), text_anchor="middle")


def _legible_ticks(axis: Axis, most: int) -> list[float]:
    """Return at most `most` ticks of a horizontal axis, fewer where their labels are long."""
    choices = [axis.ticks(n) for n in range(most, 1, -1)]
    choices += [choices[0][::step] for step in range(2, len(choices[0]))]
    return next((ticks for ticks in choices if _apart(axis, ticks)), choices[0][:1])


def _apart(axis: Axis, ticks: Sequence[float]) -> bool:
    """Return whether no label of a horizontal axis touches the next."""
    widths = np.array([_LETTER * len(axis.label(tick, ticks)) for tick in ticks])
    needed = (widths[1:] + widths[:-1]) / 2 + _LETTER
    return bool((np.diff(axis(ticks)) >= needed).all())


def left_axis(axis: Axis, x: float, right: float, most: int = 6) -> str:
    """Return ticks to the left of x, and grid lines to the right."""
    ticks = axis.ticks(most)
    at = axis(ticks).tolist()
    zero = [y for tick, y in zip(ticks, at, strict=True) if tick == 0.0 and axis.lo < 0.0]
    lines = "".join(
        element("path", d="".join(f"M{x:.1f} {y:.1f}H{right:.1f}" for y in chosen), class_=kind)
        for kind, chosen in (("grid", [y for y in at if y not in zero]), ("zero", zero))
        if chosen
    )
    names = [
        text(axis.label(tick, ticks), x - 6, y + 3.5) for tick, y in zip(ticks, at, strict=True)
    ]
    return lines + element("g", "".join(names), text_anchor="end")
