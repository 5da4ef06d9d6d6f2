"""What is learned from which rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from splinear._types import AnyArray
from splinear.model.layout import Layout
from splinear.solvers.losses import Loss, SmoothLoss
from splinear.solvers.problem import Result, Start
from splinear.solvers.rows import TrainingRows
from splinear.solvers.smooth import Sum
from splinear.training.outputs.base import Outputs, Problems, Target
from splinear.training.weighted import WeightedRows

__all__ = ["TrainingSet"]

Found = TypeVar("Found", Result, Start)


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Weighted rows and their target, from which the problems for solvers are posed.

    A solver sees what the target's centre leaves; `centred` and `restored` go there and back.
    """

    weighted: WeightedRows
    target: Target

    @property
    def rows(self) -> TrainingRows:
        """The rows as the core reads them."""
        return self.weighted.rows

    @property
    def outputs(self) -> Outputs:
        """What the model will predict."""
        return self.target.outputs

    def within(self, kept: AnyArray) -> TrainingSet:
        """Return the same rows, of which only those in `kept` (n_given,) count: a fold."""
        return replace(self, weighted=self.weighted.within(kept))

    def with_layout(self, layout: Layout) -> TrainingSet:
        """Return the same set for a layout of the same groups."""
        return replace(self, weighted=self.weighted.with_layout(layout))

    def problems(self, loss: Loss, bias: float) -> Problems:
        """Pose the problem of each output for dual coordinate descent, for C = 1."""
        return self.target.problems(self.weighted, loss, bias)

    def sums(self, loss: SmoothLoss, rows: TrainingRows | None = None) -> list[Sum]:
        """Return the sums of losses for Newton's method, over all rows or these of them."""
        weighted = self.weighted if rows is None else self.weighted.over(rows)
        return self.target.sums(weighted, loss)

    def centred(self, found: Sequence[Found]) -> list[Found]:
        """Take the centre off the intercepts."""
        return self._shifted(found, -1.0)

    def restored(self, found: Sequence[Found]) -> list[Found]:
        """Put the centre back."""
        return self._shifted(found, 1.0)

    def _shifted(self, found: Sequence[Found], sign: float) -> list[Found]:
        shift = sign * self.target.centre(self.weighted)
        if shift == 0:
            return list(found)
        return [replace(one, intercept=one.intercept + shift) for one in found]
