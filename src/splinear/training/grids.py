"""Evidence for interactions from grids summed over rows that other processes or a GPU hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from splinear._types import Floats
from splinear.model.chains import Chain
from splinear.model.grouping import split_by
from splinear.model.pairs import PairGroup
from splinear.objective.local.pair_rows import standardized
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.loss_sums import LossSum
from splinear.training.crossfit import CrossFit, Scale

__all__ = ["grid_evidence", "is_worth_a_pass"]

MOST_PAIRS = 2**14  # summed over all rows: 64 MB, for 16 x 16 cells of two numbers


def is_worth_a_pass(rows: TrainingRows, n_pairs: int) -> bool:
    """Return whether to use all rows for this many pairs, and not only the local sample."""
    return not rows.is_here and 0 < rows.n_sampled < rows.n_rows and n_pairs <= MOST_PAIRS


def grid_evidence(
    rows: TrainingRows,
    totals: Sequence[LossSum],
    crossed: CrossFit,
    chains: Mapping[int, Chain],
    pairs: Sequence[tuple[int, int]],
) -> Floats:
    """Return z of every pair (see `splinear.training.interactions`), (n_pairs,).

    The models of curves are those without the first fold of a sample of the rows; `totals` are the
    sums of losses over all rows.
    """
    sizes = np.array([[chains[a].n_nodes, chains[b].n_nodes] for a, b in pairs])
    split = split_by(sizes)
    groups = [
        PairGroup.of(tuple((chains[pairs[k][0]], chains[pairs[k][1]]) for k in map(int, at)))
        for at in split
    ]
    surfaces = rows.grids(groups)  # type: ignore[attr-defined]
    ends = np.cumsum([group.n_pairs * group.size for group in groups])[:-1]
    z, n_outputs = np.zeros(len(pairs)), 0
    of_sample = crossed.data.sums()
    for total, own_total, point in zip(totals, of_sample, crossed.points[0], strict=True):
        F = rows.scores(point.parameters) + point.theta[:, -1:]
        g, h = total.gradient(F), total.curvature(F).diagonal
        sums = surfaces.sums(np.concatenate([g, h]), 1)
        scale = Scale.at(own_total, point.F)
        for k in range(total.n_outputs):
            parts = np.split(sums[k], ends), np.split(sums[total.n_outputs + k], ends)
            for at, group, *own in zip(split, groups, *parts, strict=True):
                G, H = (part.reshape(group.shape) for part in own)
                z[at] += standardized(G / scale.of_slopes, H / scale.of_curvature)
            n_outputs += 1
    return np.asarray(z / np.sqrt(n_outputs))
