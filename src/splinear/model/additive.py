"""The fitted model: terms and intercepts, and what they say of rows. No training here."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from splinear import _core
from splinear._types import AnyArray, Floats
from splinear.model.chains import Chain
from splinear.model.group import Extrapolation, TermGroup
from splinear.model.layout import Layout
from splinear.model.pairs import PairGroup, chains_of, surfaces
from splinear.tables.chunks import Chunk, as_dense, csr_parts
from splinear.tables.table import Table

__all__ = ["Model"]

MOST_KEPT = 2**23  # parameters of a model that is prepared once, and not for every prediction


@dataclass(frozen=True, eq=False)
class Model:
    """f(x) = b + sum_k f_k(x), for each output.

    Attributes
    ----------
    layout : Layout
    parameters : ndarray of shape (n_outputs, n_parameters)
    intercept : ndarray of shape (n_outputs,)
    """

    layout: Layout
    parameters: Floats
    intercept: Floats

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
        """f(x) of the rows of a table of this model's columns: (n_rows, n_outputs).

        Rows with an infinite value are NaN.
        """
        out = np.empty((table.shape[0], self.n_outputs))
        for rows, piece in table.chunks():
            out[rows] = self.intercept
            for scorer in self._scorers():
                out[rows] += scorer.scores(piece, n_threads)
            if self.layout.pairs:
                out[rows] += self.pair_scores(as_dense(piece), n_threads)
        return out

    def _scorers(self) -> list[GroupScorer]:
        """Return what scores rows, one per group; made once unless it is large."""
        return self._kept_scorers if self.parameters.size <= MOST_KEPT else self._make_scorers()

    @cached_property
    def _kept_scorers(self) -> list[GroupScorer]:
        return self._make_scorers()

    def _make_scorers(self) -> list[GroupScorer]:
        return [GroupScorer.of(group, part) for group, part in self.parts()]

    def __getstate__(self) -> dict[str, object]:
        """Return what was given; what has been computed from it is not kept in files."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def pair_parts(self) -> list[tuple[PairGroup, Floats]]:
        """Return the groups of surfaces, each with its parameters (n_outputs, n_pairs, size)."""
        parts = self.layout.split_pairs(self.parameters)
        return list(zip(self.layout.pairs, parts, strict=True))

    def pair_scores(self, piece: AnyArray, n_threads: int) -> Floats:
        """Compute what all surfaces add to the scores of a piece of X: (n_rows, n_outputs).

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


def group_scores(group: TermGroup, parameters: Floats, piece: Chunk, n_threads: int) -> Floats:
    """Compute what the terms of a group add to the scores of a piece of X: (n_rows, n_outputs).

    `piece` is an array of floats or a CSR matrix, in all columns of X.
    """
    return GroupScorer.of(group, parameters).scores(piece, n_threads)


@dataclass(frozen=True, eq=False)
class GroupScorer:
    """The curves of a group as rows are scored by them.

    `tables` (n_outputs, n_features, size + 1): coefficients, and what a missing value adds.
    """

    group: TermGroup
    tables: Floats

    @classmethod
    def of(cls, group: TermGroup, parameters: Floats) -> GroupScorer:
        """Prepare the terms of a group with these parameters."""
        return cls(group, np.ascontiguousarray(group.with_gap_values(parameters)))

    def scores(self, piece: Chunk, n_threads: int) -> Floats:
        """Return what the terms add to the scores of a piece of X: (n_rows, n_outputs)."""
        group, tables = self.group, self.tables
        if isinstance(piece, sparse.csr_array):
            return _sparse_scores(group, tables, piece, n_threads)
        if group.levels is not None:
            out = _level_scores(group, tables, self._at_unseen, piece)
        else:
            curves, columns = self._curves
            out = _core.decision(curves, piece, columns, n_threads)
        if group.extrapolation is Extrapolation.LINEAR:
            _continue(group, tables, piece, out)
        return out

    @cached_property
    def _curves(self) -> tuple[_core.Curves, NDArray[np.int64]]:
        """The compiled twin, and the columns of X."""
        embedding, none = self.group.embedding, np.zeros(len(self.tables))
        curves = _core.Curves(embedding.basis.core(), embedding.axes.core(), self.tables, none)
        return curves, self.group.features.astype(np.int64)

    @cached_property
    def _at_unseen(self) -> Floats:
        """What an unseen level adds, (n_outputs, n_features)."""
        group = self.group
        of = [self.tables[:, k, :-1] @ group.mean[k] for k in range(group.n_features)]
        return np.stack(of, axis=1)


def _level_scores(group: TermGroup, tables: Floats, at_unseen: Floats, piece: AnyArray) -> Floats:
    """Look the levels up: numbers from 0 on; NaN is a gap, -1 a level that fit has not seen."""
    codes, at_gap = piece[:, group.features], group.size
    unseen = codes < 0
    index = np.where(np.isnan(codes), at_gap, np.where(unseen, 0, codes)).astype(np.intp)
    out, has_unseen = np.zeros((len(piece), len(tables))), bool(unseen.any())
    for k in range(group.n_features):
        own = tables[:, k].T[index[:, k]]
        if has_unseen:
            own[unseen[:, k]] = at_unseen[:, k]
        out += own
    return out


def _sparse_scores(group: TermGroup, tables: Floats, X: sparse.csr_array, n_threads: int) -> Floats:
    """Score a CSR matrix; where curves are not zero at zero, zeros count as well."""
    here = group_columns(X, group)
    embedding, at_zero = group.embedding, np.empty((0, 0))
    intercept = np.zeros(len(tables))
    if not embedding.through_zero:
        at_zero = embedding.at_zero(tables[..., :-1])
        intercept = at_zero.sum(axis=1)
    starts, features, values = csr_parts(here)
    basis, axes = embedding.basis.core(), embedding.axes.core()
    curves = _core.Curves(basis, axes, tables, intercept)
    out: Floats = _core.decision_sparse(curves, starts, features, values, at_zero, n_threads)
    if group.extrapolation is Extrapolation.LINEAR:
        lo, hi = embedding.axes.lo[features], embedding.axes.hi[features]
        for k in map(int, np.unique(features[(values < lo) | (values > hi)])):
            x = here[:, [k]].toarray().ravel()
            out += embedding.continuation(x, k, tables[:, k, :-1])
    return out


def group_columns(X: sparse.csr_array, group: TermGroup) -> sparse.csr_array:
    """Select the columns of a group from a CSR matrix; X itself if they are all, in order."""
    if group.n_features == X.shape[1] and np.array_equal(group.features, np.arange(X.shape[1])):
        return X
    return X[:, group.features]


def _continue(group: TermGroup, tables: Floats, piece: AnyArray, out: Floats) -> None:
    """Add what straight lines beyond the ends of the ranges add to the scores."""
    axes = group.embedding.axes
    for k, j in enumerate(group.features):
        x = piece[:, j]
        with np.errstate(invalid="ignore"):
            outside = (x < axes.lo[k]) | (x > axes.hi[k])
        if outside.any():
            at = np.flatnonzero(outside)
            out[at] += group.embedding.continuation(x[at], k, tables[:, k, :-1])
