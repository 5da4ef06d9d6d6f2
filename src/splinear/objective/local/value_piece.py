"""A batch of rows of X in full precision; scores and sums over rows in any form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from splinear import _core
from splinear._types import Floats
from splinear.model.layout import Layout
from splinear.objective.local.pair_rows import PairRows

__all__ = ["ValuePiece", "all_scores", "all_sums"]


@dataclass(frozen=True, eq=False)
class ValuePiece:
    """A batch of rows of X in full precision, and their places in training order."""

    layout: Layout
    groups: list[_core.Group]
    places: NDArray[np.int64]
    pairs: PairRows | None

    def scores(self, parameters: Floats, n_threads: int) -> Floats:
        """Return the scores (n_outputs, n_rows of the batch); see TrainingRows.scores."""
        return self.table_scores(self.layout.tables(parameters), n_threads)

    def table_scores(self, tables: Floats, n_threads: int) -> Floats:
        """Return the scores for tables; see TrainingRows.table_scores."""
        return all_scores(self.groups, self.pairs, self.layout, tables, n_threads)

    def sums(self, R: Floats, n_threads: int) -> Floats:
        """Return the sums for R (n_outputs, n_rows of the batch); see TrainingRows.sums."""
        return self.layout.gather(self.raw_sums(R, n_threads))

    def raw_sums(self, R: Floats, n_threads: int) -> Floats:
        """Return the sums with respect to tables; see TrainingRows.raw_sums."""
        return all_sums(self.groups, self.pairs, R, n_threads)


def all_scores(
    groups: list[_core.Group],
    pairs: PairRows | None,
    layout: Layout,
    tables: Floats,
    n_threads: int,
) -> Floats:
    """Return the scores of curves and surfaces, (n_outputs, n_rows)."""
    n = layout.n_of_curves
    flat: Floats = _core.score_many(groups, np.ascontiguousarray(tables[:, :n]), n_threads)
    scores = flat.reshape(len(tables), -1)
    if pairs is not None:
        scores += pairs.scores(tables[:, n:], n_threads)
    return scores


def all_sums(
    groups: list[_core.Group], pairs: PairRows | None, R: Floats, n_threads: int
) -> Floats:
    """Return the gradient of sum(R * scores) with respect to tables, (n_outputs, n_parameters)."""
    flat: Floats = _core.sum_many(groups, np.ascontiguousarray(R), n_threads)
    sums = flat.reshape(len(R), -1)
    if pairs is None:
        return sums
    return np.concatenate([sums, pairs.sums(R, n_threads)], axis=1)
