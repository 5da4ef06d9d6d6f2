"""Computation of the Fisher information that is stored with a fitted model."""

from __future__ import annotations

from typing import cast

import numpy as np

from splinear import _core
from splinear._types import Floats
from splinear.losses.curvature import Profiled
from splinear.model.information import Information, Thinned, thinned_within
from splinear.model.layout import Layout
from splinear.objective.point import Point
from splinear.objective.rows import ThinnedProducts

__all__ = ["gather"]

MOST_COUPLED = 1_000  # largest number of rows of the matrix of thinned terms, over all outputs
PIECES = (16, 12, 8, 6, 4)  # of thinned curves: as many as the matrix has room for
# Rows used for the coupling between terms, which takes one product per pair of terms. The blocks of
# single terms use all rows.
LEAST_ROWS, MOST_ROWS, MOST_PRODUCTS = 3_072, 8_192, 2_000_000


def gather(at: Point) -> Information:
    """Return the second derivatives of the losses at a model.

    The coupling of surfaces to curves and to each other is not stored.
    """
    space, layout, n_outputs = at.space, at.layout, at.space.n_outputs
    thinned = thinned_within(layout, n_outputs, MOST_COUPLED, PIECES)
    n_rows = space.rows.first(_enough_rows(layout, n_outputs)).n_rows
    slopes, n_of_curves = at.table_slopes(), layout.n_of_curves
    return Information(
        blocks=at.blocks,
        ties=at.ties,
        totals=at.bends,
        factors=None if thinned is None else thinned.factors,
        coupling=np.zeros(0) if thinned is None else _coupling(at, thinned, n_rows),
        n_rows=space.n_rows,
        n_coupled=n_rows,
        slopes=layout.gather(slopes)[:, :n_of_curves],
        scatter=at.scatter,
        pair_blocks=at.independent_pair_blocks(),
        pair_slopes=slopes[:, n_of_curves:],
        shared=cast(Profiled, at.curvature).of_cuts if at.total.loss.n_shared else None,
    )


def _enough_rows(layout: Layout, n_outputs: int) -> int:
    n_terms = n_outputs * sum(group.n_features for group in layout.groups)
    pairs = max(1, n_terms * (n_terms + 1) // 2)
    return int(np.clip(MOST_PRODUCTS // pairs, LEAST_ROWS, MOST_ROWS))


def _coupling(at: Point, thinned: Thinned, n_rows: int) -> Floats:
    """Return the upper half of the matrix of all outputs, from the first rows."""
    space, n, n_outputs = at.space, thinned.n_reached + 1, at.space.n_outputs
    products = space.rows.thinned(thinned, n_rows, space.n_threads)
    some = at.curvature.some(np.arange(n_rows), np.full(n_rows, space.n_rows / n_rows))
    pairs = [(k, m) for k in range(n_outputs) for m in range(k, n_outputs)]
    found = products(some.between(k, m) for k, m in pairs)
    if isinstance(some, Profiled):
        return _upper_half(_with_cuts(found[0], products, some), space.n_threads)
    if n_outputs == 1:
        return _upper_half(found[0], space.n_threads)
    whole = np.zeros((n_outputs, n, n_outputs, n))
    for (k, m), own in zip(pairs, found, strict=True):
        whole[k, :, m] = own
    return _upper_half(whole.reshape(n_outputs * n, n_outputs * n), space.n_threads)


def _with_cuts(matrix: Floats, products: ThinnedProducts, at: Profiled) -> Floats:
    """Return the matrix of one output with minus the cut points in place of the intercept."""
    n, of_cuts = len(matrix) - 1, at.of_cuts
    out = np.zeros((n + len(of_cuts), n + len(of_cuts)))
    out[:n, :n], out[n:, n:] = matrix[:n, :n], of_cuts
    for k, own in enumerate(products(at.springs(k) for k in range(len(of_cuts)))):
        out[n + k, :n] = out[:n, n + k] = own[:n, -1]
    return out


def _upper_half(matrix: Floats, n_threads: int) -> Floats:
    """Return the entries on and above the diagonal, row by row."""
    half: Floats = _core.upper_half(np.ascontiguousarray(matrix), n_threads)
    return half
