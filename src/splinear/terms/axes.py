"""The map from the values of a feature to the argument of its basis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from splinear import _core
from splinear._types import AnyArray, Floats
from splinear.tables.chunks import as_dense
from splinear.tables.table import Table
from splinear.terms.basis import Basis, BSplineBasis

__all__ = ["Axes", "standardized", "steps"]


@dataclass(frozen=True, eq=False)
class Axes:
    """One axis per feature: its training range, and its knots if it is warped.

    A value is clamped to [lo, hi] and mapped linearly onto the basis's domain. With knots
    (n_features, n_knots), ascending from lo to hi, the map is linear between knots and maps them to
    equally spaced points. A feature with fewer knots than others has NaN after its last; it then
    uses only the first bins of a B-spline basis, one between two knots. A feature with NaN only is
    not warped.

    `first` and `last` are the ends of the domain. They may differ from the basis's own: Hermite
    polynomials of a standardized feature run from (lo - mean) / std to (hi - mean) / std.
    """

    lo: Floats
    hi: Floats
    first: Floats
    last: Floats
    knots: Floats | None = None

    @classmethod
    def spanning(
        cls,
        lo: Floats,
        hi: Floats,
        basis: Basis,
        knots: Floats | None = None,
        n_bins: AnyArray | None = None,
    ) -> Axes:
        """Return axes that map [lo, hi] onto the basis's own domain.

        With a B-spline basis, a feature has one bin between two knots; without knots it has
        n_bins[j] of them, or all if `n_bins` is None.
        """
        first, last = (np.full(len(lo), end) for end in basis.domain)
        if isinstance(basis, BSplineBasis):
            last = last if n_bins is None else n_bins.astype(np.float64)
            if knots is not None:
                n_knots = np.count_nonzero(~np.isnan(knots), axis=1)
                last = np.where(n_knots > 0, np.maximum(1.0, n_knots - 1.0), last)
        return cls(lo, hi, first, last, knots)

    def of_features(self, at: AnyArray) -> Axes:
        """Return the axes of the features at these positions."""
        knots = None if self.knots is None else self.knots[at]
        return Axes(self.lo[at], self.hi[at], self.first[at], self.last[at], knots)

    @property
    def length(self) -> Floats:
        """The length of each feature's domain: its number of bins, for B-splines."""
        return self.last - self.first

    def knots_of(self, j: int) -> Floats | None:
        """Return the knots of feature j; None if its map is linear."""
        if self.knots is None:
            return None
        knots: Floats = self.knots[j][~np.isnan(self.knots[j])]
        return knots if len(knots) else None

    def edges_of(self, j: int) -> Floats:
        """Return the edges of the bins of feature j, both ends included, for B-splines."""
        placed = self.knots_of(j)
        if placed is not None:
            return placed
        return steps(float(self.lo[j]), float(self.hi[j]), int(self.length[j]) + 1)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.lo)

    @property
    def varies(self) -> AnyArray:
        """Whether each feature is not constant."""
        return self.lo < self.hi

    @property
    def width(self) -> Floats:
        """The width hi - lo, clipped to be finite."""
        with np.errstate(over="ignore"):
            return np.minimum(self.hi - self.lo, np.finfo(np.float64).max)

    def argument(self, X: AnyArray) -> Floats:
        """Return the basis's arguments for values X (n, n_features), in the same shape."""
        columns = [self.argument_of(X[:, j], j) for j in range(self.n_features)]
        return np.stack(columns, axis=1)

    def argument_of(self, values: AnyArray, j: int) -> Floats:
        """Return the basis's arguments for values of feature j, in the same shape."""
        x = values.astype(np.float64)
        lo, hi, first, last = self.lo[j], self.hi[j], self.first[j], self.last[j]
        if not lo < hi:
            return np.full(x.shape, first)
        knots = self.knots_of(j)
        if knots is not None:
            warped: Floats = first + (last - first) * _warp(np.clip(x, lo, hi), knots)
            return warped
        # Scaling by a power of two is exact, and keeps 1e300 and 1e-300 in range.
        _, exponent = np.frexp(self.width[j])
        x, lo, hi = (np.ldexp(np.clip(v, lo, hi), -exponent) for v in (x, lo, hi))
        straight: Floats = np.clip(first + (x - lo) * ((last - first) / (hi - lo)), first, last)
        return straight

    def beyond(self, values: AnyArray, j: int) -> Floats:
        """Return the signed distances of values of feature j from [lo, hi]; 0 inside.

        They are in units of the basis's argument, with the map continued linearly beyond its ends,
        and have the shape of `values`.
        """
        x = values.astype(np.float64)
        if not self.lo[j] < self.hi[j]:
            return np.zeros(x.shape)
        knots = self.knots_of(j)
        if knots is None:
            knots = np.array([self.lo[j], self.hi[j]])
        per_cell = self.length[j] / (len(knots) - 1)
        most = np.finfo(np.float64).max  # keeps distances finite
        with np.errstate(over="ignore"):
            below = np.minimum(x - knots[0], 0.0) / min(knots[1] - knots[0], most)
            above = np.maximum(x - knots[-1], 0.0) / min(knots[-1] - knots[-2], most)
            steps: Floats = np.clip(per_cell * (below + above), -most, most)
        return steps

    def core(self) -> _core.Axes:
        """Return the compiled twin."""
        knots = np.empty((0, 0)) if self.knots is None else self.knots
        return _core.Axes(self.lo, self.hi, self.first, self.last, np.ascontiguousarray(knots))


