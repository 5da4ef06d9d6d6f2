"""The whole Hessian of each output's curves, factored where the rows are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.devices.arrays import bare
from splinear.devices.backend import Backend, Cells, DeviceArray
from splinear.devices.frame import Frame
from splinear.devices.steps import DesignSteps, DeviceInverse
from splinear.model.group import TermGroup
from splinear.model.layout import Layout
from splinear.solvers.iterate import Space
from splinear.solvers.loss_sums import Curvature
from splinear.solvers.passes import Inverse
from splinear.solvers.whole_hessian import FEW_SAMPLED, forms_hessian

__all__ = ["Inverses"]

ROWS_PER_COEFFICIENT = 12  # that the Hessians are made from
# Of a diagonal, one after the other: sums in single precision have no more digits.
GROWTHS = (1e-6, 1e-5, 1e-4, 1e-3)
AT_ONCE = 2**27  # entries that are made of rows at a time, before unused ones are left out
MOST_ENTRIES = 2**28  # of a matrix of all rows: steps are then made by products with it
SAME = 2.0  # times a diagonal or its inverse: up to there the last inverse will do
FEW_PRODUCTS = 6  # of a step by products with that matrix


@dataclass(frozen=True, eq=False)
class Design:
    """The functions of some rows as one matrix, (n_rows, n), the last column being ones."""

    matrix: DeviceArray
    used: AnyArray

    @classmethod
    def of(cls, backend: Backend, cells: Sequence[Cells], layout: Layout) -> Design:
        """Return that of all rows of the cells, by the parameters that a layout uses."""
        maps = [_from_parameters(group) for group in layout.groups]
        used, n = backend.array(np.flatnonzero(np.append(layout.used, True))), cells[0].n_rows
        step, parts = max(1, AT_ONCE // layout.n_parameters), []
        for first in range(0, n, step):
            rows = np.arange(first, min(first + step, n))
            columns = [own.some(rows).expanded(m) for own, m in zip(cells, maps, strict=True)]
            columns.append(backend.array(np.ones((len(rows), 1), dtype=columns[0].dtype)))
            parts.append(np.concatenate(columns, axis=1)[:, used])
        return cls(parts[0] if len(parts) == 1 else np.concatenate(parts), layout.used)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.matrix)


def _from_parameters(group: TermGroup) -> Floats:
    """Return the tables of unit vectors, (n_features, stride of tables, stride of parameters)."""
    n_features, stride = group.shape
    unit = np.broadcast_to(np.eye(stride)[:, None, :], (stride, n_features, stride))
    return np.ascontiguousarray(group.tables(unit.copy()).transpose(1, 2, 0))


@dataclass(eq=False)
class Inverses:
    """Makes inverses, and keeps what the next may be made of: the same rows, and the last one."""

    backend: Backend
    _kept: Design | None = None
    _diagonal: Floats | None = None
    _last: DeviceArray = None  # its factors
    _n_products: int = 0  # that the last step took

    def at(
        self,
        cells: Sequence[Cells],
        space: Space,
        curvature: Curvature,
        blocks: list[list[Floats]],
        *,
        steps: bool = True,
    ) -> Inverse | None:
        """Return inverses at a point, from the first rows of the cells.

        It is the last one, scaled, where diagonals have changed by little, or products cost little
        and the last step took few. None if there is none, or the matrices would be too large. If
        `steps`, it may make them itself: there are no terms but these curves.
        """
        if not forms_hessian(space.layout):
            return None
        diagonal, frame = _penalized_diagonals(space, blocks), Frame.of(self.backend, space)
        design = self._design(cells, space, diagonal.shape[1] + 1)
        has_all = steps and design.n_rows == space.n_rows
        if not self._will_do(diagonal, has_all):
            self._diagonal = diagonal
            self._last = _factors(self.backend, design, frame, space, curvature, blocks)
        if self._last is None:
            return None
        inverse = DeviceInverse(self._last, self._scale(diagonal), frame)
        return DesignSteps(self.backend, design.matrix, inverse, self._note) if has_all else inverse

    def _note(self, n_products: int) -> None:
        self._n_products = n_products

    def _scale(self, diagonal: Floats) -> DeviceArray:
        """Return what both sides of the last inverse are multiplied by, (n_outputs, n)."""
        assert self._diagonal is not None
        tiny = np.finfo(float).tiny
        scale = np.sqrt(np.maximum(self._diagonal, tiny) / np.maximum(diagonal, tiny))
        return self.backend.array(np.column_stack([scale, np.ones(len(scale))]))

    def _design(self, cells: Sequence[Cells], space: Space, n_parameters: int) -> Design:
        """Return the functions of all rows, or of as many as an inverse takes."""
        n = space.n_rows
        if n * n_parameters > MOST_ENTRIES:
            n = min(n, ROWS_PER_COEFFICIENT * n_parameters)
        kept = self._kept
        if kept is None or kept.n_rows < n or not np.array_equal(kept.used, space.used):
            kept = Design.of(self.backend, [own.first(n) for own in cells], space.layout)
            self._kept = kept
        return kept if kept.n_rows == n else replace(kept, matrix=kept.matrix[:n])

    def _will_do(self, diagonal: Floats, cheap: bool) -> bool:
        """Tell whether the last inverse will do, scaled so that its diagonal is this one."""
        before = self._diagonal
        if before is None or self._last is None or before.shape != diagonal.shape:
            return False
        if cheap:
            return self._n_products <= FEW_PRODUCTS
        return bool(np.all(diagonal <= SAME * before) and np.all(before <= SAME * diagonal))


def _penalized_diagonals(space: Space, blocks: list[list[Floats]]) -> Floats:
    """Return the diagonals of all Hessians, (n_outputs, n_used)."""
    penalty = _diagonal([group.penalty_bands for group in space.layout.groups])
    return np.stack([(_diagonal(own) + penalty)[space.used] for own in blocks])


def _factors(
    backend: Backend,
    design: Design,
    frame: Frame,
    space: Space,
    curvature: Curvature,
    blocks: list[list[Floats]],
) -> DeviceArray:
    """Return L^{-1} of the Hessians at a point, from the first rows, which stand for all.

    None if there are none, whatever is added to diagonals.
    """
    n = min(design.n_rows, ROWS_PER_COEFFICIENT * design.matrix.shape[1])
    weights = bare(curvature.diagonal, backend)[:, :n] * (space.n_rows / n)
    H = backend.grams(design.matrix[:n], weights)
    at = np.arange(H.shape[1])
    # Functions that few of these rows reach would be taken for free.
    of_all = np.stack([_diagonal(own)[space.used] for own in blocks])
    own, of_all = H[:, at[:-1], at[:-1]], backend.array(of_all)
    H[:, at[:-1], at[:-1]] = np.where(own < FEW_SAMPLED * of_all, of_all, own)
    if frame.level is not None:
        of_b = H[:, -1, -1].copy()
        H[:, :-1, :-1] += of_b[:, None, None] * (frame.level @ frame.level.T)
    return _factored(backend, H + frame.stiffness, at)


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
