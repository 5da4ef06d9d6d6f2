"""What vectors of parameters need besides rows, as matrices on a device: penalty and levels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.devices.backend import Backend, DeviceArray
from splinear.model.group import TermGroup
from splinear.model.layout import Layout
from splinear.solvers.iterate import Space
from splinear.solvers.whole_hessian import numbered, penalty_entries

__all__ = ["Frame"]


@dataclass(frozen=True, eq=False)
class Frame:
    """Vectors (n_outputs, n) of the parameters that a layout uses, the intercept at the end.

    They are short, so that the penalty may be a matrix: one product instead of many small calls.
    """

    backend: Backend
    layout: Layout
    places: AnyArray  # of the n in a vector theta
    stiffness: DeviceArray  # (n, n), the matrix of the penalty
    level: DeviceArray | None  # (n - 1, n_curves): the level of each curve; None: there are none
    ones: DeviceArray  # (n - 1, n_curves): what moves the curve as a whole
    is_tied: bool

    @classmethod
    def of(cls, backend: Backend, space: Space) -> Frame:
        """Return that of the space's layout."""
        to, used = backend.array, space.used
        n = int(used.sum()) + 1
        stiffness = backend.zeros((n, n))
        for row, column, values in penalty_entries(space.layout, numbered(used)):
            stiffness[to(row), to(column)] = to(values)
        stiffness[-1, -1] = space.stiffness_of_b
        level = ones = None
        if space.has_level:
            level, ones = (to(own) for own in _levels(space.layout, used))
        places = np.append(np.flatnonzero(used), -1)
        return cls(backend, space.layout, places, stiffness, level, ones, space.is_tied)

    def sent(self, theta: Floats) -> DeviceArray:
        """Send a vector theta (n_outputs, n_parameters + 1)."""
        return self.backend.array(np.ascontiguousarray(theta[:, self.places]))

    def returned(self, there: DeviceArray) -> Floats:
        """Return a vector as theta."""
        out = np.zeros((len(there), len(self.layout.used) + 1))
        out[:, self.places] = self.backend.numpy(there)
        return out

    def leveled(self, there: DeviceArray) -> DeviceArray:
        """Do what :meth:`~splinear.solvers.iterate.Space.leveled` does."""
        if self.is_tied:
            there = there - there.mean(axis=0)
        if self.level is not None:
            levels = there[:, :-1] @ self.level
            there = there.copy()
            there[:, :-1] -= levels @ self.ones.T
            there[:, -1] += levels.sum(axis=1)
        return there


def _levels(layout: Layout, used: AnyArray) -> tuple[Floats, Floats]:
    """Return how parameters move the levels of curves, and which of them a curve has."""
    weights, has, numbers = (np.zeros(layout.n_parameters) for _ in range(3))
    n = 0
    for k, group in enumerate(layout.groups):
        curves = np.array(list(_with_level(group)), dtype=np.intp)
        if len(curves):
            layout.split(weights)[k][curves] = group.level_weights[curves]
            layout.split(has)[k][curves, : group.size] = group.used[curves, : group.size]
            layout.split(numbers)[k][curves] = n + np.arange(len(curves))[:, None]
            n += len(curves)
    at, curve = np.arange(int(used.sum())), numbers[used].astype(np.intp)
    level, ones = np.zeros((2, len(at), max(n, 1)))
    level[at, curve], ones[at, curve] = weights[used], has[used]
    return level, ones


def _with_level(group: TermGroup) -> Iterator[int]:
    if group.has_level:
        yield from map(int, np.flatnonzero(group.used.any(axis=1)))