def _warp(x: Floats, knots: Floats) -> Floats:
    """Return the position of every x in [0, 1], where the knots are equally spaced.

    At a repeated knot it is the position of the last of the equal knots.
    """
    n_cells = len(knots) - 1
    cell = np.minimum(np.searchsorted(knots, x, side="right") - 1, n_cells - 1)
    left, right = knots[cell], knots[cell + 1]
    with np.errstate(over="ignore"):  # halved only if needed, because tiny halves are rounded
        shrink = np.where(np.isinf(right - left), 0.5, 1.0)
    left, right = shrink * left, shrink * right
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        inside = np.where(x < knots[-1], (shrink * x - left) / (right - left), 1.0)
    return np.where(x < knots[-1], cell + inside, n_cells) / n_cells


def standardized(
    X: Table,
    features: AnyArray,
    kept: AnyArray | None,
    axes: Axes,
    weights: Floats | None = None,
) -> Axes:
    """Return axes whose arguments are standardized values: (x - mean) / std.

    `features` are the columns of the dense X that the axes belong to; `kept` marks the rows with a
    positive weight; `weights` may be None if all are 1. Missing values are ignored.
    """
    # Computed on [first, last], where squares neither overflow nor underflow.
    straight = replace(axes, knots=None)

    def mean_of(function: Callable[[Floats], Floats]) -> Floats:
        total, n = np.zeros(axes.n_features), np.zeros(axes.n_features)
        for rows, piece in X.chunks(features):
            whole = as_dense(piece)
            counted = whole if kept is None else whole[kept[rows]]
            w = (~np.isnan(counted)).astype(np.float64)
            if weights is not None:
                w *= (weights[rows] if kept is None else weights[rows][kept[rows]])[:, None]
            # Contiguous columns are summed pairwise, which is most accurate.
            values = np.where(w > 0, w * function(straight.argument(counted)), 0.0)
            total += values.T.copy().sum(axis=1)
            n += w.sum(axis=0)
        return total / np.where(n > 0, n, 1.0)

    mean = mean_of(lambda place: place)
    std = np.sqrt(mean_of(lambda place: (place - mean) ** 2))
    first, last, j = axes.first.copy(), axes.last.copy(), axes.varies
    first[j], last[j] = (first[j] - mean[j]) / std[j], (last[j] - mean[j]) / std[j]
    return replace(axes, first=first, last=last)


def steps(lo: float, hi: float, n: int) -> Floats:
    """Return n equally spaced numbers from lo to hi, without overflow of hi - lo."""
    share = np.linspace(0.0, 1.0, n)
    return np.clip(lo * (1.0 - share) + hi * share, lo, hi)
