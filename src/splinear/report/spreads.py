"""Distributions of features: of the test rows, or else as stored with the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from splinear._types import Floats
from splinear.inspection.adding import InMemory, column_of
from splinear.model.fitted import FittedTerm
from splinear.report.pooling import Pool
from splinear.terms.basis import BSplineBasis

__all__ = ["LevelCounts", "Spread", "count_levels", "spread_of"]

MOST_VALUES = 40  # of a feature of integers that is drawn value by value
_WITHIN = 8  # points over which the mass of a knot is spread


@dataclass(frozen=True, eq=False)
class Spread:
    """The distribution of a numeric feature, as weighted points.

    Attributes
    ----------
    places, weights : ndarray of shape (n,)
        Ascending points; weights sum to 1 unless there are no points.
    missing : float
        The share of rows in which the feature is missing.
    """

    places: Floats
    weights: Floats
    missing: float

    def quantile(self, share: float, otherwise: float) -> float:
        """Return the quantile of a share; `otherwise` if there are no points."""
        if not len(self.places):
            return otherwise
        at = int(np.searchsorted(np.cumsum(self.weights), share * (1.0 - 1e-12)))
        return float(self.places[min(at, len(self.places) - 1)])

    @property
    def few_values(self) -> Floats | None:
        """The values, if they are few integers; None otherwise."""
        values = np.unique(self.places)
        whole = len(values) > 0 and bool((values == np.round(values)).all())
        return values if whole and len(values) <= MOST_VALUES else None


@dataclass(frozen=True, eq=False)
class LevelCounts:
    """The share of rows of each shown level, (n_shown,), and of missing values."""

    shares: Floats
    missing: float


def spread_of(term: FittedTerm, table: InMemory | None) -> Spread:
    """Return the distribution of a curve's feature within the training range."""
    if table is None:
        return _of_training(term)
    column = column_of(table, term.features[0]).astype(np.float64)
    there = np.sort(np.clip(column[~np.isnan(column)], term.lo, term.hi))
    weights = np.full(len(there), 1.0 / max(1, len(there)))
    return Spread(there, weights, float(np.isnan(column).mean()))


def _of_training(term: FittedTerm) -> Spread:
    """Return the distribution in training, from the means of the basis functions."""
    group, knots, gaps = term.group, term.knots, term.missing_share
    if not len(knots) and term.lo == term.hi:
        return Spread(np.array([term.lo]), np.ones(1), gaps)
    basis, nothing = group.embedding.basis, np.zeros(0)
    if not isinstance(basis, BSplineBasis) or basis.degree > 1 or group.embedding.through_zero:
        return Spread(nothing, nothing, gaps)
    masses = group.mean[0]
    if basis.degree == 1:
        places = knots
    else:
        places = (knots[1:] + knots[:-1]) / 2
        masses = np.append(masses[: len(places) - 1], masses[len(places) - 1 :].sum())
    if len(masses) < len(places) or not masses.sum() > 0:
        return Spread(nothing, nothing, gaps)
    masses = np.maximum(masses[: len(places)], 0.0) / masses[: len(places)].sum()
    if basis.degree == 1 and Spread(places, masses, gaps).few_values is not None:
        return Spread(places[masses > 0], masses[masses > 0], gaps)
    return _smeared(places, masses, term.lo, term.hi, gaps)


def _smeared(places: Floats, masses: Floats, lo: float, hi: float, gaps: float) -> Spread:
    """Spread the mass of each point evenly to the midpoints to its neighbors."""
    edges = np.concatenate([[lo], (places[1:] + places[:-1]) / 2, [hi]])
    within = (np.arange(_WITHIN) + 0.5) / _WITHIN
    spread = edges[:-1, None] + np.diff(edges)[:, None] * within
    return Spread(spread.ravel(), np.repeat(masses / _WITHIN, _WITHIN), gaps)


def count_levels(term: FittedTerm, pool: Pool, table: InMemory | None) -> LevelCounts:
    """Return the shares of rows of the levels of a category."""
    if table is None:
        missing, counts = term.missing_share, pool.counts
        return LevelCounts(
            (1.0 - missing) * pool.sums(counts) / max(float(counts.sum()), 1.0), missing
        )
    codes = column_of(table, term.features[0])
    known = codes[codes >= 0].astype(np.intp)  # neither missing nor unseen
    counts = np.bincount(known, minlength=len(pool.counts)).astype(np.float64)
    return LevelCounts(pool.sums(counts) / max(1, len(codes)), float(np.isnan(codes).mean()))
