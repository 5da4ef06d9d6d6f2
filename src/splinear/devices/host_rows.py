"""Some of the rows that a device holds, on the host: as dual coordinate descent reads rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from splinear import _core
from splinear._types import AnyArray
from splinear.model.group import TermGroup
from splinear.model.layout import Layout
from splinear.solvers.coding import copied_codes

__all__ = ["HostRows", "coded_rows", "value_rows"]


@dataclass(frozen=True, eq=False)
class HostRows:
    """What dual coordinate descent asks of :class:`~splinear.solvers.rows.TrainingRows`."""

    layout: Layout
    parts: tuple[_core.Rows, ...]  # one per group

    @property
    def groups(self) -> list[_core.Group]:
        """The groups of the layout over these rows."""
        pairs = zip(self.layout.groups, self.parts, strict=True)
        return [group.core(part) for group, part in pairs]

    def with_layout(self, layout: Layout) -> HostRows:
        """Return the same rows for a layout of the same groups."""
        return replace(self, layout=layout)

    def in_unit(self, unit: float, n_threads: int) -> tuple[list[_core.Group], None]:
        """Return the groups for embeddings in a unit of which this is the square."""
        del n_threads
        return self.with_layout(self.layout.scaled(1.0 / unit)).groups, None

    def some(self, numbers: AnyArray) -> HostRows:
        """Return the rows of these numbers."""
        at = numbers.astype(np.int64)
        return replace(self, parts=tuple(_core.some_rows(part, at) for part in self.parts))


def coded_rows(codes: AnyArray, group: TermGroup) -> _core.Rows:
    """Return the rows that codes (n_rows, n_features) stand for."""
    return _core.coded_rows(copied_codes(codes, group), group.embedding.axes.core())


def value_rows(values: AnyArray, group: TermGroup, columns: AnyArray) -> _core.Rows:
    """Return rows of values, the group's features being these columns of them."""
    axes, numbers = group.embedding.axes.core(), np.arange(len(values))
    return _core.value_rows(values, columns.astype(np.int64), axes, numbers)
