"""Contributions of the terms of a model to the scores of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias, TypeGuard

import numpy as np
from scipy import sparse

from splinear import _core
from splinear._types import AnyArray, Floats
from splinear.estimators.base import AdditiveEstimator
from splinear.model.fitted import BLOCK, FittedPair
from splinear.model.scoring import group_scores
from splinear.terms.group import Extrapolation

__all__ = [
    "InMemory",
    "added",
    "added_by_pairs",
    "column_of",
    "deviations",
    "sparse_contributions",
    "stays_sparse",
]

InMemory: TypeAlias = AnyArray | sparse.csc_array  # all rows of a table, as numbers


def added(model: AdditiveEstimator, table: InMemory) -> Iterator[tuple[int, Floats, Floats]]:
    """Yield each feature with a term, its contributions, and their means over training rows.

    Contributions (n_rows, n_outputs) are computed like scores, one column at a time; the means are
    (n_outputs,).
    """
    n_threads = model._n_threads()
    for group, parameters in model._model.parts():
        means = group.means(parameters)
        for k, j in enumerate(map(int, group.features)):
            alone = replace(group.of_features(np.array([k])), features=np.zeros(1, dtype=np.intp))
            column = column_of(table, j)[:, None]
            yield j, group_scores(alone, parameters[:, [k]], column, n_threads), means[:, k]


def added_by_pairs(
    model: AdditiveEstimator, table: InMemory
) -> Iterator[tuple[FittedPair, Floats]]:
    """Yield each surface, in the order of `terms_`, and its contributions (n_rows, n_outputs)."""
    for pair in model.terms_.pairs:
        yield pair, pair.evaluate(*(column_of(table, j) for j in pair.features))


def column_of(table: InMemory, j: int) -> AnyArray:
    """Return a column of a table of numbers as an array."""
    here = table[:, [j]]
    return (here.toarray() if isinstance(here, sparse.csc_array) else here)[:, 0]


def stays_sparse(table: InMemory, model: AdditiveEstimator) -> TypeGuard[sparse.csc_array]:
    """Return whether the contributions of zeros are zero, so that they can stay sparse."""
    groups = model._model.layout.groups
    return isinstance(table, sparse.csc_array) and all(
        group.embedding.through_zero for group in groups
    )


def sparse_contributions(
    model: AdditiveEstimator, output: int, table: sparse.csc_array
) -> sparse.csr_array:
    """Return the contributions to one output of the non-zeros of a CSC matrix."""
    parts = np.zeros(table.nnz)
    starts = table.indptr
    for group, parameters in model._model.parts():
        embedding = group.embedding
        axes = embedding.axes.core()
        lengths = np.diff(starts)[group.features]
        of = np.repeat(np.arange(group.n_features, dtype=np.int32), lengths)
        within = np.arange(len(of)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        at = np.repeat(starts[group.features], lengths) + within
        tables = group.with_gap_values(parameters[output])
        for first in range(0, len(at), BLOCK):
            block = slice(first, first + BLOCK)
            values, j = table.data[at[block]], of[block]
            gap = np.isnan(values)
            arguments = _core.sparse_arguments(j, np.where(gap, 0.0, values), axes)
            f = np.sum(embedding.basis.evaluate(arguments) * tables[j, :-1], axis=1)
            parts[at[block]] = np.where(gap, tables[j, -1], f)
        if group.extrapolation is Extrapolation.LINEAR:
            for k in range(group.n_features):
                here = slice(starts[group.features[k]], starts[group.features[k] + 1])
                parts[here] += embedding.continuation(table.data[here], k, tables[k, :-1])
    by_column = sparse.csc_array((parts, table.indices, table.indptr), shape=table.shape)
    return sparse.csr_array(by_column)


def deviations(parts: sparse.csr_array) -> Floats:
    """Return the standard deviation of every column, zeros included."""
    n = parts.shape[0]
    mean = np.asarray(parts.sum(axis=0)) / n
    by_column = parts.tocsc()
    of = np.repeat(np.arange(parts.shape[1]), np.diff(by_column.indptr))
    squares = np.bincount(of, (by_column.data - mean[of]) ** 2, minlength=parts.shape[1])
    zeros = n - np.diff(by_column.indptr)
    return np.sqrt((squares + zeros * mean**2) / n)
