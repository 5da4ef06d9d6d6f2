"""Where the pieces of a curve meet, chosen from the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from splinear._types import AnyArray, Floats

__all__ = ["place_knots"]

_ENOUGH = 50_000  # rows from which quantiles are taken


def place_knots(X: AnyArray, rows: Any, lo: Floats, hi: Floats, n_bins: int) -> Floats:
    """Place at most n_bins + 1 knots a feature, shape (n_features, n_bins + 1), NaN after the last.

    A feature of few distinct values has a knot at each of them. Otherwise every second knot is a
    quantile of the rows, so that knots are where the data are, and the others are quantiles of the
    distinct values, so that a feature that is mostly zero, or has a long tail, has knots elsewhere
    too. X (n, n_features) is looked at in `rows`, in 50,000 of them at most.
    """
    chosen = np.arange(len(X))[rows]
    if len(chosen) > _ENOUGH:
        chosen = np.sort(np.random.default_rng(0).choice(chosen, _ENOUGH, replace=False))
    out = np.full((X.shape[1], n_bins + 1), np.nan)
    for j in range(X.shape[1]):
        knots = _knots_of(X[chosen, j].astype(np.float64), lo[j], hi[j], n_bins)
        out[j, : len(knots)] = knots
    return out


def _knots_of(values: Floats, lo: float, hi: float, n_bins: int) -> Floats:
    values = np.sort(values)
    distinct = values[np.append(True, values[1:] > values[:-1])]
    ends = np.array([lo, hi])  # of all rows, not only of those looked at
    distinct = np.unique(np.concatenate([ends, distinct]))
    if len(distinct) <= n_bins + 1:
        return distinct
    inner = n_bins - 1
    of_rows = _quantiles(values, inner // 2)
    of_values = _quantiles(distinct, inner - inner // 2)
    return np.unique(np.concatenate([ends, of_rows, of_values]))


def _quantiles(ascending: Floats, n: int) -> Floats:
    """Pick n values of the array, at equal distances between its ends."""
    places = np.arange(1, n + 1) * (len(ascending) - 1) / (n + 1)
    return ascending[np.round(places).astype(np.intp)]
