"""Computation of the Fisher information that is stored with a fitted model."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from splinear import _core
from splinear._types import Floats
from splinear.losses.curvature import Curvature
from splinear.model.information import Information, Thinned, thinned_within
from splinear.model.layout import Layout
from splinear.solvers.newton.iterate import Space
from splinear.solvers.newton.passes import RowPasses, Thinning
from splinear.solvers.problems.loss_sums import LossSum

__all__ = ["gather"]

MOST_COUPLED = 1_000  # largest number of rows of the matrix of thinned terms, over all outputs
PIECES = (16, 12, 8, 6, 4)  # of thinned curves: as many as the matrix has room for
# Rows used for the coupling between terms, which takes one product per pair of terms. The blocks of
# single terms use all rows.
LEAST_ROWS, MOST_ROWS, MOST_PRODUCTS = 3_072, 8_192, 2_000_000


def gather(
    rows: RowPasses,
    total: LossSum,
    parameters: Floats,
    intercept: Floats,
    n_threads: int,
) -> Information:
    """Return the second derivatives at a model: parameters (n_outputs, n), intercept (n_outputs,).

    The coupling of surfaces to curves and to each other is not stored.
    """
    space, total = Space(rows, total.n_outputs, n_threads), total.on_threads(n_threads)
    F = space.lifted(rows.scores(parameters, n_threads), intercept)
    curvature = total.curvature(F)
    blocks = space.blocks(curvature.diagonal)
    thinned = thinned_within(rows.layout, total.n_outputs, MOST_COUPLED, PIECES)
    n_rows = rows.first(_enough_rows(rows.layout, total.n_outputs)).n_rows
    slopes, n_of_curves = rows.raw_sums(total.gradient(F), n_threads), rows.layout.n_of_curves
    return Information(
        blocks=blocks,
        ties=space.ties(curvature.diagonal, blocks),
        totals=space.totals(curvature.diagonal),
        factors=None if thinned is None else thinned.factors,
        coupling=np.zeros(0) if thinned is None else _coupling(space, curvature, thinned, n_rows),
        n_rows=rows.n_rows,
        n_coupled=n_rows,
        slopes=rows.layout.gather(slopes)[:, :n_of_curves],
        scatter=total.scatter(F),
        pair_blocks=space.pair_blocks(curvature.independent),
        pair_slopes=slopes[:, n_of_curves:],
    )


def _enough_rows(layout: Layout, n_outputs: int) -> int:
    n_terms = n_outputs * sum(group.n_features for group in layout.groups)
    pairs = max(1, n_terms * (n_terms + 1) // 2)
    return int(np.clip(MOST_PRODUCTS // pairs, LEAST_ROWS, MOST_ROWS))


def _coupling(space: Space, curvature: Curvature, thinned: Thinned, n_rows: int) -> Floats:
    """Return the upper half of the matrix of all outputs, from the first rows."""
    n, n_outputs = thinned.n_reached + 1, space.n_outputs
    products = _products(space, thinned, n_rows)
    some = curvature.some(np.arange(n_rows), np.full(n_rows, space.n_rows / n_rows))
    pairs = [(k, m) for k in range(n_outputs) for m in range(k, n_outputs)]
    found = products(some.between(k, m) for k, m in pairs)
    if n_outputs == 1:
        return _upper_half(found[0], space.n_threads)
    whole = np.zeros((n_outputs, n, n_outputs, n))
    for (k, m), own in zip(pairs, found, strict=True):
        whole[k, :, m] = own
    return _upper_half(whole.reshape(n_outputs * n, n_outputs * n), space.n_threads)


def _products(
    space: Space, thinned: Thinned, n_rows: int
) -> Callable[[Iterable[Floats]], Floats | list[Floats]]:
    """Return a function that computes one matrix per array of second derivatives (n_rows,)."""
    if isinstance(space.rows, Thinning):
        return space.rows.thinned(thinned, n_rows)
    groups, factors = space.rows.first(n_rows).groups, np.array(thinned.factors, dtype=np.int64)
    n, n_threads = thinned.n_reached + 1, space.n_threads

    def product(h: Floats) -> Floats:
        here = np.ascontiguousarray(h)
        found: Floats = _core.hessian_thinned(
            groups, factors, thinned.places, n, here, 1.0, n_threads
        )
        return found.reshape(n, n)

    return lambda weights: [product(h) for h in weights]


def _upper_half(matrix: Floats, n_threads: int) -> Floats:
    """Return the entries on and above the diagonal, row by row."""
    half: Floats = _core.upper_half(np.ascontiguousarray(matrix), n_threads)
    return half
