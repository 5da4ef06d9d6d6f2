"""Preconditioners from the diagonal blocks of the penalized Hessian: one per feature or surface.

Those of curves are banded for B-splines, and together one banded matrix. `Arrow` factors them with
their coupling to the intercept, and `SurfaceBlocks` those of surfaces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg.lapack import dpbtrs

from splinear import _core
from splinear._types import AnyArray, Floats
from splinear.model.factoring import factor_with, factored_surfaces
from splinear.model.layout import Layout
from splinear.objective.local.training_rows import TrainingRows
from splinear.objective.space import Space
from splinear.objective.watch import Watch
from splinear.terms.group import TermGroup
from splinear.terms.pair_group import PairGroup
from splinear.terms.varying_group import VaryingGroup

__all__ = ["Arrow", "SurfaceBlocks", "band_products", "factored", "penalized_bands"]


class Arrow:
    """The factored blocks of one output's curves, and their coupling to the intercept."""

    def __init__(self, space: Space, blocks: list[Floats], ties: Floats, of_b: float) -> None:
        self._of_b, self._n_threads = of_b, space.n_threads
        parts = zip(space.layout.groups, blocks, space.layout.split(ties), strict=True)
        of_level = of_b * space.has_level
        self._groups = [
            factored(group, own, u, of_b, of_level, space.n_threads) for group, own, u in parts
        ]

    def solve(self, r: Floats) -> Floats:
        """Return r (n, n_of_curves + 1) multiplied by the inverse."""
        solved: Floats = _core.solve_arrow(
            self._groups, self._of_b, np.ascontiguousarray(r), self._n_threads
        )
        return solved

    def least(
        self,
        space: Space,
        rows: TrainingRows,
        h: Floats,
        gradient: Floats,
        limits: _core.StepLimits,
        watch: Watch,
    ) -> _core.FoundStep:
        """Minimize gradient's + 1/2 s'H s by conjugate gradients, in one call of the core.

        H is the Hessian of the rows' curves, with second derivatives h (n_rows,); it is
        preconditioned by these blocks. An exception that occurs meanwhile, such as Ctrl-C, is
        raised here.
        """
        found, error = _core.least_step(
            rows.groups,
            np.ascontiguousarray(h),
            [group.core_penalty for group in space.layout.groups],
            self._groups,
            self._of_b,
            None if space.is_free else space.precision_of_b,
            np.ascontiguousarray(gradient),
            limits,
            watch,
            self._n_threads,
        )
        if isinstance(error, BaseException):
            raise error
        return found

    def solve_curves(self, r: Floats) -> Floats:
        """Return r (n, n_of_curves), with 0 for the intercept, multiplied by the inverse."""
        return self.solve(np.column_stack([r, np.zeros(len(r))]))[:, :-1]


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
        line, _, precision = group.lines
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


class SurfaceBlocks:
    """The factored blocks of all surfaces of one output, as a preconditioner."""

    def __init__(self, layout: Layout, blocks: Sequence[Floats]) -> None:
        self.layout = layout
        pairs = zip(layout.pairs, blocks, strict=True)
        self._solve = [_solver(group, own) for group, own in pairs]

    def solve(self, r: Floats) -> Floats:
        """Return the surfaces' part of flat vectors (..., n_parameters) times the inverse."""
        parts = zip(self._solve, self.layout.split_pairs(r), strict=True)
        return self.layout.join([solve(part) for solve, part in parts])


def _solver(group: PairGroup, blocks: Floats) -> Callable[[Floats], Floats]:
    """Return a function that multiplies a group's part of flat vectors by the inverse."""
    if isinstance(group, VaryingGroup):
        return _solver_of_curves(group, blocks)
    factor = factored_surfaces(group, blocks)

    def solve(part: Floats) -> Floats:
        flat = group.scatter(part).reshape(-1, group.n_pairs * group.size)
        y = dpbtrs(factor, flat.T, lower=1)[0].T.reshape(part.shape)
        return np.where(group.used, group.from_tables(y) + group.soften_shared(part), 0.0)

    return solve


def _solver_of_curves(group: VaryingGroup, blocks: Floats) -> Callable[[Floats], Floats]:
    """Return the same for varying coefficients, curve by curve, with their levels integrated out.

    These are left to other terms, as those of curves are to the intercept.
    """
    own = group.blocks_of_curves(blocks)
    u = group.ties_of_curves(own)
    factor = factored(group.curve, own, u, 1.0, 0.0, 1)

    def solve(part: Floats) -> Floats:
        r = group.curves_of(part)
        flat = np.ascontiguousarray(r).reshape(-1, r.shape[-1] * r.shape[-2])
        padded = np.column_stack([flat, np.zeros(len(flat))])
        found: Floats = _core.solve_arrow([factor], 1.0, padded, 1)[:, :-1]
        return np.where(group.used, group.from_curves(found.reshape(r.shape)), 0.0)

    return solve
