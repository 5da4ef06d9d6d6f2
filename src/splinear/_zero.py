"""Axes of curves that are zero at zero, so that zeros of a sparse table need not be looked at.

The functions of a basis that are not zero at zero get no coefficient (see the penalties). The
others are all that B-splines need if the axis starts at zero: of degree 1, hats from the second
knot on; of degree 0, bins behind one that holds nothing but zero. Of Fourier and Hermite only the
odd functions are left, and the axis has its own zero at zero.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from splinear._knots import KnotPlan, quantile_knots
from splinear._sparse import nonzeros_by_column
from splinear._types import Floats, Table
from splinear.axes import Axes
from splinear.basis import Basis, BSplineBasis, FourierBasis

__all__ = ["axes_from_zero"]

TINY = float(np.nextafter(0.0, 1.0))

Label = Callable[[int], str]  # how the user knows a column


def axes_from_zero(
    X: Table, lo: Floats, hi: Floats, basis: Basis, plan: KnotPlan, label: Label
) -> Axes:
    """Place the axes of X (n, n_features), dense or sparse, with ranges lo to hi."""
    if isinstance(basis, BSplineBasis):
        return _spline_axes(X, lo, hi, basis, plan, label)
    for j, rule in enumerate(plan.rules):
        if not (isinstance(rule, str) and rule == "uniform"):
            raise ValueError(
                f"knots of {label(j)}: curves that are zero at zero, as sparse X needs them, take "
                "knots with basis='bspline' only; use knots='uniform'."
            )
    varies = lo < hi
    lo, hi = np.where(varies, np.minimum(lo, 0.0), lo), np.where(varies, np.maximum(hi, 0.0), hi)
    largest = np.where(varies, np.maximum(-lo, hi), 1.0)
    # sin(n pi x) vanishes at 1 too; up to 1/2 the first of them grows.
    end = 0.5 if isinstance(basis, FourierBasis) else 1.0
    return Axes(lo, hi, end * lo / largest, end * hi / largest)


def _spline_axes(
    X: Table, lo: Floats, hi: Floats, basis: BSplineBasis, plan: KnotPlan, label: Label
) -> Axes:
    _refuse_negative(lo, label)
    starts, values = nonzeros_by_column(X)
    knots = _knots(starts, values, lo, hi, plan, label)
    n_bins = plan.n_bins.copy()
    if basis.degree <= 1:
        n_bins[_only_one_value(starts, values)] = 1  # the same curve, and the shortest table
    if basis.degree == 0:
        knots, n_bins = _with_bin_for_zero(knots, hi, n_bins), n_bins + 1
    ends = plan.ranges(np.where(lo < hi, 0.0, lo), hi)
    return Axes.spanning(*ends, basis, knots, n_bins)


def _refuse_negative(lo: Floats, label: Label) -> None:
    if np.any(lo < 0):
        j = int(np.argmax(lo < 0))
        raise ValueError(
            f"Input X contains {lo[j]:g} in {label(j)}; B-splines that are zero at zero, as sparse "
            "X needs them, are for numbers from 0 on. Use basis='hermite' or 'fourier', whose odd "
            "functions take both signs; or give the positive and the negative part of the column "
            "as two columns; or X.toarray()."
        )


def _only_one_value(starts: NDArray[np.int64], values: Floats) -> NDArray[np.bool_]:
    """Find the columns whose non-zero values are all the same."""
    some = np.diff(starts) > 0
    first = values[np.minimum(starts[:-1], max(len(values) - 1, 0))] if len(values) else starts[:-1]
    last = values[starts[1:] - 1] if len(values) else starts[:-1]
    return np.asarray(some & (first == last))


def _knots(
    starts: NDArray[np.int64],
    values: Floats,
    lo: Floats,
    hi: Floats,
    plan: KnotPlan,
    label: Label,
) -> Floats | None:
    """Give the knots of every column, zero first and NaN after the last; None if all are uniform.

    Quantiles are those of the values that are not zero.
    """
    warped = [j for j, rule in enumerate(plan.rules) if not _is_uniform(rule)]
    if not warped:
        return None
    single = _only_one_value(starts, values)
    out = np.full((len(lo), int(plan.n_bins[warped].max()) + 1), np.nan)
    for j in warped:
        rule = plan.rules[j]
        if not isinstance(rule, str):
            if rule[0] != 0:
                raise ValueError(
                    f"knots of {label(j)}: the first is {rule[0]:g}; curves that are zero at zero, "
                    "as sparse X needs them, have their first knot at 0."
                )
            out[j, : len(rule)] = rule
        elif lo[j] < hi[j] and single[j]:
            out[j, :2] = 0.0, hi[j]
        elif lo[j] < hi[j]:
            here = values[starts[j] : starts[j + 1]]
            placed = quantile_knots(here, 0.0, float(hi[j]), int(plan.n_bins[j]))
            out[j, : len(placed)] = placed
    return out


def _is_uniform(rule: str | Floats) -> bool:
    return isinstance(rule, str) and rule == "uniform"


def _with_bin_for_zero(knots: Floats | None, hi: Floats, n_bins: NDArray[np.intp]) -> Floats:
    """Put a knot next to zero, so that a bin of degree 0 holds nothing else."""
    size = int(n_bins.max()) + 1
    out = np.full((len(hi), size + 1), np.nan)
    for j, end in enumerate(hi):
        own = np.full(size, np.nan) if knots is None else knots[j]
        own = own[~np.isnan(own)]
        if not len(own):
            own = np.linspace(0.0, end, int(n_bins[j]) + 1)
        out[j, : len(own) + 1] = [own[0], TINY, *own[1:]]
    return out
