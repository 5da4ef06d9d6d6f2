"""Pooling of rare levels, which a report does not name.

A level with few rows could identify people. Such levels are shown as one, "12 rare levels", with
their mean effect. If a feature has very many levels, all but the most frequent are pooled as well,
because nobody reads a page of 10,000 names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from splinear._types import Floats
from splinear.export.pieces import (
    CategoryTerm,
    Feature,
    ModelPieces,
    SurfaceAxis,
    SurfaceTerm,
    TermPieces,
)

__all__ = ["LEAST_ROWS", "Pool", "RareLevels", "pool_rare", "pools_of"]

LEAST_ROWS = 10  # training rows of a level that is named
MOST_NAMED = 200  # levels named per feature


@dataclass(frozen=True)
class RareLevels:
    """A number of pooled levels; `most` is the largest number of rows of one of them."""

    n: int
    most: int

    def __str__(self) -> str:
        kind = "rare" if self.most < LEAST_ROWS else "less frequent"
        return f"1 {kind} level" if self.n == 1 else f"{self.n:,} {kind} levels"


@dataclass(frozen=True, eq=False)
class Pool:
    """The pooling of the levels of a feature.

    Attributes
    ----------
    named, rare : ndarray of int
        Ascending indices of the levels that are named, and of those that are pooled.
    counts : ndarray of shape (n_levels,)
        Training rows per level.
    """

    named: NDArray[np.intp]
    rare: NDArray[np.intp]
    counts: Floats

    @classmethod
    def of(cls, counts: tuple[int, ...]) -> Pool:
        """Return the pooling of levels with these numbers of rows."""
        rows = np.array(counts, dtype=np.float64)
        is_named = np.zeros(len(rows), dtype=bool)
        is_named[np.argsort(-rows, kind="stable")[:MOST_NAMED]] = True
        is_named &= rows >= LEAST_ROWS
        return cls(np.flatnonzero(is_named), np.flatnonzero(~is_named), rows)

    def levels(self, levels: tuple[object, ...]) -> tuple[object, ...]:
        """Return the named levels, followed by the pooled ones as one."""
        named = tuple(levels[k] for k in self.named)
        if not len(self.rare):
            return named
        return (*named, RareLevels(len(self.rare), int(self.counts[self.rare].max())))

    def values(self, values: Floats) -> Floats:
        """Return values of all levels (..., n_levels) as those of the shown levels.

        The value of the pooled levels is the mean over their rows.
        """
        if not len(self.rare):
            return values[..., self.named]
        pooled = np.average(values[..., self.rare], axis=-1, weights=self.counts[self.rare])
        return np.concatenate([values[..., self.named], pooled[..., None]], axis=-1)

    def sums(self, values: Floats) -> Floats:
        """Return counts of all levels (n_levels,) as those of the shown levels."""
        rest = [values[self.rare].sum()] if len(self.rare) else []
        return np.append(values[self.named], rest)


def pools_of(counts: Mapping[int, tuple[int, ...]]) -> dict[int, Pool]:
    """Return the pooling of each categorical column."""
    return {j: Pool.of(own) for j, own in counts.items()}


def pool_rare(pieces: ModelPieces, pools: Mapping[int, Pool]) -> ModelPieces:
    """Return the model with pooled levels replaced by their mean."""
    return replace(
        pieces,
        features=tuple(_feature(own, pools.get(j)) for j, own in enumerate(pieces.features)),
        terms=tuple(_term(term, pools) for term in pieces.terms),
    )


def _feature(feature: Feature, pool: Pool | None) -> Feature:
    if pool is None or feature.levels is None:
        return feature
    return replace(feature, levels=pool.levels(feature.levels))


def _term(term: TermPieces, pools: Mapping[int, Pool]) -> TermPieces:
    if isinstance(term, CategoryTerm):
        pool = pools[term.feature]
        return replace(term, levels=pool.levels(term.levels), values=pool.values(term.values))
    return _surface(term, pools) if isinstance(term, SurfaceTerm) else term


def _surface(term: SurfaceTerm, pools: Mapping[int, Pool]) -> SurfaceTerm:
    values, (first, second) = term.values, term.axes
    first, turned = _axis(first, np.swapaxes(values, 1, 2), pools.get(first.feature))
    second, values = _axis(second, np.swapaxes(turned, 1, 2), pools.get(second.feature))
    return replace(term, axes=(first, second), values=values)


def _axis(axis: SurfaceAxis, values: Floats, pool: Pool | None) -> tuple[SurfaceAxis, Floats]:
    """Return an axis with one node per shown level, and the values along it (last axis)."""
    if pool is None or axis.levels is None or axis.nodes is None:
        return axis, values
    levels = pool.levels(axis.levels)
    shown = pool.values(values[..., axis.nodes])
    missing = None
    if axis.missing is not None:
        missing = len(levels)
        shown = np.concatenate([shown, values[..., [axis.missing]]], axis=-1)
    return replace(axis, levels=levels, nodes=np.arange(len(levels)), missing=missing), shown
