"""The diagonal blocks of the Hessian with their penalty: banded matrices, one per feature."""

from __future__ import annotations

import numpy as np
from numpy.linalg import LinAlgError

from splinear import _core
from splinear._types import Floats
from splinear.model.factoring import factor_with
from splinear.model.group import TermGroup

__all__ = ["factored", "penalized_bands"]


def factored(
    group: TermGroup, blocks: Floats, ties: Floats, of_b: float, of_level: float, n_threads: int
) -> _core.ArrowGroup:
    """Factor the blocks plus the penalty of one group.

    `ties` (n_features, stride) tie them to the intercept, whose own second derivative is `of_b`. A
    curve has no level, which is the intercept's: to be moved as a whole costs it `of_level`.
    """
    used, bands = group.used, penalized_bands(group, blocks)
    bands[:, :, 0] += ~used  # ones, so that it can be factored
    if group.has_level and group.embedding.penalty.bandwidth > 0:
        weights = group.level_weights  # 0 but for the first ones, as many as the penalty has bands
        for p in range(bands.shape[2]):
            pairs = weights[:, : group.stride - p] * weights[:, p:]
            bands[:, : group.stride - p, p] += of_level * pairs
    mean = np.ascontiguousarray(group.mean) if group.has_gaps else np.empty((0, 0))

    def factor(matrix: Floats) -> _core.ArrowGroup:
        tied = np.ascontiguousarray(ties)
        found = _core.arrow_group(matrix, used, mean, tied, of_b, n_threads)
        if not found.is_definite:
            raise LinAlgError("a block is not positive definite")
        return found

    return factor_with(factor, bands, bands[:, :, 0])


def penalized_bands(group: TermGroup, blocks: Floats) -> Floats:
    """Add the penalty to blocks (n_features, stride, support), 0 where a parameter is not used.

    The bands are (n_features, stride, n_bands): entry [j, k, p] stands at (k, k + p) of the matrix
    of feature j. A gap is not tied to its curve here.
    """
    penalty = group.penalty_bands
    bands: Floats = _core.penalized_bands(
        np.ascontiguousarray(blocks), penalty, group.used, group.size
    )
    return bands
