"""The backend with passes by the compiled core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from splinear import _core
from splinear._types import AnyArray, Floats
from splinear.objective.gpu.numpy_backend import CoreSurfaces, NumPyBackend
from splinear.objective.local.pair_rows import GridRows
from splinear.tables.chunks import as_floats
from splinear.terms.group import TermGroup
from splinear.terms.pair_group import Chain

__all__ = ["CoreBackend"]


class CoreBackend(NumPyBackend):
    """NumPy arrays, with passes by the core; see `backend.Backend` for the methods."""

    name = "core"

    def coded(self, group: TermGroup, n_rows: int) -> CoreCells:  # type: ignore[override]
        """Return an array for the codes of n_rows rows, to be set by `fill`."""
        codes = _core.Codes(n_rows, group.n_features, group.grid)
        rows = _core.coded_rows(codes, group.embedding.axes.core())
        return CoreCells(group, n_rows, rows, codes)

    def valued(self, group: TermGroup, X: AnyArray) -> CoreCells:  # type: ignore[override]
        """Return the rows of X as values."""
        axes, columns = group.embedding.axes.core(), group.features.astype(np.int64)
        numbers = np.arange(len(X))
        return CoreCells(group, len(X), _core.value_rows(as_floats(X), columns, axes, numbers))

    def surfaces(
        self, chains: Sequence[Chain], table: AnyArray, n_rows: int, *, exact: bool = False
    ) -> CoreSurfaces:
        """Return surfaces for n_rows rows, whose positions are still to be set."""
        return CoreSurfaces.empty(chains, table, n_rows, exact=exact)

    def pair_evidence(self, cells: AnyArray, G: Floats, H: Floats, pairs: AnyArray) -> Floats:
        """Return the evidence for interactions of pairs."""
        return GridRows(cells).evidence(G, H, pairs, 1)


@dataclass(frozen=True, eq=False)
class CoreCells:
    """The rows of a group in the core."""

    group: TermGroup
    n_rows: int
    rows: _core.Rows
    coded: _core.Codes | None = None

    real = np.dtype(np.float64)

    def fill(self, X: AnyArray, places: AnyArray) -> None:
        """Store row i of X, coded, at index places[i]; skip rows with a negative index."""
        assert self.coded is not None
        columns, axes = self.group.features.astype(np.int64), self.group.embedding.axes.core()
        self.coded.fill(as_floats(X), columns, places.astype(np.int64), axes, 1)

    def codes(self) -> AnyArray:
        """Return the codes."""
        assert self.coded is not None
        return np.asarray(self.coded.array)

    def first(self, n: int) -> CoreCells:
        """Return the first n rows."""
        return replace(self, n_rows=n, rows=_core.first_rows(self.rows, n))

    def some(self, numbers: AnyArray) -> CoreCells:
        """Return the rows at these indices."""
        rows = _core.some_rows(self.rows, numbers.astype(np.int64))
        return replace(self, n_rows=len(numbers), rows=rows)

    def expanded(self, maps: Floats) -> Floats:
        """Return the functions of all features times maps, (n_rows, n_features * n)."""
        n_features, stride, n = maps.shape
        one = np.zeros((stride * n_features, n_features, stride))
        j, s = np.divmod(np.arange(len(one)), stride)
        one[np.arange(len(one)), j, s] = 1.0
        B = self.scores(one).reshape(n_features, stride, -1)
        found = np.einsum("jsi,jsn->ijn", B, maps)
        return np.asarray(found.reshape(self.n_rows, n_features * n))

    def scores(self, tables: Floats, to: Floats | None = None) -> Floats:
        """Return the scores (n_outputs, n_rows), added to `to` if it is given."""
        flat = np.ascontiguousarray(tables.reshape(len(tables), -1))
        found: Floats = _core.score_many([self._twin], flat, 1).reshape(len(tables), -1)
        return found if to is None else np.add(to, found, out=to)

    def sums(self, R: Floats) -> Floats:
        """Return sums of functions over rows, (n_outputs, n_features, stride)."""
        found: Floats = _core.sum_many([self._twin], np.ascontiguousarray(R), 1)
        return found.reshape(len(R), *self.group.shape)

    def blocks(self, H: Floats) -> Floats:
        """Return sums of products over rows as bands, (n_outputs, n_features, stride, support)."""
        found: Floats = _core.blocks_many([self._twin], np.ascontiguousarray(H), 1)
        return found.reshape(len(H), *self.group.shape, self.group.embedding.basis.support)

    @property
    def _twin(self) -> _core.Group:
        return self.group.core(self.rows)
