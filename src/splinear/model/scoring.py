"""Scores of rows by groups of terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from splinear import _core
from splinear._caching import cached_property
from splinear._types import AnyArray, Floats
from splinear.tables.chunks import Chunk, as_dense, csr_parts
from splinear.terms.group import Extrapolation, TermGroup

__all__ = ["Scorer", "group_columns", "group_scores", "scorers_of"]

Part = tuple[TermGroup, Floats]  # a group, and its parameters (n_outputs, n_features, stride)


class Scorer(Protocol):
    """Terms prepared for scoring."""

    def scores(self, piece: Chunk, n_threads: int) -> Floats:
        """Return the sum of the terms for a chunk of X, (n_rows, n_outputs).

        `piece` is an array of floats or a CSR matrix with all columns of X.
        """

    def add(self, piece: Chunk, n_threads: int, out: Floats, start: Floats | None) -> None:
        """Set `out` to start (n_outputs,) plus the scores; if start is None, add them to `out`."""


def scorers_of(parts: Sequence[Part]) -> list[Scorer]:
    """Return one scorer per group of curves, and one for all categories."""
    curves: list[Scorer] = [CurveScorer.of(*part) for part in parts if part[0].levels is None]
    of_levels = [part for part in parts if part[0].levels is not None]
    return [*curves, LevelScorer.of(of_levels)] if of_levels else curves


def group_scores(group: TermGroup, parameters: Floats, piece: Chunk, n_threads: int) -> Floats:
    """Return the sum of a group's terms for a chunk of X, (n_rows, n_outputs)."""
    (scorer,) = scorers_of([(group, parameters)])
    return scorer.scores(piece, n_threads)


@dataclass(frozen=True, eq=False)
class LevelScorer:
    """Scores all categories from one table of levels.

    Attributes
    ----------
    features : ndarray of shape (n_features,)
        Columns of X, which hold level indices; NaN is a missing value, -1 an unseen level.
    values : ndarray of shape (n_places, n_outputs)
        The effects of the levels of all features.
    first, missing, unseen : ndarray of shape (n_features,)
        Indices in `values` of level 0, of a missing value, and of an unseen level.
    """

    features: NDArray[np.intp]
    values: Floats
    first: NDArray[np.intp]
    missing: NDArray[np.intp]
    unseen: NDArray[np.intp]

    @classmethod
    def of(cls, parts: Sequence[Part]) -> LevelScorer:
        """Prepare groups of categories."""
        tables = [_with_unseen(group, parameters) for group, parameters in parts]
        length = np.concatenate([np.full(len(table), table.shape[1]) for table in tables])
        end = np.cumsum(length)
        return cls(
            np.concatenate([group.features for group, _ in parts]),
            np.concatenate([table.reshape(-1, table.shape[2]) for table in tables]),
            end - length,
            end - 2,
            end - 1,
        )

    def scores(self, piece: Chunk, n_threads: int) -> Floats:
        """Return the sum of the levels' effects, (n_rows, n_outputs)."""
        codes = as_dense(piece)[:, self.features]
        beside = np.where(codes < 0, self.unseen, self.missing)
        places = np.where(codes >= 0, codes + self.first, beside).astype(np.intp)
        out = np.zeros((len(codes), self.values.shape[1]))
        for column in places.T:
            out += self.values[column]
        return out

    def add(self, piece: Chunk, n_threads: int, out: Floats, start: Floats | None) -> None:
        """Add the scores to `out`."""
        _add(self.scores(piece, n_threads), out, start)


def _with_unseen(group: TermGroup, parameters: Floats) -> Floats:
    """Return the effects of levels, missing values and unseen levels.

    The shape is (n_features, size + 2, n_outputs). The effect of an unseen level is the mean over
    the training rows.
    """
    tables = group.with_gap_values(parameters)
    unseen = [tables[:, k, :-1] @ group.mean[k] for k in range(group.n_features)]
    return np.concatenate([tables, np.stack(unseen, axis=1)[..., None]], axis=2).transpose(1, 2, 0)


@dataclass(frozen=True, eq=False)
class CurveScorer:
    """Scores the curves of a group.

    `tables` (n_outputs, n_features, size + 1) holds the coefficients and the value of a gap.
    """

    group: TermGroup
    tables: Floats

    @classmethod
    def of(cls, group: TermGroup, parameters: Floats) -> CurveScorer:
        """Prepare a group with these parameters."""
        return cls(group, np.ascontiguousarray(group.with_gap_values(parameters)))

    def scores(self, piece: Chunk, n_threads: int) -> Floats:
        """Return the sum of the curves, (n_rows, n_outputs)."""
        group, tables = self.group, self.tables
        if isinstance(piece, sparse.csr_array):
            return _sparse_scores(group, tables, piece, n_threads)
        curves, columns = self._curves
        out: Floats = _core.decision(curves, piece, columns, n_threads)
        if group.extrapolation is Extrapolation.LINEAR:
            _continue(group, tables, piece, out)
        return out

    def add(self, piece: Chunk, n_threads: int, out: Floats, start: Floats | None) -> None:
        """Add the scores to `out`; for dense rows, in the core's threads."""
        is_plain = self.group.extrapolation is not Extrapolation.LINEAR
        if isinstance(piece, sparse.csr_array) or not is_plain:
            return _add(self.scores(piece, n_threads), out, start)
        curves, columns = self._curves
        begin = np.empty(0) if start is None else start
        _core.add_decision(curves, piece, columns, begin, out, n_threads)

    @cached_property
    def _curves(self) -> tuple[_core.Curves, NDArray[np.int64]]:
        """The compiled twin, and the columns of X."""
        embedding, none = self.group.embedding, np.zeros(len(self.tables))
        curves = _core.Curves(embedding.basis.core(), embedding.axes.core(), self.tables, none)
        return curves, self.group.features.astype(np.int64)


def _add(scores: Floats, out: Floats, start: Floats | None) -> None:
    if start is not None:
        out[:] = start
    out += scores


def _sparse_scores(group: TermGroup, tables: Floats, X: sparse.csr_array, n_threads: int) -> Floats:
    """Return the scores of a CSR matrix; zeros count too if curves are not zero at zero."""
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
    """Return the columns of a group; X itself if these are all columns, in order."""
    if group.n_features == X.shape[1] and np.array_equal(group.features, np.arange(X.shape[1])):
        return X
    return X[:, group.features]


def _continue(group: TermGroup, tables: Floats, piece: AnyArray, out: Floats) -> None:
    """Add the linear extrapolation of values outside the training range to the scores."""
    axes = group.embedding.axes
    for k, j in enumerate(group.features):
        x = piece[:, j]
        with np.errstate(invalid="ignore"):
            outside = (x < axes.lo[k]) | (x > axes.hi[k])
        if outside.any():
            at = np.flatnonzero(outside)
            out[at] += group.embedding.continuation(x[at], k, tables[:, k, :-1])
