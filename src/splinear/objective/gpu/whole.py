"""The whole Hessian of each output's curves, formed and factored on the device of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.losses.curvature import Curvature
from splinear.model.layout import Layout
from splinear.objective.gpu.arrays import bare
from splinear.objective.gpu.backend import Backend, Cells, DeviceArray, diagonals
from splinear.objective.gpu.frame import Frame
from splinear.objective.gpu.steps import DesignSteps, DeviceInverse
from splinear.objective.rows import Inverse
from splinear.objective.space import Space
from splinear.objective.whole_hessian import FEW_SAMPLED, forms_hessian
from splinear.terms.group import TermGroup

__all__ = ["Inverses"]

ROWS_PER_COEFFICIENT = 12  # rows that the Hessians are computed from
# Shares added to the diagonal, tried in this order, because sums are in single precision.
GROWTHS = (1e-6, 1e-5, 1e-4, 1e-3)
AT_ONCE = 2**27  # entries of a design computed at a time, including unused columns
MOST_ENTRIES = 2**28  # largest design of all rows; up to this size, steps are products with it
SAME = 2.0  # the last inverse is reused until a diagonal entry has changed by this factor


@dataclass(frozen=True, eq=False)
class Design:
    """The functions of some rows as one matrix, (n_rows, n), whose last column is 1."""

    matrix: DeviceArray
    used: AnyArray

    @classmethod
    def of(cls, backend: Backend, cells: Sequence[Cells], layout: Layout) -> Design:
        """Return the design of all rows of the cells, with a column per used parameter."""
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
    """Return the matrices from parameters to tables, (n_features, table stride, stride)."""
    n_features, stride = group.shape
    unit = np.broadcast_to(np.eye(stride)[:, None, :], (stride, n_features, stride))
    return np.ascontiguousarray(group.tables(unit.copy()).transpose(1, 2, 0))


@dataclass(eq=False)
class Inverses:
    """Computes inverses, and keeps the design and the last inverse for reuse."""

    backend: Backend
    _kept: Design | None = None
    _diagonal: Floats | None = None
    _last: DeviceArray = None  # factors of the last inverse
    _unit: DeviceArray = None  # their scale, (n_outputs, n)
    _frame: Frame | None = None
    _n_grown: int = 0  # number of GROWTHS that were too small

    def at(
        self,
        cells: Sequence[Cells],
        space: Space,
        curvature: Curvature,
        blocks: list[list[Floats]],
        *,
        steps: bool = True,
    ) -> Inverse | None:
        """Return inverses at a point, computed from the first rows of the cells.

        If steps need passes over rows, the last inverse is reused, rescaled, as long as diagonals
        have changed little. Returns None if the matrices are too large or not positive definite.
        If `steps`, the model has no terms but these curves, and the result may make steps itself.
        """
        if not forms_hessian(space.layout):
            return None
        diagonal = _penalized_diagonals(space, blocks)
        self._frame = frame = Frame.of(self.backend, space, self._frame)
        design = self._design(cells, space, diagonal.shape[1] + 1)
        has_all = steps and design.n_rows == space.n_rows
        if has_all or not self._will_do(diagonal):
            self._diagonal = diagonal
            H = _hessians(self.backend, design, frame, space, curvature, blocks)
            self._unit, self._last = self._factors(H, design.matrix.dtype)
        if self._last is None:
            return None
        scale = self._unit if has_all else self._unit * self._scale(diagonal)
        inverse = DeviceInverse(self._last, scale, frame)
        return DesignSteps(self.backend, design.matrix, inverse) if has_all else inverse

    def _factors(self, H: DeviceArray, dtype: Any) -> tuple[DeviceArray, DeviceArray]:
        """Return a scale s (n_outputs, n) that makes diagonals 1, and L^{-1} of s H s = L L'.

        The factors are of this dtype, or None if they fail for all GROWTHS of the diagonals.
        """
        unit = 1.0 / np.sqrt(np.maximum(diagonals(H), np.finfo(float).tiny))
        H *= unit[:, :, None]
        H = (H * unit[:, None, :]).astype(dtype, copy=False)
        own = diagonals(H)
        before = own.copy()
        for more in GROWTHS[self._n_grown :]:
            own[...] = before * (1.0 + more)
            found = self.backend.inverse_factors(H.copy())
            if bool(np.isfinite(found[:, -1]).all()):  # the last row depends on all others
                return unit, found
            self._n_grown += 1  # the next matrices will be similar
        self._n_grown = 0
        return unit, None

    def _scale(self, diagonal: Floats) -> DeviceArray:
        """Return the scale (n_outputs, n) of both sides of the last inverse for a new diagonal."""
        assert self._diagonal is not None
        tiny = np.finfo(float).tiny
        scale = np.sqrt(np.maximum(self._diagonal, tiny) / np.maximum(diagonal, tiny))
        return self.backend.array(np.column_stack([scale, np.ones(len(scale))]))

    def _design(self, cells: Sequence[Cells], space: Space, n_parameters: int) -> Design:
        """Return the design of all rows or, if that is too large, of those an inverse needs."""
        n = space.n_rows
        if n * n_parameters > MOST_ENTRIES:
            n = min(n, ROWS_PER_COEFFICIENT * n_parameters)
        kept = self._kept
        if kept is None or kept.n_rows < n or not np.array_equal(kept.used, space.used):
            kept = Design.of(self.backend, [own.first(n) for own in cells], space.layout)
            self._kept = kept
        return kept if kept.n_rows == n else replace(kept, matrix=kept.matrix[:n])

    def _will_do(self, diagonal: Floats) -> bool:
        """Return whether the last inverse can be reused, rescaled to this diagonal."""
        before = self._diagonal
        if before is None or self._last is None or before.shape != diagonal.shape:
            return False
        return bool(np.all(diagonal <= SAME * before) and np.all(before <= SAME * diagonal))


def _penalized_diagonals(space: Space, blocks: list[list[Floats]]) -> Floats:
    """Return the diagonals of all Hessians, penalty included, (n_outputs, n_used)."""
    penalty = _diagonal([group.penalty_bands for group in space.layout.groups])
    return np.stack([(_diagonal(own) + penalty)[space.used] for own in blocks])


def _hessians(
    backend: Backend,
    design: Design,
    frame: Frame,
    space: Space,
    curvature: Curvature,
    blocks: list[list[Floats]],
) -> DeviceArray:
    """Return the Hessians at a point, (n_outputs, n, n), from first rows that represent all."""
    n = min(design.n_rows, ROWS_PER_COEFFICIENT * design.matrix.shape[1])
    weights = bare(curvature.diagonal, backend)[:, :n] * (space.n_rows / n)
    H = backend.grams(design.matrix[:n], weights)
    # For functions that few of these rows reach, use the diagonal over all rows: their curvature
    # would be far too small.
    of_all = backend.array(np.stack([_diagonal(own)[space.used] for own in blocks]))
    own = diagonals(H)[:, :-1]
    own[...] = np.where(own < FEW_SAMPLED * of_all, of_all, own)
    if frame.levels is not None:
        H[:, :-1, :-1] += H[:, -1:, -1:] * frame.levels.bend
    H += frame.stiffness
    return H


def _diagonal(blocks: list[Floats]) -> Floats:
    return np.concatenate([own[:, :, 0].ravel() for own in blocks])
