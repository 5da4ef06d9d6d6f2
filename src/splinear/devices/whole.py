"""The whole Hessian of each output's curves, factored where the rows are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.devices.arrays import bare
from splinear.devices.backend import Backend, Cells, DeviceArray
from splinear.model.group import TermGroup
from splinear.model.layout import Layout
from splinear.solvers.iterate import Space
from splinear.solvers.loss_sums import Curvature
from splinear.solvers.whole_hessian import (
    FEW_SAMPLED,
    forms_hessian,
    numbered,
    penalty_entries,
)

__all__ = ["Inverses"]

ROWS_PER_COEFFICIENT = 24  # that the Hessians are made from
# Of a diagonal, one after the other: sums in single precision have no more digits.
GROWTHS = (1e-6, 1e-5, 1e-4, 1e-3)
SAME = 2.0  # times a diagonal or its inverse: up to there the last inverse will do


@dataclass(frozen=True, eq=False)
class Design:
    """The functions of some rows as one matrix, (n_rows, n), the last column being ones."""

    matrix: DeviceArray
    used: AnyArray

    @classmethod
    def of(cls, backend: Backend, cells: Sequence[Cells], layout: Layout) -> Design:
        """Return that of all rows of the cells, by the parameters that a layout uses."""
        parts = zip(layout.groups, cells, strict=True)
        columns = [own.expanded(_from_parameters(group)) for group, own in parts]
        columns.append(backend.array(np.ones((cells[0].n_rows, 1), dtype=columns[0].dtype)))
        used = np.flatnonzero(np.append(layout.used, True))
        return cls(np.concatenate(columns, axis=1)[:, backend.array(used)], layout.used)


def _from_parameters(group: TermGroup) -> Floats:
    """Return the tables of unit vectors, (n_features, stride of tables, stride of parameters)."""
    n_features, stride = group.shape
    unit = np.broadcast_to(np.eye(stride)[:, None, :], (stride, n_features, stride))
    return np.ascontiguousarray(group.tables(unit.copy()).transpose(1, 2, 0))


@dataclass(frozen=True, eq=False)
class DeviceInverse:
    """The inverses of Hessians H = L L', one per output, as L^{-1} on the device."""

    backend: Backend
    factors: DeviceArray  # (n_outputs, n, n)
    places: AnyArray  # of the n in a vector theta

    def times(self, theta: Floats) -> Floats:
        """Multiply theta (n_outputs, n_parameters + 1) by the inverses."""
        r = self.backend.array(np.ascontiguousarray(theta[:, self.places, None]))
        z = np.swapaxes(self.factors, 1, 2) @ (self.factors @ r)
        out = np.zeros_like(theta)
        out[:, self.places] = self.backend.numpy(z[:, :, 0])
        return out


@dataclass(eq=False)
class Inverses:
    """Makes inverses, and keeps what the next may be made of: the same rows, and the last one."""

    backend: Backend
    designs: dict[int, Design] = field(default_factory=dict)  # of this many rows
    _diagonal: Floats | None = None
    _last: DeviceInverse | None = None

    def at(
        self,
        cells: Sequence[Cells],
        space: Space,
        curvature: Curvature,
        blocks: list[list[Floats]],
    ) -> DeviceInverse | None:
        """Return inverses at a point, from the first rows of the cells.

        Where diagonals have changed by little it is the last one. None if there is none, or the
        matrices would be too large.
        """
        if not forms_hessian(space.layout):
            return None
        diagonal = _penalized_diagonals(space, blocks)
        if not self._is_near(diagonal):
            n = min(space.n_rows, ROWS_PER_COEFFICIENT * (diagonal.shape[1] + 1))
            if n not in self.designs or not np.array_equal(self.designs[n].used, space.used):
                some = [own.first(n) for own in cells]
                self.designs[n] = Design.of(self.backend, some, space.layout)
            self._diagonal = diagonal
            self._last = _inverse_of(self.backend, self.designs[n], space, curvature, blocks)
        return self._last

    def _is_near(self, diagonal: Floats) -> bool:
        before = self._diagonal
        if before is None or self._last is None or before.shape != diagonal.shape:
            return False
        return bool(np.all(diagonal <= SAME * before) and np.all(before <= SAME * diagonal))


def _penalized_diagonals(space: Space, blocks: list[list[Floats]]) -> Floats:
    """Return the diagonals of all Hessians, (n_outputs, n_used)."""
    penalty = _diagonal([group.penalty_bands for group in space.layout.groups])
    return np.stack([(_diagonal(own) + penalty)[space.used] for own in blocks])


def _inverse_of(
    backend: Backend, design: Design, space: Space, curvature: Curvature, blocks: list[list[Floats]]
) -> DeviceInverse | None:
    """Return the inverses at a point, from the rows of a design, which stand for all.

    None if there are none, whatever is added to diagonals.
    """
    n = len(design.matrix)
    weights = bare(curvature.diagonal, backend)[:, :n] * (space.n_rows / n)
    H = backend.grams(design.matrix, weights)
    at = np.arange(H.shape[1])
    # Functions that few of these rows reach would be taken for free.
    of_all = np.stack([_diagonal(own)[space.used] for own in blocks])
    own, of_all = H[:, at[:-1], at[:-1]], backend.array(of_all)
    H[:, at[:-1], at[:-1]] = np.where(own < FEW_SAMPLED * of_all, of_all, own)
    of_b = H[:, -1, -1].copy()
    if space.has_level:
        levels = backend.array(_levels(space))
        H[:, :-1, :-1] += of_b[:, None, None] * (levels @ levels.T)
    H[:, -1, -1] += space.stiffness_of_b
    for to, beside, values in penalty_entries(space.layout, numbered(space.used)):
        H[:, backend.array(to), backend.array(beside)] += backend.array(values)
    factors = _factored(backend, H, at)
    places = np.append(np.flatnonzero(space.used), -1)
    return None if factors is None else DeviceInverse(backend, factors, places)


def _factored(backend: Backend, H: DeviceArray, at: AnyArray) -> DeviceArray:
    diagonal = H[:, at, at]
    for more in GROWTHS:
        H[:, at, at] = diagonal * (1.0 + more)
        found = backend.inverse_factors(H)
        if bool(np.isfinite(found).all()):
            return found
    return None


def _diagonal(blocks: list[Floats]) -> Floats:
    return np.concatenate([own[:, :, 0].ravel() for own in blocks])


def _levels(space: Space) -> Floats:
    """Return how parameters move the levels of curves, (n_used, n_curves)."""
    layout = space.layout
    columns: list[Floats] = []
    for k, group in enumerate(layout.groups):
        for j in _with_level(group):
            column = np.zeros(layout.n_parameters)
            layout.split(column)[k][j] = group.level_weights[j]
            columns.append(column[space.used])
    return np.stack(columns, axis=1)


def _with_level(group: TermGroup) -> Iterator[int]:
    if group.has_level:
        yield from map(int, np.flatnonzero(group.used.any(axis=1)))
