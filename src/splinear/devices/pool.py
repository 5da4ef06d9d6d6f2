"""The rows of a working set and their inner products, on the device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.devices.arrays import RowArray, bare
from splinear.devices.backend import Backend, Boxed, Cells, DeviceArray
from splinear.model.group import TermGroup
from splinear.model.layout import Layout
from splinear.solvers.hinge.box import Box

__all__ = ["Pool", "solved"]

MOST_ROWS = 2**15
ROOM = 0.5  # share of the free memory to use
SWEEPS = 6  # sweeps of coordinate descent at the start of a round
MOST_STEPS = 12  # Newton steps in a round


class Pool:
    """Embedded rows and their inner products K; both grow as rows are added.

    An embedded row is phi = M'B of all features side by side, where M M' is the inverse of the
    penalty matrix. The model with weights sum_i b_i phi_i has the scores K b. Embedded rows are
    stored in a unit that makes their largest entries about 1.
    """

    def __init__(
        self, backend: Backend, cells: Sequence[Cells], layout: Layout, bias: float
    ) -> None:
        self._backend, self._cells, self._layout, self._bias = backend, cells, layout, bias
        maps = [_embedding(group) for group in layout.groups]
        self._unit = max([float(np.abs(own).max(initial=0.0)) for own in maps], default=0.0) or 1.0
        self._maps = [own / self._unit for own in maps]
        self.numbers: AnyArray = np.zeros(0, dtype=np.intp)
        self._is_held = np.zeros(cells[0].n_rows, dtype=bool)
        self._embedded: DeviceArray = None
        self._products: DeviceArray = None

    @property
    def most(self) -> int:
        """Largest number of rows that fit in memory."""
        free, n = self._backend.free_bytes(), MOST_ROWS
        if free is None:
            return n
        # A row takes 6 bytes per parameter while it is embedded (single and half precision), and
        # 2 * 4 bytes per row of the pool (K and its copy while it grows).
        while n > 128 and n * (6 * self._layout.n_parameters + 8 * n) > ROOM * free:
            n //= 2
        return n

    def hold(self, numbers: AnyArray) -> None:
        """Add these rows to the pool; the rows it has may be dropped if memory is short."""
        more = np.sort(numbers[~self._is_held[numbers]])
        if len(self.numbers) and len(self.numbers) + len(more) > self.most:
            self._is_held[:] = False
            self.numbers, self._products, more = self.numbers[:0], None, np.sort(numbers)
        if not len(more):
            return
        self._is_held[more] = True
        own, n = self._backend.rounded(self._embed(more)), len(self.numbers)
        self.numbers = np.concatenate([self.numbers, more])
        embedded = self._room(own, len(self.numbers))
        embedded[n:] = own
        below = self._inner(own, embedded)
        if n:
            K = np.empty_like(below, shape=(len(self.numbers),) * 2)
            K[n:], K[:n, :n], K[:n, n:] = below, self._products, below[:, :n].T
            below = K
        self._products = below

    def _room(self, like: DeviceArray, n: int) -> DeviceArray:
        """Return an array for n embedded rows, which starts with those of the pool."""
        before = self._embedded
        if before is None or len(before) < n:
            most = max(n, min(self.most, self._cells[0].n_rows))
            self._embedded = np.empty_like(like, shape=(most, like.shape[1]))
            if before is not None:
                self._embedded[: len(before)] = before
        return self._embedded[:n]

    def descended(self, box: Box, b: Floats, gradient: Floats, close: float) -> Floats:
        """Return b of all rows after solving for that of the pool's rows.

        No violation within the pool is then much above `close`. Arrays are (n_outputs, n_rows).
        """
        backend = self._backend
        at, out = backend.array(self.numbers), bare(b, backend).copy()
        own = box.mapped(lambda values: bare(values, backend)[:, at])
        slope = bare(gradient, backend)[:, at]
        out[:, at] = solved(backend.boxed(self._products, own, out[:, at], slope), close)
        return cast(Floats, RowArray(out, backend))

    def sums(self, b: Floats) -> Floats:
        """Return the gradient of sum(b * scores) with respect to the parameters.

        Only rows where b is not 0 are read.
        """
        there = bare(b, self._backend)
        at = np.flatnonzero((there != 0.0).any(axis=0))
        R, layout = there[:, at], self._layout
        tables = [own.some(at).sums(R).reshape(len(R), -1) for own in self._cells]
        return layout.gather(self._backend.numpy(np.concatenate(tables, axis=1)))

    def _embed(self, numbers: AnyArray) -> DeviceArray:
        pairs = zip(self._cells, self._maps, strict=True)
        parts = [own.some(numbers).expanded(maps) for own, maps in pairs]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def _inner(self, A: DeviceArray, B: DeviceArray) -> DeviceArray:
        found = self._backend.inner(A, B)
        found *= self._unit**2
        found += self._bias**2
        return found


def solved(boxed: Boxed, close: float) -> DeviceArray:
    """Return b after sweeps of coordinate descent and Newton steps of the free variables.

    Stops when no violation is above `close`.
    """
    boxed.descend(SWEEPS)
    for _ in range(MOST_STEPS):
        boxed.step_free()
        if boxed.violation() <= close:
            break
        boxed.descend(1)
    return boxed.b


def _embedding(group: TermGroup) -> Floats:
    """Return M of every feature, (n_features, stride, stride), mapping tables to embedded rows.

    Rows of unused parameters are 0.
    """
    n_features, stride = group.shape
    unit = np.broadcast_to(np.eye(stride)[:, None, :], (stride, n_features, stride)).copy()
    inverse = np.asarray(group.soften(unit)).transpose(1, 0, 2)
    unused = ~group.used
    at = np.arange(stride)
    inverse[:, at, at] += unused
    M: Floats = np.linalg.cholesky(inverse).astype(np.float64)
    M[unused] = 0.0
    return np.ascontiguousarray(group.tables(M.transpose(2, 0, 1)).transpose(1, 2, 0))
