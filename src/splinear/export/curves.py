"""Conversion of fitted curves to pieces."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import numpy as np
from scipy.special import comb

from splinear._types import Floats
from splinear.export.pieces import CurveTerm, WaveTerm
from splinear.model.fitted import FittedTerm
from splinear.model.scoring import group_scores
from splinear.terms.axes import Axes, steps
from splinear.terms.basis import BSplineBasis, FourierBasis, HermiteBasis, SampledBasis
from splinear.terms.group import TermGroup

__all__ = ["read_curve"]

# The B-splines bin, ..., bin + degree as polynomials of the position a within the bin.
LOCAL = {
    1: [[1, -1], [0, 1]],
    2: [[1 / 2, -1, 1 / 2], [1 / 2, 1, -1], [0, 0, 1 / 2]],
    3: [
        [1 / 6, -1 / 2, 1 / 2, -1 / 6],
        [2 / 3, 0, -1, 1 / 2],
        [1 / 6, 1 / 2, 1 / 2, -1 / 2],
        [0, 0, 0, 1 / 6],
    ],
}


def read_curve(term: FittedTerm, missing: Floats | None) -> CurveTerm | WaveTerm:
    """Return the pieces of a curve; `missing` is the contribution of a missing value."""
    basis, axes, table = term.group.embedding.basis, term.group.embedding.axes, term.table
    if not axes.varies[0]:
        at_end = (basis.evaluate(axes.first) @ table.T)[0]
        nothing = np.zeros((len(table), 0, 1))
        return _curve(term, missing, axes.lo, nothing, at_end)
    if isinstance(basis, FourierBasis):
        return _wave(term, missing, axes)
    if isinstance(basis, HermiteBasis):
        knots, coef = _polynomials(axes, basis, table)
    elif isinstance(basis, SampledBasis):
        knots, coef = _samples(axes, basis, table)
    elif basis.degree == 0:
        return _steps(term, missing, basis)
    else:
        knots, coef = _bins(axes, basis, table)
    at_end = (basis.evaluate(axes.last) @ table.T)[0]
    some = np.diff(knots) > 0  # bins narrower than the spacing of floats have no values
    return _curve(term, missing, np.unique(knots), coef[:, some], at_end)


def _curve(
    term: FittedTerm, missing: Floats | None, knots: Floats, coef: Floats, at_end: Floats
) -> CurveTerm:
    return CurveTerm(
        feature=term.features[0],
        name=term.name,
        kind=term.kind,
        knots=knots,
        coef=coef,
        at_end=at_end,
        outside=term.group.extrapolation.value,
        missing=missing,
        mean=term.mean,
    )


def _bins(axes: Axes, basis: BSplineBasis, table: Floats) -> tuple[Floats, Floats]:
    """Return the knots of B-splines of degree 1 to 3, and the polynomial of every bin."""
    windows = np.lib.stride_tricks.sliding_window_view(table, basis.degree + 1, axis=1)
    return axes.edges_of(0), windows[:, : int(axes.length[0])] @ np.array(
        LOCAL[basis.degree], dtype=np.float64
    )


def _polynomials(axes: Axes, basis: HermiteBasis, table: Floats) -> tuple[Floats, Floats]:
    """Return knots, and a sum of Hermite polynomials in powers of the position between them.

    The coefficients are those of Taylor's formula, with p! C(n, p) H_{n-p} as the p-th derivative
    of H_n. Pieces are so short that high powers do not cancel.
    """
    length, degree = float(axes.length[0]), basis.degree
    n_pieces = max(1, ceil((degree - 1) * length / 6))
    at = axes.first[0] + length / n_pieces * np.arange(n_pieces)
    H = np.polynomial.hermite_e.hermevander(at, degree)
    coef = np.zeros((len(table), n_pieces, degree + 1))
    for p in range(degree + 1):
        n = np.arange(max(1, p), degree + 1)
        terms = comb(n, p) * H[:, n - p]
        coef[:, :, p] = (length / n_pieces) ** p * (table[:, n - 1] @ terms.T)
    return steps(float(axes.lo[0]), float(axes.hi[0]), n_pieces + 1), coef


def _samples(axes: Axes, basis: SampledBasis, table: Floats) -> tuple[Floats, Floats]:
    """Return the knots and linear pieces of functions that are given by samples."""
    first, last = float(axes.first[0]), float(axes.last[0])
    nodes = np.linspace(-1.0, 1.0, basis.n_cells + 1)
    inside = np.concatenate([[first], nodes[(nodes > first) & (nodes < last)], [last]])
    values = (basis.evaluate(inside) @ table.T).T
    share = (inside - first) / (last - first)
    knots = float(axes.lo[0]) * (1.0 - share) + float(axes.hi[0]) * share
    return knots, np.stack([values[:, :-1], np.diff(values, axis=1)], axis=-1)


def _wave(term: FittedTerm, missing: Floats | None, axes: Axes) -> WaveTerm:
    periods = term.group.periods
    return WaveTerm(
        feature=term.features[0],
        name=term.name,
        kind=term.kind,
        lo=float(axes.lo[0]),
        hi=float(axes.hi[0]),
        first=float(axes.first[0]),
        last=float(axes.last[0]),
        period=None if periods is None else float(periods[0]),
        cosines=term.table[:, 0::2],
        sines=term.table[:, 1::2],
        missing=missing,
        mean=term.mean,
    )


def _steps(term: FittedTerm, missing: Floats | None, basis: BSplineBasis) -> CurveTerm:
    """Return a curve of degree 0, with its jumps at the first float of each bin.

    These floats are found by a search with the core, which decides to the last bit, and not
    computed.
    """
    axes = term.group.embedding.axes
    lo, hi = axes.lo, axes.hi
    n = int(_bins_of(term.group, basis, hi)[0])  # number of bins, plus one if the end has its own
    below, at = np.repeat(lo, n), np.repeat(hi, n)
    wanted = np.arange(1, n + 1)
    while True:
        middle = np.clip(0.5 * below + 0.5 * at, below, at)
        open_ = (middle > below) & (middle < at)
        if not open_.any():
            break
        behind = _bins_of(term.group, basis, middle) >= wanted
        at = np.where(open_ & behind, middle, at)
        below = np.where(open_ & ~behind, middle, below)
    knots = np.append(lo, at)
    last = np.append(knots[1:] > knots[:-1], True)  # the last of bins that begin at the same value
    coef, at_end = term.table[:, : n + 1][:, last], term.table[:, n]
    if knots[-1] < hi[0]:
        return _curve(term, missing, np.append(knots[last], hi), coef[..., None], at_end)
    return _curve(term, missing, knots[last], coef[:, :-1, None], at_end)


def _bins_of(group: TermGroup, basis: BSplineBasis, x: Floats) -> Floats:
    """Return the bins of values, by evaluating a curve whose coefficients are the indices."""
    numbers = np.zeros((1, 1, group.stride))
    numbers[0, 0, : basis.size] = np.arange(basis.size)
    alone = replace(group, features=np.zeros(1, dtype=np.intp))
    return group_scores(alone, numbers, x[:, None].copy(), 1)[:, 0]
