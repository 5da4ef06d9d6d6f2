"""Surfaces over pairs of features: in NumPy, slow and plain, and by the core."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from splinear import _core
from splinear._types import AnyArray, Floats
from splinear.model.chains import Chain
from splinear.model.pairs import N_BANDS
from splinear.objective.local.pair_rows import MOST_CELLS, standardized

__all__ = ["CoreSurfaces", "NumPySurfaces", "grid_evidence"]

Own = TypeVar("Own", bound="NumPySurfaces")

CORNERS = ((0, 0), (0, 1), (1, 0), (1, 1))  # of a cell


@dataclass(frozen=True, eq=False)
class NumPySurfaces:
    """Surfaces, and the rows' positions on their chains; see `backend.Surfaces`."""

    chains: tuple[Chain, ...]
    table: AnyArray  # (n_surfaces, 4): the indices of two chains, then their numbers of nodes
    positions: AnyArray  # (n_chains, n_rows)

    @classmethod
    def empty(
        cls: type[Own], chains: Sequence[Chain], table: AnyArray, n_rows: int, *, exact: bool
    ) -> Own:
        """Return surfaces for n_rows rows, whose positions are still to be set."""
        dtype = np.float64 if exact else np.float32
        return cls(tuple(chains), table, np.zeros((len(chains), n_rows), dtype=dtype))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.positions.shape[1])

    def over(self: Own, n_rows: int, *, exact: bool) -> Own:
        """Return the same surfaces for n_rows other rows, whose positions are still to be set."""
        return type(self).empty(self.chains, self.table, n_rows, exact=exact)

    def first(self: Own, n: int) -> Own:
        """Return the first n rows."""
        return replace(self, positions=np.ascontiguousarray(self.positions[:, :n]))

    def fill(self, X: AnyArray, places: AnyArray | None = None) -> None:
        """Store the position of row i of X at index places[i] (i if places is None)."""
        places = np.arange(len(X)) if places is None else places
        there = (places >= 0) & (places < self.n_rows)
        for to, chain in zip(self.positions, self.chains, strict=True):
            to[places[there]] = chain.positions(np.asarray(X)[there, chain.feature])

    def scores(self, tables: Floats) -> Floats:
        """Return the sum of all surfaces with tables (n_outputs, n_nodes): (n_outputs, n_rows)."""
        out = np.zeros((len(tables), self.n_rows))
        for nodes, weights in self._cells():
            for node, w in zip(nodes, weights, strict=True):
                out += w * tables[:, node]
        return out

    def sums(self, R: Floats) -> Floats:
        """Return the sums of R over the nodes of all surfaces, (n_outputs, n_nodes)."""
        out = np.zeros((len(R), self._n_nodes))
        for nodes, weights in self._cells():
            for node, w in zip(nodes, weights, strict=True):
                np.add.at(out.T, node, (w * R).T)
        return out

    def blocks(self, H: Floats) -> Floats:
        """Return the diagonal blocks of sum_i h_i B_i B_i' as bands, (n_outputs, n_nodes, 5)."""
        out = np.zeros((len(H), self._n_nodes, N_BANDS))
        for nodes, weights in self._cells():
            for a, (row, column) in enumerate(CORNERS):
                for b, (other_row, other_column) in enumerate(CORNERS[a:], start=a):
                    across = other_column - column
                    band = across if row == other_row else 3 + across
                    products = weights[a] * weights[b] * H
                    np.add.at(out[:, :, band].T, nodes[a], products.T)
        return out

    @property
    def _n_nodes(self) -> int:
        return int((self.table[:, 2] * self.table[:, 3]).sum())

    def _cells(self) -> Iterator[tuple[list[AnyArray], list[Floats]]]:
        """Yield, per surface, the nodes and weights of the four corners of every row's cell."""
        start = 0
        for first, second, n_first, n_second in self.table:
            p, q = self.positions[[first, second]].astype(np.float64)
            there = (p >= 0) & (q >= 0)
            k = np.clip(p.astype(np.intp), 0, n_first - 2)
            m = np.clip(q.astype(np.intp), 0, n_second - 2)
            along, across = p - k, q - m
            nodes = [start + (k + r) * n_second + (m + c) for r, c in CORNERS]
            weights = [
                np.where(there, (along if r else 1 - along) * (across if c else 1 - across), 0.0)
                for r, c in CORNERS
            ]
            yield nodes, weights
            start += n_first * n_second


@dataclass(frozen=True, eq=False)
class CoreSurfaces(NumPySurfaces):
    """The same surfaces, computed by the core."""

    def scores(self, tables: Floats) -> Floats:
        """Return the sum of all surfaces."""
        return self._twin.score(np.ascontiguousarray(tables), 1)

    def sums(self, R: Floats) -> Floats:
        """Return the sums of R over the nodes of all surfaces."""
        return self._twin.sum(np.ascontiguousarray(R), 1)

    def blocks(self, H: Floats) -> Floats:
        """Return the diagonal blocks of sum_i h_i B_i B_i' as bands."""
        return self._twin.blocks(np.ascontiguousarray(H), 1).reshape(len(H), -1, N_BANDS)

    @property
    def _twin(self) -> _core.Surfaces | _core.ExactSurfaces:
        kind = _core.Surfaces if self.positions.dtype == np.float32 else _core.ExactSurfaces
        return kind(self.positions, np.ascontiguousarray(self.table, dtype=np.int64))


def grid_evidence(cells: AnyArray, G: Floats, H: Floats, pairs: AnyArray) -> Floats:
    """Return the evidence for interactions of pairs, (n_outputs, n_pairs)."""
    n, side = len(G), MOST_CELLS
    out = np.zeros((n, len(pairs)))
    for k, (first, second) in enumerate(pairs):
        at, sums = cells[first].astype(np.intp) * side + cells[second], np.zeros((2 * n, side**2))
        np.add.at(sums.T, at, np.concatenate([G, H]).T)
        out[:, k] = standardized(sums[:n], sums[n:])
    return out
