"""Independent units: rows that stand for several rows, and groups of rows that belong together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from splinear._types import AnyArray, Floats
from splinear.model.scatter import N_SUMS

__all__ = ["EVERY_ROW", "Units", "scatter_sums", "typical_weight"]

TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class Units:
    """Which rows are independent of each other.

    Attributes
    ----------
    counts : ndarray of shape (n_rows,) or None
        How many identical observations each row stands for; None if one each. The weight of a row
        is that of all of them.
    groups : ndarray of shape (n_rows,) or None
        The index of each row's group; rows of a group are one unit. None if every row is one.
    """

    counts: Floats | None = None
    groups: NDArray[np.intp] | None = None

    def n_rows(self, n: int) -> float:
        """Return the number of observations that `n` rows stand for."""
        return float(n) if self.counts is None else float(self.counts.sum())


EVERY_ROW = Units()


def scatter_sums(units: Units, cost: Floats, G: Floats, H: Floats) -> Floats:
    """Return the sums of Scatter (N_SUMS,) for slopes G and curvatures H (n_outputs, n_rows).

    Both include the weights `cost` (n_rows,). The arrays may be on a device.
    """
    n_outputs, n = G.shape
    n_rows = n_units = units.n_rows(n)
    counts = None if units.counts is None else np.maximum(units.counts, 1.0)  # 0 outside a fold
    per_row = G * G if counts is None else G * G / counts
    squares = of_rows = float(per_row.sum())
    expected = cost * H if counts is None else cost * H / counts
    if units.groups is not None:
        n_units = float(len(np.unique(units.groups)))
        squares = sum(_of_groups(own, units.groups) for own in np.asarray(G))
    plain = G * (G / np.where(cost > 0.0, cost, 1.0))
    out = np.empty(N_SUMS)
    out[:3] = squares, of_rows, float(expected.sum())
    out[3:5] = float(plain.sum()), float(H.sum())
    out[5:] = n_outputs * n_units, n_outputs * n_rows
    return out


def _of_groups(slopes: Floats, groups: AnyArray) -> float:
    """Return the sum of the squares of every group's slopes."""
    return float((np.bincount(groups, slopes) ** 2).sum())


def typical_weight(units: Units, cost: Floats) -> float:
    """Return the weight of a typical observation, sum c^2 / sum c; the factor of all, if equal."""
    total = float(cost.sum())
    if not total > 0.0:
        return 1.0
    largest = float(cost.max())  # squares of tiny weights would underflow
    share = cost / largest
    if units.counts is not None:
        share = share / np.maximum(units.counts, 1.0)
    return max(largest * float((share * cost).sum()) / total, TINY)
