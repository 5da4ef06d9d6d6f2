"""The rows that a step of Newton's method is based on: all of them, or a sample."""

from __future__ import annotations

from splinear._caching import cached_property
from splinear._types import Floats
from splinear.losses.curvature import Curvature
from splinear.solvers.newton.calibration import Blocks, Calibration
from splinear.solvers.newton.iterate import Iterate, Space
from splinear.solvers.newton.passes import Inverse, Inverting

__all__ = ["Part"]


class Part:
    """The rows used for the Hessian at a point: all, or a sample of about n."""

    def __init__(self, at: Iterate, n: int) -> None:
        self.is_whole = n > at.space.rows.n_sampled
        self.all_rows, self.all_curvature = at.space, at.step_curvature
        self.space, self.curvature = self.all_rows, self.all_curvature
        self._at, self._is_own = at, self.is_whole and at.is_bare
        if not self.is_whole:
            some, self.curvature = at.space.rows.sampled(self.curvature, n, at.space.n_threads)
            self.space = at.space.over(some)

    @cached_property
    def seen(self) -> Blocks:
        """The diagonal blocks of curves from these rows."""
        return self._at.blocks if self._is_own else self.space.blocks(self.curvature.diagonal)

    @cached_property
    def ties(self) -> Floats:
        """The coupling of curves' tables to the intercept."""
        if self._is_own:
            return self._at.ties
        return self.space.ties(self.curvature.diagonal, self.seen)

    @cached_property
    def calibration(self) -> Calibration | None:
        """The correction for functions that are nonzero in too few rows of a sample, or None."""
        at = self._at
        if self.is_whole or at.space.rows.is_here or self.space.n_rows >= at.space.n_rows:
            return None
        of_all = _joined(at.blocks, at.pair_blocks)
        return Calibration.between(
            self.space.layout, _joined(self.seen, self._seen_of_pairs), of_all
        )

    @property
    def blocks(self) -> Blocks:
        """The diagonal blocks of curves, calibrated."""
        return [one[: len(self.space.layout.groups)] for one in self._all_blocks]

    @property
    def pair_blocks(self) -> Blocks:
        """The diagonal blocks of surfaces, calibrated."""
        if not self.space.layout.pairs:
            return self._seen_of_pairs
        return [one[len(self.space.layout.groups) :] for one in self._all_blocks]

    @cached_property
    def _seen_of_pairs(self) -> Blocks:
        if self._is_own:
            return self._at.pair_blocks
        return self.space.pair_blocks(self.curvature.diagonal)

    @cached_property
    def _all_blocks(self) -> Blocks:
        own = _joined(self.seen, self._seen_of_pairs)
        return own if self.calibration is None else self.calibration.added(own)

    def inverse(self) -> Inverse | None:
        """Return the inverse of the Hessian if the rows can compute it, otherwise None.

        For all rows, the blocks at the point itself are accurate enough, and known already.
        """
        rows = self.space.rows
        if not isinstance(rows, Inverting):
            return None
        blocks = self._at.blocks if self.is_whole else self.blocks
        return rows.inverse(self.space, self.curvature, blocks)

    def of_dense(self, n: int) -> tuple[Space, Curvature, Blocks, Calibration | None]:
        """Return a space whose first n rows make the dense preconditioner, and values for it.

        These are the curvature, the blocks of curves, and their calibration (or None).
        """
        space, curvature = self.all_rows, self.all_curvature
        if space.rows.is_here:
            return space, curvature, self.blocks, None
        if not self.is_whole:
            return self.space, self.curvature, self.seen, self.calibration
        some, curvature = space.rows.sampled(curvature, n, space.n_threads)
        space = space.over(some)
        seen, curves = space.blocks(curvature.diagonal), space.layout.with_pairs([])
        return space, curvature, seen, Calibration.between(curves, seen, self.blocks)


def _joined(curves: Blocks, surfaces: Blocks) -> Blocks:
    return [[*own, *more] for own, more in zip(curves, surfaces, strict=True)]
