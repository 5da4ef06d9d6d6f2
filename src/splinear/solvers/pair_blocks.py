"""The Hessian of surfaces, one block per surface, banded over its nodes.

A block is that of the surface's own nodes, sum_i h_i B_i B_i' plus the penalty. What functions of
one feature add to a surface is not its own (see PairGroup); in the block it is free, so whatever is
solved or inverted here holds with these functions integrated out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from scipy.linalg import cholesky_banded
from scipy.linalg.lapack import dpbtrs

from splinear import _core
from splinear._types import Floats
from splinear.model.layout import Layout
from splinear.model.pairs import PairGroup
from splinear.solvers.banded import factor_with

__all__ = ["SurfaceBlocks", "pair_variances"]

LEAST_RIDGE = 1e-9  # of the mean of a diagonal


class SurfaceBlocks:
    """The blocks of all surfaces for one output, factored: a preconditioner."""

    def __init__(self, layout: Layout, blocks: Sequence[Floats]) -> None:
        self.layout = layout
        self.factors = [_factored(g, own) for g, own in zip(layout.pairs, blocks, strict=True)]

    def solve(self, r: Floats) -> Floats:
        """Multiply flat vectors (..., n_parameters) by the inverse; return the part of surfaces."""
        parts = zip(self.layout.pairs, self.factors, self.layout.split_pairs(r), strict=True)
        solved = [_solved(group, factor, part) for group, factor, part in parts]
        return self.layout.join(solved)


def _solved(group: PairGroup, factor: Floats, part: Floats) -> Floats:
    flat = group.scatter(part).reshape(-1, group.n_pairs * group.size)
    y = dpbtrs(factor, flat.T, lower=1)[0].T.reshape(part.shape)
    return np.where(group.used, group.from_tables(y) + group.soften_shared(part), 0.0)


def pair_variances(group: PairGroup, blocks: Floats) -> Floats:
    """Return Var(d) of the mixed differences, (n_pairs, size), from blocks (n_pairs, size, 5)."""
    m1, m2 = group.n_nodes
    V = _core.band_inverse(np.ascontiguousarray(_factored(group, blocks)))
    V = V.reshape(m2 + 2, group.n_pairs, m1, m2)

    def entry(distance: int, row: int, column: int) -> Floats:
        """Return V of all nodes that are a corner of a cell and the nodes at a distance."""
        return np.asarray(V[distance, :, row : m1 - 1 + row, column : m2 - 1 + column])

    out = np.zeros((group.n_pairs, m1, m2))
    out[:, 1:, 1:] = (
        entry(0, 0, 0) + entry(0, 0, 1) + entry(0, 1, 0) + entry(0, 1, 1)
        + 2.0 * (entry(m2 + 1, 0, 0) + entry(m2 - 1, 0, 1))
        - 2.0 * (entry(1, 0, 0) + entry(1, 1, 0) + entry(m2, 0, 0) + entry(m2, 0, 1))
    )  # fmt: skip
    return np.where(group.used, out.reshape(group.shape), 0.0)


def _factored(group: PairGroup, blocks: Floats) -> Floats:
    """Factor blocks plus penalty, all surfaces of a group as one banded matrix.

    In LAPACK's lower form, (m2 + 2, n_pairs * size).
    """
    bands = blocks + group.penalty_bands()
    n_bands = group.n_nodes[1] + 2
    lower = np.zeros((n_bands, group.n_pairs * group.size))
    for p, distance in enumerate(group.band_distances):
        lower[distance] += bands[:, :, p].ravel()
    # Nothing may be known of some nodes, or of a function of one feature that equals another's.
    mean = np.maximum(bands[:, :, 0].mean(axis=1), np.finfo(float).tiny)
    lower[0] += np.repeat(LEAST_RIDGE * mean, group.size)
    return factor_with(partial(cholesky_banded, lower=True, check_finite=False), lower, lower[0])
