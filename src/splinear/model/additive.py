"""The fitted model: terms and intercepts, and the scores of rows. No training here."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, fields
from typing import TypeVar, cast

import numpy as np

from splinear._caching import cached_property
from splinear._types import AnyArray, Floats
from splinear.model.layout import Layout
from splinear.model.scoring import Scorer, scorers_of
from splinear.tables.chunks import as_dense
from splinear.tables.table import Table
from splinear.terms.group import TermGroup
from splinear.terms.pair_group import Chain, PairGroup, chains_of, surfaces

__all__ = ["Model"]

MOST_KEPT = 2**23  # parameters up to which the scorers of a model are kept between predictions

Prepared = TypeVar("Prepared")


@dataclass(frozen=True, eq=False)
class Model:
    """f(x) = b + sum_k f_k(x), for each output.

    Attributes
    ----------
    layout : Layout
    parameters : ndarray of shape (n_outputs, n_parameters)
    intercept : ndarray of shape (n_outputs,)
    layouts : tuple of Layout
        The layout with the variances of each problem if there are several, as labels are, and they
        differ; otherwise empty.
    """

    layout: Layout
    parameters: Floats
    intercept: Floats
    layouts: tuple[Layout, ...] = ()

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""
        return len(self.intercept)

    @property
    def means(self) -> Floats:
        """Training mean of each column's term, shape (n_outputs, n_columns)."""
        out = np.zeros((self.n_outputs, self.layout.n_columns))
        for group, part in self.parts():
            out[:, group.features] = group.means(part)
        return out

    def parts(self) -> list[tuple[TermGroup, Floats]]:
        """Return the groups of curves, each with its parameters (n_outputs, n_features, stride)."""
        return list(zip(self.layout.groups, self.layout.split(self.parameters), strict=True))

    def scores(self, table: Table, n_threads: int = 1) -> Floats:
        """Return f(x) for the rows of a table with this model's columns, (n_rows, n_outputs).

        The scores of rows with an infinite value are NaN.
        """
        out, scorers = np.empty((table.shape[0], self.n_outputs)), self._scorers()
        for rows, piece in table.chunks():
            if not scorers:
                out[rows] = self.intercept
            for k, scorer in enumerate(scorers):
                scorer.add(piece, n_threads, out[rows], None if k else self.intercept)
            if self.layout.pairs:
                out[rows] += self.pair_scores(as_dense(piece), n_threads)
        return out

    def _scorers(self) -> list[Scorer]:
        """Return the scorers that run on the CPU."""
        return self.prepared("here", lambda: scorers_of(self.parts()))

    def prepared(self, place: Hashable, prepare: Callable[[], Prepared]) -> Prepared:
        """Return prepare(), cached under the key `place` unless the model is large.

        The cached object must not refer to the model. It is not copied and not stored in files.
        """
        if self.parameters.size > MOST_KEPT:
            return prepare()
        kept = self._kept
        # Concurrent threads may prepare it twice; all of them use the one that is cached.
        return cast(Prepared, kept[place] if place in kept else kept.setdefault(place, prepare()))

    @cached_property
    def _kept(self) -> dict[Hashable, object]:
        return {}

    def __getstate__(self) -> dict[str, object]:
        """Return the fields only; cached values are not copied."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def pair_parts(self) -> list[tuple[PairGroup, Floats]]:
        """Return the groups of surfaces, each with its parameters (n_outputs, n_pairs, size)."""
        parts = self.layout.split_pairs(self.parameters)
        return list(zip(self.layout.pairs, parts, strict=True))

    def pair_scores(self, piece: AnyArray, n_threads: int) -> Floats:
        """Return the sum of all surfaces for a chunk of X, (n_rows, n_outputs).

        `piece` has all columns of X.
        """
        pairs, chains = self.layout.pairs, self._chains
        positions = np.stack([chain.positions(piece[:, chain.feature]) for chain in chains])
        return surfaces(positions, chains, pairs).score(self._pair_tables, n_threads).T

    @cached_property
    def _chains(self) -> tuple[Chain, ...]:
        return chains_of(self.layout.pairs)

    @cached_property
    def _pair_tables(self) -> Floats:
        n = self.layout.n_of_curves
        return np.ascontiguousarray(self.layout.tables(self.parameters)[:, n:])
