"""Positions of the training rows on the chains of surfaces, and passes over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from splinear import _core
from splinear._caching import cached_property
from splinear._types import AnyArray, Floats
from splinear.objective.local.order import Order
from splinear.tables.chunks import as_dense
from splinear.tables.table import Table
from splinear.terms.pair_group import Chain, PairGroup, split_blocks, surfaces

__all__ = [
    "MOST_CELLS",
    "PRICE",
    "GridRows",
    "PairRows",
    "crossed_cells",
    "nearest_nodes",
    "positions_of",
    "standardized",
]

PRICE = 8.0  # relative cost of a surface per row, in a product with the Hessian
MOST_CELLS = 16  # of a grid per feature, including that of missing values


@dataclass(frozen=True, eq=False)
class PairRows:
    """The rows' positions on the chains of all surfaces, 4 bytes per row and chain.

    Positions computed from values in full precision have double precision.

    Attributes
    ----------
    chains : tuple of Chain
        The distinct chains of all surfaces.
    positions : ndarray of shape (n_chains, n_rows)
    groups : tuple of PairGroup
        Only their shapes and chains are used here.
    """

    chains: tuple[Chain, ...]
    positions: NDArray[np.float32] | Floats
    groups: tuple[PairGroup, ...]

    price = PRICE

    @cached_property
    def _core(self) -> _core.Surfaces | _core.ExactSurfaces:
        return surfaces(self.positions, self.chains, self.groups)

    @property
    def n_pairs(self) -> int:
        """Number of surfaces."""
        return sum(group.n_pairs for group in self.groups)

    def first(self, n: int) -> PairRows:
        """Return the first n rows."""
        return PairRows(self.chains, self.positions[:, :n].copy(), self.groups)

    def some(self, numbers: AnyArray) -> PairRows:
        """Return the rows at these indices."""
        return PairRows(self.chains, self.positions[:, numbers].copy(), self.groups)

    def of_values(self, X: AnyArray, numbers: AnyArray) -> PairRows:
        """Return the rows `numbers` of X, which has all columns, in double precision."""
        positions = [chain.positions(X[numbers, chain.feature]) for chain in self.chains]
        return PairRows(self.chains, np.stack(positions), self.groups)

    def scores(self, tables: Floats, n_threads: int) -> Floats:
        """Return the sum of all surfaces, (n_outputs, n_rows), for tables (n_outputs, n_nodes)."""
        return self._core.score(np.ascontiguousarray(tables), n_threads)

    def sums(self, R: Floats, n_threads: int) -> Floats:
        """Return the gradient of sum(R * scores) with respect to tables, (n_outputs, n_nodes)."""
        return self._core.sum(np.ascontiguousarray(R), n_threads)

    def blocks(self, H: Floats, n_threads: int) -> list[list[Floats]]:
        """Return the diagonal blocks of sum_i h_i B_i B_i' for each row h of H and each group.

        Their bands have the shape (n_pairs, size, 5); see PairGroup.band_distances.
        """
        found = self._core.blocks(np.ascontiguousarray(H), n_threads)
        return [split_blocks(own, self.groups) for own in found]


@dataclass(frozen=True, eq=False)
class GridRows:
    """The rows' cells on coarse grids, from which interactions are found.

    Attributes
    ----------
    cells : ndarray of shape (n_features, n_rows)
        Indices from 0 to 15.
    """

    cells: NDArray[np.uint8]

    def crossed(self, at: AnyArray, fold: AnyArray) -> GridRows:
        """Return the rows' cells on the chains of their fold; see `crossed_cells`."""
        return GridRows(crossed_cells(self.cells, at, fold))

    def evidence(self, G: Floats, H: Floats, pairs: AnyArray, n_threads: int) -> Floats:
        """Return the evidence z for interactions of pairs (n_pairs, 2), (n_outputs, n_pairs).

        G and H (n_outputs, n_rows) are the first and second derivatives of the losses.
        """
        found, to = [], np.ascontiguousarray
        for g, h in zip(G, H, strict=True):
            found.append(_core.pair_evidence(self.cells, to(g), to(h), pairs, n_threads))
        return np.stack(found)


def crossed_cells(cells: AnyArray, at: AnyArray, fold: AnyArray) -> AnyArray:
    """Return cells (n_features, n_rows), for every row those of its fold.

    `cells` is (n_chains, n_rows), and `at` (n_folds, n_features) the chain of each fold and
    feature.
    """
    out: AnyArray = cells[at[0]]
    for k in range(1, len(at)):
        differs = at[k] != at[0]
        if differs.any():
            here = fold == k
            for j in np.flatnonzero(differs).tolist():
                out[j, here] = cells[int(at[k, j]), here]
    return out


def nearest_nodes(positions: AnyArray) -> NDArray[np.uint8]:
    """Return the index of the node nearest to each position, in the same shape."""
    nodes: NDArray[np.uint8] = np.clip(np.rint(positions), 0, MOST_CELLS - 1).astype(np.uint8)
    return nodes


def standardized(G: Floats, H: Floats) -> Floats:
    """Return the evidence z (n_pairs,) of grids of derivatives G and H (n_pairs, n_cells).

    The formula is in `splinear.solvers.pairs.interactions` and core/pairs/evidence.hpp.
    """
    q = H / (H + 1.0)
    found = 0.5 * (G**2 / (H + 1.0)).sum(axis=1)
    mean, variance = 0.5 * q.sum(axis=1), 0.5 * (q**2).sum(axis=1)
    spread = np.sqrt(np.maximum(variance, np.finfo(float).tiny))
    return np.where(variance > 0.0, (found - mean) / spread, 0.0)


def positions_of(
    chains: Sequence[Chain], table: Table, order: Order, n: int
) -> NDArray[np.float32]:
    """Return the positions of the first n rows of a table in training order, (n_chains, n)."""
    out = np.empty((len(chains), n), dtype=np.float32)
    columns = np.array([chain.feature for chain in chains], dtype=np.intp)
    for here, piece in table.chunks(columns):
        places = order.of(here)
        taken = (places >= 0) & (places < n)
        values, to = as_dense(piece)[taken], places[taken]
        for k, chain in enumerate(chains):
            out[k, to] = chain.positions(values[:, k])
    return out
