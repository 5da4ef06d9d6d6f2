"""What vectors of parameters need besides rows, as matrices on a device: penalty and levels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.devices.backend import Backend, DeviceArray
from splinear.model.group import TermGroup
from splinear.model.layout import Layout
from splinear.solvers.newton.iterate import Space
from splinear.solvers.newton.whole_hessian import numbered, penalty_entries

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
    levels: Levels | None  # None: there are none
    centering: DeviceArray | None  # (n_outputs, n_outputs): takes off what outputs have in common

    @classmethod
    def of(cls, backend: Backend, space: Space, before: Frame | None = None) -> Frame:
        """Return that of the space's layout; what is as it was in the frame before is kept."""
        places, levels = np.append(np.flatnonzero(space.used), -1), None
        if space.has_level:
            weights = np.concatenate([own.level_weights.ravel() for own in space.layout.groups])
            levels = before.levels if before is not None else None
            if levels is None or not levels.is_of(weights, places):
                levels = Levels.of(backend, space.layout, weights, places)
        stiffness = _stiffness(backend, space, len(places))
        centering, n = None, space.n_outputs
        if space.is_tied:
            centering = backend.array(np.eye(n) - 1.0 / n)
        return cls(backend, space.layout, places, stiffness, levels, centering)

    def sent(self, theta: Floats) -> DeviceArray:
        """Send a vector theta (n_outputs, n_parameters + 1)."""
        return self.backend.array(np.ascontiguousarray(theta[:, self.places]))

    def returned(self, there: DeviceArray) -> Floats:
        """Return a vector as theta."""
        out = np.zeros((len(there), len(self.layout.used) + 1))
        out[:, self.places] = self.backend.numpy(there)
        return out

    def leveled(self, there: DeviceArray) -> DeviceArray:
        """Do what `solvers.newton.iterate.Space.leveled` does."""
        if self.centering is not None:
            there = self.centering @ there
        return there if self.levels is None else there @ self.levels.moving


@dataclass(frozen=True, eq=False)
class Levels:
    """How the levels of curves go to the intercept."""

    weights: Floats  # of parameters in them, on the host
    places: AnyArray
    bend: DeviceArray  # (n - 1, n - 1): the sum over curves of outer products of these weights
    moving: DeviceArray  # (n, n): by which vectors are multiplied

    @classmethod
    def of(cls, backend: Backend, layout: Layout, weights: Floats, places: AnyArray) -> Levels:
        """Return those of a layout."""
        level, ones = _levels(layout, layout.used)
        moving = np.eye(len(places))
        moving[:-1, :-1] -= level @ ones.T
        moving[:-1, -1] = level.sum(axis=1)
        return cls(weights, places, backend.array(level @ level.T), backend.array(moving))

    def is_of(self, weights: Floats, places: AnyArray) -> bool:
        """Tell whether these are those of such weights."""
        return np.array_equal(self.weights, weights) and np.array_equal(self.places, places)


def _stiffness(backend: Backend, space: Space, n: int) -> DeviceArray:
    """Return the matrix of the penalty, (n, n)."""
    entries = list(penalty_entries(space.layout, numbered(space.used)))
    rows, columns, values = (np.concatenate(own) for own in zip(*entries, strict=True))
    out = backend.zeros((n * n,))
    at = np.append(rows * n + columns, n * n - 1)
    out[backend.array(at)] = backend.array(np.append(values, space.stiffness_of_b))
    return out.reshape(n, n)


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
