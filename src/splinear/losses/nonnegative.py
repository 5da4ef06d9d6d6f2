"""Targets of 0 or more whose mean has a logarithm: counts, rates and amounts."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from splinear._types import AnyArray, Floats
from splinear.losses.base import Link, Loss
from splinear.losses.survey import Survey

__all__ = ["NonnegativeLoss"]

Self = TypeVar("Self", bound="NonnegativeLoss")

LEAST_LARGEST = 1e-30  # target; curvatures have its size, and are summed in single precision


class NonnegativeLoss(Loss):
    """Base of losses of targets of 0 or more, whose scores are logarithms of their mean."""

    link: ClassVar[Link | None] = "log"
    convex = True
    bytes_per_row = (24, 16)

    def allows(self, y: Floats) -> AnyArray:
        """Return whether each number is a count or a rate."""
        return y >= 0.0

    def fitted(self: Self, survey: Survey) -> Self:
        """Return the loss that knows the mean and the largest of y; raise if all are 0."""
        if not survey.total > 0.0:
            raise ValueError(
                f'loss="{self.name}" needs a target above 0 in the rows to learn from, but all '
                "targets there are 0: the logarithm of their mean would be minus infinity."
            )
        if survey.most < LEAST_LARGEST:
            raise ValueError(
                f'loss="{self.name}" cannot be computed for targets of at most {survey.most:.2g}; '
                f"multiply y to have some above {LEAST_LARGEST:g}."
            )
        return super().fitted(survey)
