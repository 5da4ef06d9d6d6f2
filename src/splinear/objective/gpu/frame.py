"""Vectors of parameters on a device, with the penalty and the levels of curves as matrices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from splinear._types import AnyArray, Floats
from splinear.model.layout import Layout
from splinear.objective.gpu.backend import Backend, DeviceArray
from splinear.objective.space import Space
from splinear.objective.whole_hessian import numbered, penalty_entries
from splinear.terms.group import TermGroup

__all__ = ["Frame"]


@dataclass(frozen=True, eq=False)
class Frame:
    """Vectors (n_outputs, n) of the n - 1 parameters that a layout uses, then the intercept.

    They are short enough for a dense penalty matrix: one product instead of many small calls.
    """

    backend: Backend
    layout: Layout
    places: AnyArray  # (n,), their indices in a vector theta
    stiffness: DeviceArray  # (n, n), the penalty matrix
    levels: Levels | None  # None if no curve has a level
    centering: DeviceArray | None  # (n_outputs, n_outputs): subtracts the mean over outputs

    @classmethod
    def of(cls, backend: Backend, space: Space, before: Frame | None = None) -> Frame:
        """Return the frame of the space's layout; reuse the levels of `before` if still valid."""
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
        """Copy theta (n_outputs, n_parameters + 1) to the device, as a vector (n_outputs, n)."""
        return self.backend.array(np.ascontiguousarray(theta[:, self.places]))

    def returned(self, there: DeviceArray) -> Floats:
        """Copy a vector (n_outputs, n) to the host, as theta (n_outputs, n_parameters + 1)."""
        out = np.zeros((len(there), len(self.layout.used) + 1))
        out[:, self.places] = self.backend.numpy(there)
        return out

    def leveled(self, there: DeviceArray) -> DeviceArray:
        """Apply `objective.space.Space.leveled` to a vector."""
        if self.centering is not None:
            there = self.centering @ there
        return there if self.levels is None else there @ self.levels.moving


@dataclass(frozen=True, eq=False)
class Levels:
    """The matrix that moves the levels of curves to the intercept."""

    weights: Floats  # of all parameters in the levels of their curves, on the host
    places: AnyArray
    bend: DeviceArray  # (n - 1, n - 1): the sum over curves of w w', w being a curve's weights
    moving: DeviceArray  # (n, n): a vector times this has its levels in the intercept

    @classmethod
    def of(cls, backend: Backend, layout: Layout, weights: Floats, places: AnyArray) -> Levels:
        """Return the levels of a layout."""
        level, ones = _levels(layout, layout.used)
        moving = np.eye(len(places))
        moving[:-1, :-1] -= level @ ones.T
        moving[:-1, -1] = level.sum(axis=1)
        return cls(weights, places, backend.array(level @ level.T), backend.array(moving))

    def is_of(self, weights: Floats, places: AnyArray) -> bool:
        """Return whether the levels have these weights and places."""
        return np.array_equal(self.weights, weights) and np.array_equal(self.places, places)


def _stiffness(backend: Backend, space: Space, n: int) -> DeviceArray:
    """Return the penalty matrix, (n, n)."""
    entries = list(penalty_entries(space.layout, numbered(space.used)))
    rows, columns, values = (np.concatenate(own) for own in zip(*entries, strict=True))
    summed = sparse.coo_array((values, (rows, columns)), shape=(n, n)).tocsr().tocoo()
    out = backend.zeros((n * n,))
    at = np.append(summed.row.astype(np.int64) * n + summed.col, n * n - 1)
    out[backend.array(at)] = backend.array(np.append(summed.data, space.precision_of_b))
    return out.reshape(n, n)


def _levels(layout: Layout, used: AnyArray) -> tuple[Floats, Floats]:
    """Return two matrices (n_used, n_curves).

    The first holds the weight of each parameter in the level of each curve, the second is 1 where a
    parameter belongs to a curve, and 0 elsewhere.
    """
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
