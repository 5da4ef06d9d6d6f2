"""A preconditioner from the diagonal blocks of one output's curves, and steps computed with it."""

from __future__ import annotations

import numpy as np

from splinear import _core
from splinear._types import Floats
from splinear.solvers.newton.banded import factored
from splinear.solvers.newton.iterate import Space
from splinear.solvers.problems.watch import Watch
from splinear.solvers.rows.training_rows import TrainingRows

__all__ = ["Arrow"]


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
            None if space.is_free else space.stiffness_of_b,
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
