"""Cholesky factors of Hessian blocks, and variances of surfaces computed from them.

The block of a surface is over the values at its nodes: sum_i h_i B_i B_i' plus the penalty.
Functions of one feature do not belong to a surface (see PairGroup) but are unpenalized in this
block, so whatever is solved or inverted here has them integrated out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np
from scipy.linalg import LinAlgError, cholesky_banded

from splinear import _core
from splinear._types import Floats
from splinear.terms.group import TermGroup
from splinear.terms.pair_group import PairGroup

__all__ = ["GROWTHS", "factor_with", "factored_surfaces", "freedom_alone", "pair_variances"]

Factor = TypeVar("Factor")

GROWTHS = (1e-14, 1e-12, 1e-10, 1e-8, 1e-6)  # relative increases of a diagonal, tried in turn
LEAST_RIDGE = 1e-9  # relative to the mean of a diagonal


def factor_with(method: Callable[[Floats], Factor], matrix: Floats, diagonal: Floats) -> Factor:
    """Factor a matrix, increasing its diagonal if it is not positive definite by rounding.

    `diagonal` is a view of the matrix. Entries are increased relative to themselves, and if that is
    not enough relative to the largest: a small entry may be dominated by the rounding of others.
    """
    try:
        return method(matrix)
    except LinAlgError:
        own = np.abs(diagonal)
    for unit in (own, np.full_like(own, own.max(initial=0.0))):
        for more in GROWTHS:
            diagonal += more * unit
            try:
                return method(matrix)
            except LinAlgError:
                continue
    return method(matrix)


def freedom_alone(group: TermGroup, blocks: Floats) -> float:
    """Return tr(H (H + S)^{-1}) for all curves of a group as if nothing else was estimated.

    `blocks` has the bands of H, (n_features, stride, support). What a line costs less is left out.
    """
    used, penalty = group.used, group.penalty_bands
    n_bands = max(blocks.shape[2], penalty.shape[2])
    H = np.zeros((*group.shape, n_bands))
    for p in range(blocks.shape[2]):
        end = group.stride - p
        H[:, :end, p] = blocks[:, :end, p] * (used[:, :end] & used[:, p:])
    both = H.copy()
    both[:, :, : penalty.shape[2]] += np.where(used[:, :, None], penalty, 0.0)
    both[:, :, 0][~used] = 1.0
    lower = np.ascontiguousarray(both.reshape(-1, n_bands).T)
    method = partial(cholesky_banded, lower=True, check_finite=False)
    V = _core.band_inverse(np.ascontiguousarray(factor_with(method, lower, lower[0])))
    twice = np.where(np.arange(n_bands) > 0, 2.0, 1.0)
    return float(np.sum(twice[:, None] * H.reshape(-1, n_bands).T * V))


def factored_surfaces(group: PairGroup, blocks: Floats, stiffness: float = 1.0) -> Floats:
    """Factor blocks (n_pairs, size, 5) plus `stiffness` times the penalty.

    All surfaces of a group form one banded matrix, in LAPACK's lower form (m2 + 2, n_pairs * size).
    """
    bands = blocks + stiffness * group.penalty_bands()
    n_bands = group.n_nodes[1] + 2
    lower = np.zeros((n_bands, group.n_pairs * group.size))
    for p, distance in enumerate(group.band_distances):
        lower[distance] += bands[:, :, p].ravel()
    # A ridge, because nodes without rows and functions of one feature may have no information.
    mean = np.maximum(bands[:, :, 0].mean(axis=1), np.finfo(float).tiny)
    lower[0] += np.repeat(LEAST_RIDGE * mean, group.size)
    return factor_with(partial(cholesky_banded, lower=True, check_finite=False), lower, lower[0])


def pair_variances(group: PairGroup, blocks: Floats, stiffness: float = 1.0) -> Floats:
    """Return the variances of the mixed differences d, (n_pairs, size).

    `blocks` has the shape (n_pairs, size, 5); the penalty is multiplied by `stiffness`.
    """
    m1, m2 = group.n_nodes
    factor = factored_surfaces(group, blocks, stiffness)
    V = _core.band_inverse(np.ascontiguousarray(factor)).reshape(m2 + 2, group.n_pairs, m1, m2)

    def entry(distance: int, row: int, column: int) -> Floats:
        """Return V between one corner of every cell and the node at a distance from it."""
        return np.asarray(V[distance, :, row : m1 - 1 + row, column : m2 - 1 + column])

    out = np.zeros((group.n_pairs, m1, m2))
    out[:, 1:, 1:] = (
        entry(0, 0, 0) + entry(0, 0, 1) + entry(0, 1, 0) + entry(0, 1, 1)
        + 2.0 * (entry(m2 + 1, 0, 0) + entry(m2 - 1, 0, 1))
        - 2.0 * (entry(1, 0, 0) + entry(1, 1, 0) + entry(m2, 0, 0) + entry(m2, 0, 1))
    )  # fmt: skip
    return np.where(group.used, out.reshape(group.shape), 0.0)
