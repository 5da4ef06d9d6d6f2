"""From a model and data to the curve of one panel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from splinear._types import Floats
from splinear.inspection.curves import check_n_points, sides_of
from splinear.inspection.naming import Output
from splinear.inspection.ranking import levels_that_matter
from splinear.model.fitted import FittedTerm
from splinear.plotting.curve import Curve
from splinear.plotting.scales import LINEAR, Scale, choose_scale, value_names
from splinear.plotting.style import room
from splinear.terms.basis import BSplineBasis
from splinear.terms.group import Extrapolation

__all__ = ["MOST_LEVELS", "Evaluate", "cells", "make_panel"]

MOST_LEVELS = 12  # of a category that a panel has room for
MOST_CELLS = 40  # of a histogram
_MOST_BARS = 128  # of a histogram of values that have a bar each
_MOST_GRID_POINTS = 400  # beyond, it does not matter how many of them lie in a cell

Evaluate: TypeAlias = Callable[[npt.ArrayLike], Floats]


def make_panel(
    term: FittedTerm,
    output: Output,
    values: Floats,
    name: str,
    share: float,
    n_points: int,
    center: bool,
    half: Evaluate | None = None,
    is_boolean: bool = False,
) -> Curve:
    """Compute what the panel of a term shows, given its column of X and half its band's width."""

    def curve(x: npt.ArrayLike) -> Floats:
        return np.asarray(term.evaluate(np.asarray(x, dtype=np.float64))[:, output])

    check_n_points(n_points)
    mean = curve(values).mean(axis=0) if center else 0.0
    bars = _bars_of(term, values, is_boolean)
    if bars is not None:
        found = _make_levels(term, bars, curve, values, name, share, mean)
        return found if half is None else replace(found, half=half(bars.shown(found.levels)))
    found = _make_curve(term, curve, values, name, share, mean, n_points)
    if half is None:
        return found
    at_missing = None if found.f_missing is None else half([np.nan])[0]
    return replace(found, half=half(found.x), half_missing=at_missing)


def _make_curve(
    term: FittedTerm,
    curve: Evaluate,
    values: Floats,
    name: str,
    share: float,
    mean: Floats | float,
    n_points: int,
) -> Curve:
    """Compute the panel of a numeric feature."""
    there = values[~np.isnan(values)]
    lo, hi = _ends(term, there)
    inside = np.clip(there, lo, hi)
    scale = choose_scale(inside, lo, hi)
    x = _places(term, scale, lo, hi, n_points)
    f = curve(x)
    marks = _smooth_knots(term, curve, np.ptp(f))
    edges = cells(inside, x, scale)
    return Curve(
        name,
        x,
        f - mean,
        marks,
        curve(marks) - mean,
        edges,
        np.histogram(inside, edges)[0].astype(np.float64),
        share,
        lo=term.lo,
        hi=term.hi,
        f_missing=curve([np.nan])[0] - mean if term.had_missing else None,
        n_missing=len(values) - len(there),
        scale=scale,
        is_whole=bool(len(there)) and bool((there == np.round(there)).all()),
    )


def _ends(term: FittedTerm, values: Floats) -> tuple[float, float]:
    """Return both ends of what is drawn: the range of training, and values beyond it."""
    if term.group.extrapolation is not Extrapolation.LINEAR or not len(values):
        return term.lo, term.hi
    return min(term.lo, float(values.min())), max(term.hi, float(values.max()))


def _places(term: FittedTerm, scale: Scale, lo: float, hi: float, n_points: int) -> Floats:
    """Return where a curve is drawn: equal steps, both sides of each knot, and both ends."""
    even = scale.steps(term.lo, term.hi, n_points)
    sides = sides_of(term.knots)  # so that jumps are upright
    beyond = [scale.steps(*ends, n_points) for ends in ((lo, term.lo), (term.hi, hi))]
    more = [np.concatenate(beyond)] if lo < term.lo or hi > term.hi else []
    return np.unique(np.concatenate([even, *sides, [lo, hi], *more]))


def _smooth_knots(term: FittedTerm, curve: Evaluate, height: float) -> Floats:
    """Return the knots at which a curve does not jump: a jump is its own mark."""
    places, basis = term.knots, term.group.embedding.basis
    if not len(places) or not isinstance(basis, BSplineBasis) or basis.degree == 0:
        return places[:0]
    left, right = sides_of(places)
    jump = np.abs(curve(right) - curve(left)).reshape(len(places), -1)
    return np.asarray(places[jump.max(axis=1) <= 1e-6 * height])


