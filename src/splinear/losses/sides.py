"""Margins of classes: one class against the others."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeVar

import numpy as np

from splinear._types import AnyArray
from splinear.losses.base import Link, Offset
from splinear.losses.classes import ClassLoss
from splinear.losses.margin import MarginLoss, Posed

__all__ = ["SideLoss"]

Self = TypeVar("Self", bound="SideLoss")


@dataclass(frozen=True, eq=False)
class SideLoss(ClassLoss, MarginLoss):
    """Base of losses of a margin m = y f, with y = 1 for the rows of a class and -1 for the others.

    Two classes are one problem; several, and labels, are one problem each.
    """

    classes: AnyArray | None = field(default=None, repr=False)
    has_labels: bool = field(default=False, repr=False)

    link: ClassVar[Link | None] = None

    @property
    def n_problems(self) -> int:
        """Number of unrelated problems."""
        return self.n_outputs if self.classes is not None else 1

    def of_classes(self: Self, classes: AnyArray, *, has_labels: bool) -> ClassLoss:
        """Return the loss of these classes or labels."""
        return replace(self, classes=classes, has_labels=has_labels)

    def sides(self, k: int, y: AnyArray) -> AnyArray:
        """Return 1 for the rows of output k and -1 for the others, given y as numbers."""
        one = 1 if self.task == "binary" else k
        member = y[:, k] > 0 if self.has_labels else y == one
        return np.where(member, np.int8(1), np.int8(-1))

    def posed(self, y: AnyArray, offset: Offset = None) -> Posed:
        """M = y f."""
        return Posed(y, None if offset is None else -y * offset)
