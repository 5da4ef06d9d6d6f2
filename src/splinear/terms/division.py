"""The division of features' ranges into the pieces of curves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from splinear._types import AnyArray, Floats
from splinear.curves.knots import Sample
from splinear.model.grouping import size_class

__all__ = ["Division"]


@dataclass(eq=False)
class Division:
    """The ranges, numbers of bins and knots of some features.

    Knots are None for pieces of equal width. `by_value` marks the features with a knot at every
    value in the sample. `n_wanted` is the number of bins asked for.
    """

    lo: Floats
    hi: Floats
    n_bins: NDArray[np.intp]
    knots: list[Floats | None]
    by_value: NDArray[np.bool_]
    n_wanted: int

    def set_knots(self, k: int, knots: Floats, seen: Sample | None = None) -> None:
        """Set the knots of a feature and, unless it is constant between them, its range."""
        lo, hi = np.clip([self.lo[k], self.hi[k]], knots[0], knots[-1])
        if not lo < hi:
            self.lo[k], self.hi[k] = lo, hi
            return
        self.lo[k], self.hi[k] = knots[0], knots[-1]
        self.n_bins[k] = len(knots) - 1
        self.by_value[k] = (
            seen is not None
            and len(seen.distinct) <= len(knots)
            and bool(np.isin(seen.distinct, knots).all())
        )
        self.knots[k] = knots if len(knots) > 2 else None

    def set_many(self, at: NDArray[np.intp], knots: Floats) -> None:
        """Set the knots and ranges of some features, one row each, with NaN after the last.

        `by_value` stays False for them.
        """
        n_knots = np.count_nonzero(~np.isnan(knots), axis=1)
        self.lo[at], self.hi[at] = knots[:, 0], knots[np.arange(len(at)), n_knots - 1]
        self.n_bins[at] = n_knots - 1
        for k, n, row in zip(at.tolist(), n_knots.tolist(), knots, strict=True):
            self.knots[k] = row[:n] if n > 2 else None

    def size_class(self, degree: int) -> AnyArray:
        """Return the size class of each feature's table; the wanted size is a class of its own."""
        classes = size_class(self.n_bins + degree)
        return np.where(self.n_bins == self.n_wanted, -1, classes)

    def knot_table(self, at: NDArray[np.intp]) -> Floats | None:
        """Return the knots of some features, one row each, with NaN after the last.

        The result is None if all pieces have equal width.
        """
        placed = [self.knots[k] for k in at]
        if all(knots is None for knots in placed):
            return None
        out = np.full((len(at), int(self.n_bins[at].max()) + 1), np.nan)
        for row, knots in zip(out, placed, strict=True):
            if knots is not None:
                row[: len(knots)] = knots
        return out