@dataclass(frozen=True)
class _Bars:
    """The values of a feature that has a bar for each of them: their names, and as numbers."""

    names: list[str]
    numbers: list[float]
    in_order: bool

    def shown(self, names: Sequence[str]) -> list[float]:
        """Return the numbers of some values."""
        return [self.numbers[self.names.index(name)] for name in names]

    def count(self, values: Floats) -> Floats:
        """Return how many rows have each value; others are not counted."""
        numbers = np.array(self.numbers)
        known, there = numbers[~np.isnan(numbers)], values[~np.isnan(values)]
        at = np.minimum(np.searchsorted(known, there), len(known) - 1)
        counts = np.bincount(at[known[at] == there], minlength=len(known)).astype(np.float64)
        n_missing = float(len(values) - len(there))
        return np.append(counts, [n_missing] * (len(numbers) - len(known)))


def _bars_of(term: FittedTerm, values: Floats, is_boolean: bool) -> _Bars | None:
    """Return the values that have bars: levels, booleans, or both of a number that has two."""
    gap = ["missing"] if term.had_missing else []
    nothing = [np.nan] * len(gap)
    if term.levels is not None:
        levels = _distinct_names([*map(str, term.levels), *gap])
        numbers = [*map(float, range(len(term.levels))), *nothing]
        return _Bars(levels, numbers, not term.group.is_diagonal)
    ends = [term.lo, term.hi]
    if is_boolean and {*ends} <= {0.0, 1.0} and term.missing_share < 1.0:
        numbers = sorted({*ends})
        return _Bars([*(str(bool(x)) for x in numbers), *gap], [*numbers, *nothing], True)
    if not term.lo < term.hi or not np.isin(values[~np.isnan(values)], ends).all():
        return None
    return _Bars([*value_names(ends), *gap], [*ends, *nothing], True)


def _distinct_names(names: list[str]) -> list[str]:
    """Return names of levels, of which two may look the same, such as 1 and "1"."""
    first: dict[str, int] = {}
    return [n if first.setdefault(n, k) == k else f"{n} ({k})" for k, n in enumerate(names)]


def _make_levels(
    term: FittedTerm,
    bars: _Bars,
    curve: Evaluate,
    values: Floats,
    name: str,
    share: float,
    mean: Floats | float,
) -> Curve:
    """Compute the panel of a feature with bars: the values that matter most.

    They are in the order of their effects, with several lines those on the steepest one; of an
    ordered category, and of numbers, in their own order.
    """
    f, counts = curve(bars.numbers), bars.count(values)
    own_mean = np.average(f, axis=0, weights=counts) if counts.any() else f.mean(axis=0)
    shown = np.array(levels_that_matter(f - own_mean, counts, MOST_LEVELS))
    lines = f[shown].reshape(len(shown), -1)
    by_effect = lines[:, np.argmax(np.ptp(lines, axis=0))]
    shown = shown if bars.in_order else shown[np.argsort(by_effect, kind="stable")]
    x = np.arange(float(len(shown)))
    return Curve(
        name,
        x,
        f[shown] - mean,
        x[:0],
        f[:0],
        np.append(x - 0.5, x[-1] + 0.5),
        counts[shown],
        share,
        levels=tuple(bars.names[k] for k in shown),
        n_hidden=len(bars.names) - len(shown),
    )


def cells(values: Floats, x: Floats, scale: Scale = LINEAR) -> Floats:
    """Return edges for a histogram of values within x: 40 cells of equal width along the axis.

    Values on a grid, such as whole numbers, have a cell each, or if there are very many, cells of
    as many grid points each, so that none is high only because more happen to lie in it.
    """
    lo, hi = float(x[0]), float(x[-1])
    if not lo < hi:
        return np.array([lo, lo]) + room(lo) * np.array([-0.025, 0.025])
    even = scale.steps(lo, hi, MOST_CELLS + 1)
    if not scale.is_linear:
        return even
    distinct = np.unique(values)
    if not 2 <= len(distinct) <= _MOST_GRID_POINTS:
        return even
    between = np.diff(distinct)
    step = float(between.min())
    n_points = round((hi - lo) / step) + 1
    on_grid = np.abs(between / step - np.round(between / step)) < 1e-6
    if n_points > _MOST_GRID_POINTS or not on_grid.all():
        return even
    per_cell = -(-n_points // _MOST_BARS)
    first = float(distinct[0]) - step * (np.floor((distinct[0] - lo) / step + 1e-9) + 0.5)
    n_cells = int(np.ceil((hi - first) / (step * per_cell) + 1e-9))
    return np.asarray(first + step * per_cell * np.arange(n_cells + 1))
