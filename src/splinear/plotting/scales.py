"""Axes for values with long tails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.inspection.text import decimals_of, digits_apart, number
from splinear.inspection.ticks import LARGEST_LOGARITHM, factor_ticks
from splinear.terms.axes import steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

__all__ = [
    "LINEAR",
    "Scale",
    "choose_scale",
    "compact",
    "height_marks",
    "mark_numbers",
    "marks_of_exponentials",
    "n_marks_between",
    "texts_of",
    "value_names",
]

_BULK = (0.1, 0.9)  # quantiles between which most rows lie
_ENOUGH = 0.2  # the share of a linear axis that these need at least
_GAIN = 1.5  # by which another axis must enlarge it
_NEARLY = 0.75  # of the gain by asinh, that lets the logarithm be preferred
_LEAST_ROWS = 20  # by which an axis is chosen
_AIR = 0.02  # the share of an axis at either end
_APART = 0.13  # of the marks, as a share of the axis
_PER_LETTER = 0.04  # of a mark's text, more where that is longer
_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
_LEAST_LONG = 1e4  # from here on, numbers are written with a unit
_LEAST_HUGE = 1e12  # and from here on, with an exponent
_MOST_DIGITS = 6  # of a number with a unit or an exponent
_LEAST_OF_UNIT = 1e7  # where a unit makes such a number shorter
_MARKS = 5  # along an axis
_LETTERS = 20  # of the long numbers for which an axis has room
_SHORTEST = [1, 2, 5, 10]  # steps between long numbers
_MOST_ROUND = 7  # round numbers along a logarithmic axis


@dataclass(frozen=True)
class Scale:
    """How values are placed along an axis.

    Attributes
    ----------
    kind : {"linear", "log", "asinh"}
        As they are, by their logarithm, or by asinh(x / threshold), which is linear near zero and
        logarithmic beyond `threshold` on both sides.
    threshold : float
    """

    kind: str = "linear"
    threshold: float = 1.0

    @property
    def is_linear(self) -> bool:
        """Whether equal steps are equal distances."""
        return self.kind == "linear"

    def forward(self, x: AnyArray) -> Floats:
        """Return where values lie along the axis."""
        x = np.asarray(x, dtype=np.float64)
        if self.kind == "linear":
            return x
        if self.kind == "asinh":
            return np.asarray(np.arcsinh(x / self.threshold))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(x))

    def inverse(self, u: AnyArray) -> Floats:
        """Return the values at places along the axis."""
        u = np.asarray(u, dtype=np.float64)
        if self.kind == "linear":
            return u
        return np.asarray(np.exp(u) if self.kind == "log" else self.threshold * np.sinh(u))

    def steps(self, lo: float, hi: float, n: int) -> Floats:
        """Return n values from lo to hi, at equal distances along the axis."""
        if self.is_linear:
            return steps(lo, hi, n)
        ends = self.forward(np.array([lo, hi]))
        out = np.clip(self.inverse(np.linspace(ends[0], ends[1], n)), lo, hi)
        out[[0, -1]] = lo, hi
        return out

    def beyond(self, lo: float, hi: float, share: float) -> float:
        """Return the value that lies by a share of the axis beyond `hi`, seen from lo."""
        ends = self.forward(np.array([lo, hi]))
        return float(self.inverse(ends[1] + share * (ends[1] - ends[0])))

    def note(self, lo: float) -> str:
        """Say what the axis is, where it is not linear; `lo` is its left end."""
        if self.kind == "asinh":
            sign = "" if lo >= 0.0 else "\N{PLUS-MINUS SIGN}"
            return f"log scale beyond {sign}{number(self.threshold)}"
        return "log scale" if self.kind == "log" else ""

    def apply(self, ax: Axes, lo: float, hi: float, after: float) -> None:
        """Set the horizontal axis of a panel, and its marks.

        It goes from lo to hi, and by a share of its length `after` that; if linear, as it likes.
        """
        if self.is_linear:
            return
        ax.set_xlim(self.beyond(hi, lo, _AIR), self.beyond(lo, hi, after + _AIR))
        ax.set_xscale("function", functions=(self.forward, self.inverse))
        ticks = self.ticks(lo, hi)
        ax.set_xticks(ticks, [compact(x) for x in ticks])
        ax.set_xticks([], minor=True)

    def ticks(self, lo: float, hi: float) -> list[float]:
        """Return round values that are far enough apart: powers of ten before others."""
        largest = max(abs(lo), abs(hi))
        smallest = self.threshold if self.kind == "asinh" else lo
        exponents = np.arange(np.floor(np.log10(smallest)), np.ceil(np.log10(largest)) + 1.0)
        sizes = [m * 10.0**k for m in (1.0, 3.0) for k in exponents[::-1]]
        wanted = [0.0, *(sign * size for size in sizes for sign in (1.0, -1.0))]
        ends = self.forward(np.array([lo, hi]))
        out: list[float] = []
        for x in wanted:
            if lo <= x <= hi and (self.kind == "asinh" or x > 0.0):
                apart = np.abs(self.forward(np.array(out)) - self.forward(np.array([x])))
                room = max(_APART, _PER_LETTER * len(compact(x)))
                if (apart > room * (ends[1] - ends[0])).all():
                    out.append(x)
        return sorted(out)


LINEAR = Scale()


def choose_scale(values: Floats, lo: float, hi: float) -> Scale:
    """Return an axis from lo to hi on which most values do not lie in a narrow part of it.

    Of values that are mostly the same, such as zero, the others count.
    """
    if len(values) == 0 or not lo < hi or not np.isfinite(hi - lo):
        return LINEAR
    distinct, counts = np.unique(values, return_counts=True)
    if 2 * counts.max() > len(values):
        values = values[values != distinct[counts.argmax()]]
    sizes = np.abs(values[values != 0.0])
    if len(sizes) < _LEAST_ROWS:
        return LINEAR
    linear = _share(LINEAR, values, lo, hi)
    if linear >= _ENOUGH:
        return LINEAR
    near = float(10.0 ** np.floor(np.log10(np.quantile(sizes, 0.25))))
    best = Scale("asinh", near)
    log = Scale("log")
    if lo > 0.0 and _share(log, values, lo, hi) >= _NEARLY * _share(best, values, lo, hi):
        best = log
    return best if _share(best, values, lo, hi) >= _GAIN * linear else LINEAR


def _share(scale: Scale, values: Floats, lo: float, hi: float) -> float:
    """Return the share of the axis that most rows take."""
    left, right, first, last = scale.forward(np.array([*np.quantile(values, _BULK), lo, hi]))
    return float((right - left) / (last - first)) if last > first else 0.0


def compact(x: float) -> str:
    """Return a number as it stands beside an axis: 25k, 1.5M, 0.02."""
    size = abs(x)
    for unit, letter in _UNITS:
        if size >= max(unit, _LEAST_LONG) and size < _LEAST_HUGE:
            return f"{x / unit:g}{letter}".replace("-", "\N{MINUS SIGN}")
    return f"{x:g}".replace("-", "\N{MINUS SIGN}")


def value_names(values: Sequence[float]) -> list[str]:
    """Return numbers that are values, not places on a scale, as text: 28,250 rather than 28.25k."""
    for digits in (4, 6, 9):
        names = [number(float(x), digits) for x in values]
        if len(set(names)) == len(names):
            break
    else:
        names = [f"{float(x):,}" for x in values]
    return [name.replace("-", "\N{MINUS SIGN}") for name in names]


def texts_of(marks: AnyArray) -> list[str]:
    """Return the texts of marks, with the digits that tell them apart."""
    return [_mark(x, list(marks)) for x in marks]


def height_marks(low: float, high: float, *, is_factor: bool) -> tuple[Floats, list[str]]:
    """Return where effects from low to high are marked, and the texts there.

    Effects that are added to a logarithm are marked as factors: x0.5, x1, x2.
    """
    from matplotlib.ticker import MaxNLocator

    if is_factor:
        places, texts = marks_of_exponentials(low, high)
        return places, ["\N{MULTIPLICATION SIGN}" + text for text in texts]
    places = np.asarray(MaxNLocator(_MARKS).tick_values(low, high))
    places = places[(places >= low) & (places <= high)]
    return places, texts_of(places)


def marks_of_exponentials(low: float, high: float) -> tuple[Floats, list[str]]:
    """Return where logarithms of round numbers lie between low and high, and these numbers."""
    low, high = np.clip([low, high], -LARGEST_LOGARITHM, LARGEST_LOGARITHM).tolist()
    places = np.array(factor_ticks(low, high, _MOST_ROUND))
    for digits in range(3, 16):
        texts = [compact(float(f"{x:.{digits}g}")) for x in np.exp(places)]
        if len(set(texts)) == len(texts):
            break
    return places, texts


def mark_numbers(axis: Axis, n_marks: int, *, whole: bool) -> None:
    """Let a linear axis have about this many marks, at whole numbers if all values are."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    steps = _SHORTEST if n_marks < _MARKS else None
    axis.set_major_locator(MaxNLocator(n_marks, integer=whole, steps=steps))
    axis.set_major_formatter(FuncFormatter(lambda x, _: _mark(x, list(axis.get_majorticklocs()))))


def n_marks_between(lo: float, hi: float) -> int:
    """Return how many marks an axis has room for: fewer where it takes long numbers."""
    step = float(f"{(hi - lo) / _MARKS:.0e}")
    digits = digits_apart(max(abs(lo), abs(hi)), step)
    return _MARKS if digits < _MOST_DIGITS else max(2, _LETTERS // digits)


def _mark(x: float, marks: list[float]) -> str:
    """Return the text of a mark, with the digits that tell it from the others."""
    largest = max((abs(mark) for mark in marks), default=0.0)
    step = (max(marks) - min(marks)) / (len(marks) - 1) if len(marks) > 1 else 0.0
    short = compact(float(f"{x:.{_MOST_DIGITS}g}"))
    digits = digits_apart(largest, step)
    if digits < _MOST_DIGITS - 1 or (largest >= _LEAST_HUGE and digits <= _MOST_DIGITS):
        return short
    places = max(0, decimals_of(step))
    long = f"{x:.{places}f}".replace("-", "\N{MINUS SIGN}")
    return long if digits > _MOST_DIGITS or largest < _LEAST_OF_UNIT else short
