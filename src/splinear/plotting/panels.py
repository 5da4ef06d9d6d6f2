"""From a model and data to the curve of one panel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from splinear._types import Floats
from splinear.curves.axes import steps
from splinear.curves.basis import BSplineBasis
from splinear.inspection.curves import check_n_points
from splinear.model.fitted import FittedTerm
from splinear.model.group import Extrapolation
from splinear.plotting.drawing import Curve, room

__all__ = ["MOST_LEVELS", "Evaluate", "cells", "make_panel"]

MOST_LEVELS = 12  # of a category that a panel has room for
_MOST_CELLS = 40  # of a histogram
_MOST_GRID_POINTS = 400  # beyond, it does not matter how many of them lie in a cell

Evaluate: TypeAlias = Callable[[npt.ArrayLike], Floats]


def make_panel(
    term: FittedTerm,
    output: int | slice,
    values: Floats,
    name: str,
    share: float,
    n_points: int,
    center: bool,
    half: Evaluate | None = None,
) -> Curve:
    """Compute what the panel of a term shows, given its column of X and half its band's width."""

    def curve(x: npt.ArrayLike) -> Floats:
        return np.asarray(term.evaluate(np.asarray(x, dtype=np.float64))[:, output])

    mean = curve(values).mean(axis=0) if center else 0.0
    if term.levels is not None:
        return _make_levels(term, curve, values, name, share, mean, half)
    there = values[~np.isnan(values)]
    even = steps(term.lo, term.hi, check_n_points(n_points))
    x = _places(term, even, there)
    f = curve(x)
    marks = _smooth_knots(term, curve, np.ptp(f))
    edges = cells(np.clip(there, x[0], x[-1]), x)
    counts, _ = np.histogram(np.clip(there, x[0], x[-1]), edges)
    found = Curve(
        name,
        x,
        f - mean,
        marks,
        curve(marks) - mean,
        edges,
        counts.astype(np.float64),
        share,
        lo=float(even[0]),
        hi=float(even[-1]),
        f_missing=curve([np.nan])[0] - mean if term.had_missing else None,
        n_missing=len(values) - len(there),
    )
    return found if half is None else _with_band(found, half)


def _with_band(curve: Curve, half: Evaluate) -> Curve:
    at_missing = None if curve.f_missing is None else half([np.nan])[0]
    return replace(curve, half=half(curve.x), half_missing=at_missing)


def _places(term: FittedTerm, even: Floats, values: Floats) -> Floats:
    """Return where a curve is drawn: equal steps, both sides of each knot, values beyond."""
    beside = 1e-9 * (even[-1] - even[0])
    after, before = term.knots[:-1] + beside, term.knots[1:] - beside  # so that jumps are upright
    goes_on = term.group.extrapolation is Extrapolation.LINEAR and len(values) > 0
    reach = values if goes_on else even
    ends = [min(even[0], reach.min()), max(even[-1], reach.max())]
    return np.unique(np.concatenate([even, after, before, ends]))


def _smooth_knots(term: FittedTerm, curve: Evaluate, height: float) -> Floats:
    """Return the knots at which a curve does not jump: a jump is its own mark."""
    places, basis = term.knots, term.group.embedding.basis
    if not len(places) or not isinstance(basis, BSplineBasis) or basis.degree == 0:
        return places[:0]
    beside = 1e-9 * (term.hi - term.lo)
    left, right = (np.clip(places + by, term.lo, term.hi) for by in (-beside, beside))
    jump = np.abs(curve(right) - curve(left)).reshape(len(places), -1)
    return np.asarray(places[jump.max(axis=1) <= 1e-6 * height])


def _make_levels(
    term: FittedTerm,
    curve: Evaluate,
    codes: Floats,
    name: str,
    share: float,
    mean: Floats | float,
    half: Evaluate | None,
) -> Curve:
    """Compute the panel of a categorical feature: its most frequent levels.

    They are in the order of their effects, with several lines those on the steepest one; of an
    ordered category, in its own order.
    """
    levels = term.levels or ()
    names = [*map(str, levels), *(["missing"] if term.had_missing else [])]
    all_levels = [*range(len(levels)), *([np.nan] if term.had_missing else [])]
    f = curve(all_levels)
    at = np.where(np.isnan(codes), len(levels), codes).astype(np.intp)
    counts = np.bincount(at[at >= 0], minlength=len(names)).astype(np.float64)[: len(names)]
    shown = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
    lines = f[shown].reshape(len(shown), -1)
    by_effect = lines[:, np.argmax(np.ptp(lines, axis=0))]
    is_ordered = not term.group.is_diagonal
    shown = np.sort(shown) if is_ordered else shown[np.argsort(by_effect, kind="stable")]
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
        levels=tuple(names[k] for k in shown),
        n_hidden=len(names) - len(shown),
        half=None if half is None else half(all_levels)[shown],
    )


def cells(values: Floats, x: Floats) -> Floats:
    """Return edges for a histogram of values within x: about 40 cells.

    Values on a grid, such as whole numbers, have cells of as many grid points each, so that no cell
    is high only because more of them happen to lie in it.
    """
    lo, hi = float(x[0]), float(x[-1])
    if not lo < hi:
        return np.array([lo, lo]) + room(lo) * np.array([-0.025, 0.025])
    even = steps(lo, hi, _MOST_CELLS + 1)
    distinct = np.unique(values)
    if not 2 <= len(distinct) <= _MOST_GRID_POINTS:
        return even
    between = np.diff(distinct)
    step = float(between.min())
    n_points = round((hi - lo) / step) + 1
    on_grid = np.abs(between / step - np.round(between / step)) < 1e-6
    if n_points > _MOST_GRID_POINTS or not on_grid.all():
        return even
    per_cell = -(-n_points // _MOST_CELLS)
    first = float(distinct[0]) - step * (np.floor((distinct[0] - lo) / step + 1e-9) + 0.5)
    n_cells = int(np.ceil((hi - first) / (step * per_cell) + 1e-9))
    return np.asarray(first + step * per_cell * np.arange(n_cells + 1))
