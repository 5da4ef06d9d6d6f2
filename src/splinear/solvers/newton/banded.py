"""The diagonal blocks of the penalized Hessian: banded matrices, one per feature."""

from __future__ import annotations

import numpy as np
from numpy.linalg import LinAlgError

from splinear import _core
from splinear._types import AnyArray, Floats
from splinear.model.factoring import factor_with
from splinear.model.group import TermGroup

__all__ = ["band_products", "factored", "penalized_bands"]


def factored(
    group: TermGroup, blocks: Floats, ties: Floats, of_b: float, of_level: float, n_threads: int
) -> _core.ArrowGroup:
    """Factor the blocks of one group plus its penalty.

    `ties` (n_features, stride) is the coupling of the blocks to the intercept, whose second
    derivative is `of_b`. A curve's level is left to the intercept, so moving a curve as a whole
    costs `of_level`.
    """
    bands = penalized_bands(group, blocks, n_threads, of_level)
    mean = np.ascontiguousarray(group.mean) if group.has_gaps else np.empty((0, 0))

    lines = np.empty((0, 0)), np.empty((0, 0)), np.empty(0)
    if group.parts is not None:
        line, _, precision = group.lines()
        lines = line, band_products(blocks, line, group.used), precision

    def factor(matrix: Floats) -> _core.ArrowGroup:
        tied = np.ascontiguousarray(ties)
        found = _core.arrow_group(matrix, group.used, mean, tied, of_b, *lines, n_threads)
        if not found.is_definite:
            raise LinAlgError("a block is not positive definite")
        return found

    return factor_with(factor, bands, bands[:, :, 0])


def band_products(bands: Floats, x: Floats, used: AnyArray) -> Floats:
    """Return the products of symmetric matrices, bands (n, m, n_bands), with vectors x (n, m).

    Rows and columns that are not `used` (n, m) count as 0.
    """
    x = np.where(used, x, 0.0)
    out = bands[..., 0] * x
    for p in range(1, min(bands.shape[1:])):
        out[:, :-p] += bands[:, :-p, p] * x[:, p:]
        out[:, p:] += bands[:, :-p, p] * x[:, :-p]
    return np.where(used, out, 0.0)


def penalized_bands(
    group: TermGroup, blocks: Floats, n_threads: int, of_level: float = 0.0
) -> Floats:
    """Return blocks (n_features, stride, support) plus the penalty without lines, where used.

    Other parameters have a one on the diagonal, so that every block can be factored. The bands are
    (n_features, stride, n_bands): entry [j, k, p] is entry (k, k + p) of the matrix of feature j.
    The coupling of a gap to its curve is left out. Moving a curve as a whole costs an additional
    `of_level`.
    """
    # Only the first weights are nonzero, as many as the penalty has bands.
    has_level = of_level > 0.0 and group.has_level and group.embedding.penalty.bandwidth > 0
    levels = group.level_weights if has_level else np.empty((0, 0))
    bands: Floats = _core.penalized_bands(
        np.ascontiguousarray(blocks),
        group.penalty_bands,
        group.used,
        levels,
        of_level,
        group.size,
        n_threads,
    )
    return bands
