"""Surfaces over pairs of features, for rows on a device."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.model.additive import Model
from splinear.objective.gpu.arrays import bare
from splinear.objective.gpu.backend import Backend, DeviceArray, Surfaces
from splinear.objective.local.pair_rows import crossed_cells
from splinear.terms.pair_group import PairGroup, chains_of, numbered_surfaces, split_blocks

__all__ = ["DeviceGrids", "DevicePairs", "SentSurfaces"]


@dataclass(frozen=True, eq=False)
class DevicePairs:
    """`objective.local.pair_rows.PairRows` for rows on a device."""

    backend: Backend
    surfaces: Surfaces
    groups: tuple[PairGroup, ...]

    price = 0.08  # relative cost of a surface per row, in a product; 8 for the core

    @classmethod
    def of(cls, backend: Backend, groups: tuple[PairGroup, ...], n_rows: int) -> DevicePairs:
        """Return the surfaces of groups for n_rows rows, whose positions are still to be set."""
        chains = chains_of(groups)
        table = numbered_surfaces(chains, groups)
        return cls(backend, backend.surfaces(chains, table, n_rows), groups)

    @property
    def n_pairs(self) -> int:
        """Number of surfaces."""
        return sum(group.n_pairs for group in self.groups)

    def first(self, n: int) -> DevicePairs:
        """Return the first n rows alone."""
        return replace(self, surfaces=self.surfaces.first(n))

    def of_values(self, X: DeviceArray) -> DevicePairs:
        """Return the surfaces at the rows of X, which has all columns, in double precision."""
        surfaces = self.surfaces.over(len(X), exact=True)
        surfaces.fill(X)
        return replace(self, surfaces=surfaces)

    def scores(self, tables: Floats) -> DeviceArray:
        """Return the sum of all surfaces with tables (n_outputs, n_nodes): (n_outputs, n_rows)."""
        return self.surfaces.scores(np.ascontiguousarray(tables))

    def sums(self, R: Floats, n_threads: int) -> Floats:
        """Return the sums of R over the nodes of all surfaces, (n_outputs, n_nodes)."""
        del n_threads
        return self.backend.numpy(self.surfaces.sums(bare(R, self.backend)))

    def blocks(self, H: Floats, n_threads: int) -> list[list[Floats]]:
        """Return the diagonal blocks of sum_i h_i B_i B_i' for each row h of H and group."""
        del n_threads
        found = self.backend.numpy(self.surfaces.blocks(bare(H, self.backend)))
        return [split_blocks(own, self.groups) for own in found]


@dataclass(frozen=True, eq=False)
class DeviceGrids:
    """`objective.local.pair_rows.GridRows` for rows on a device."""

    backend: Backend
    cells: DeviceArray  # (n_features, n_rows)

    def crossed(self, at: AnyArray, fold: AnyArray) -> DeviceGrids:
        """Return the rows' cells on the chains of their fold; see `crossed_cells`."""
        here = self.backend.array(fold)
        return DeviceGrids(self.backend, crossed_cells(self.cells, at, here))

    def evidence(self, G: Floats, H: Floats, pairs: AnyArray, n_threads: int) -> Floats:
        """Return the evidence for interactions of pairs, (n_outputs, n_pairs)."""
        del n_threads
        return self.backend.pair_evidence(self.cells, G, H, pairs)


@dataclass(frozen=True, eq=False)
class SentSurfaces:
    """The surfaces of a model, kept on a device for predictions."""

    surfaces: Surfaces
    tables: DeviceArray

    @classmethod
    def of(cls, backend: Backend, model: Model) -> SentSurfaces | None:
        """Copy the surfaces of a model to the device; None if it has none."""
        groups, n = model.layout.pairs, model.layout.n_of_curves
        if not groups:
            return None
        tables = model.layout.tables(model.parameters)[:, n:]
        there, chains = backend.array(np.ascontiguousarray(tables)), chains_of(groups)
        sent = backend.surfaces(chains, numbered_surfaces(chains, groups), 0, exact=True)
        return cls(sent, there)

    def scores(self, X: DeviceArray) -> DeviceArray:
        """Return the sum of all surfaces at the rows of X, (n_outputs, n_rows)."""
        own = self.surfaces.over(len(X), exact=True)
        own.fill(X)
        return own.scores(self.tables)
