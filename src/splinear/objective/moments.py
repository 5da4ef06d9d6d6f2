"""Means and standard deviations of terms over the training rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from splinear._types import Floats
from splinear.model.layout import Layout
from splinear.objective.local.training_rows import TrainingRows
from splinear.terms.group import TermGroup
from splinear.terms.pair_group import PairGroup

__all__ = ["moments"]

MOST_VALUES = 2 * 10**7  # values of X that are used; of a larger table, a sample of rows
MOST_IN_HASTE = 10**6  # after Ctrl-C
LEAST_ROWS = 5_000


def moments(
    rows: TrainingRows,
    parameters: Floats,
    weights: Floats | None,
    n_threads: int,
    *,
    in_haste: bool = False,
) -> tuple[Layout, Floats]:
    """Return the layout with the mean m_j of every basis, and the importance of every column.

    The importance, (n_columns,), is the weighted standard deviation of the column's term over the
    training rows, averaged over outputs; half of a surface's goes to each of its columns. Of a
    table of more than 20 million values, a random sample of rows with that many values is used;
    `in_haste`, after Ctrl-C, one million are enough.
    """
    most = MOST_IN_HASTE if in_haste else MOST_VALUES
    n_rows = max(LEAST_ROWS, most * rows.n_rows // max(1, rows.n_values))
    rows, w = rows.weighted_first(weights, n_rows)
    layout, out = rows.layout, np.zeros(rows.layout.n_columns)
    w /= w.sum()  # in place, because it has one entry per row
    sums = layout.split(rows.raw_sums(w[None], n_threads)[0, : layout.n_of_curves])
    [all_blocks], groups = rows.blocks(w[None], n_threads), []
    for group, sum_, part, blocks in zip(
        layout.groups, sums, layout.split(parameters), all_blocks, strict=True
    ):
        out[group.features] = _deviations(group, part, sum_, blocks)
        if not group.has_gaps:  # otherwise the mean is part of the trained model
            group = replace(group, mean=np.ascontiguousarray(sum_))
        groups.append(group)
    surfaces = _with_deviations(rows, parameters, w, n_threads)
    for pairs in surfaces:
        assert pairs.deviation is not None
        for k in range(2):
            np.add.at(out, pairs.features[:, k], 0.5 * pairs.deviation)
    return layout.with_groups(groups).with_pairs(surfaces), out


def _with_deviations(
    rows: TrainingRows, parameters: Floats, w: Floats, n_threads: int
) -> list[PairGroup]:
    """Return the groups of surfaces with their standard deviations set."""
    if rows.pairs is None:
        return []
    layout, [all_blocks] = rows.layout, rows.pairs.blocks(w[None], n_threads)
    parts = zip(layout.pairs, layout.split_pairs(parameters), all_blocks, strict=True)
    return [
        pairs.with_deviation(_pair_deviations(pairs, part, blocks)) for pairs, part, blocks in parts
    ]


def _pair_deviations(group: PairGroup, parameters: Floats, blocks: Floats) -> Floats:
    """Return the standard deviation of each surface, averaged over outputs: (n_pairs,).

    A surface has mean 0. `blocks` holds the bands of the mean products of its basis functions.
    """
    tables = group.tables(parameters)
    square = np.zeros(tables.shape[:2])
    for p, distance in enumerate(group.band_distances):
        n = group.size - distance
        products = tables[..., :n] * tables[..., distance:]
        square += (1.0 if p == 0 else 2.0) * np.einsum("opk,pk->op", products, blocks[:, :n, p])
    return np.asarray(np.sqrt(np.maximum(square, 0.0)).mean(axis=0))


def _deviations(group: TermGroup, parameters: Floats, sums: Floats, blocks: Floats) -> Floats:
    """Return the standard deviation of each term, averaged over outputs: (n_features,).

    `sums` holds the means of the basis functions, `blocks` the bands of their mean products.
    """
    return np.asarray(
        np.stack([_own_deviations(group, own, sums, blocks) for own in parameters]).mean(axis=0)
    )


def _own_deviations(group: TermGroup, parameters: Floats, sums: Floats, blocks: Floats) -> Floats:
    """Return the standard deviation of each term of one output, (n_features,)."""
    table = group.tables(parameters)
    mean = np.einsum("jk,jk->j", table, sums)
    is_partition = group.embedding.basis.is_partition and not group.embedding.through_zero
    if is_partition:  # the functions sum to one, so the table can be centered without cancellation
        table = table - mean[:, None]
    square = np.einsum("jk,jk->j", table**2, blocks[:, :, 0])
    for p in range(1, min(group.size, blocks.shape[2])):
        n = group.size - p
        pairs = table[:, :n] * table[:, p : group.size]
        square += 2.0 * np.einsum("jk,jk->j", pairs, blocks[:, :n, p])
    if not is_partition:
        square -= mean**2
    return np.asarray(np.sqrt(np.maximum(square, 0.0)))
