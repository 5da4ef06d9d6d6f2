"""Surfaces over pairs of features, where a device holds the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from splinear._types import AnyArray, Floats
from splinear.devices.arrays import bare
from splinear.devices.backend import Backend, DeviceArray, Surfaces
from splinear.model.additive import Model
from splinear.model.pairs import PairGroup, chains_of, numbered_surfaces, split_blocks

__all__ = ["DeviceGrids", "DevicePairs", "SentSurfaces"]


@dataclass(frozen=True, eq=False)
class DevicePairs:
    """What `solvers.rows.pair_rows.PairRows` is, where a device holds the rows."""

    backend: Backend
    surfaces: Surfaces
    groups: tuple[PairGroup, ...]

    price = 0.08  # of a surface in a product, where the core's is 8

    @classmethod
    def of(cls, backend: Backend, groups: tuple[PairGroup, ...], n_rows: int) -> DevicePairs:
        """Make room for rows."""
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
        """Return rows of X, of which all columns are given, in double precision."""
        surfaces = self.surfaces.over(len(X), exact=True)
        surfaces.fill(X)
        return replace(self, surfaces=surfaces)

    def scores(self, tables: Floats) -> DeviceArray:
        """Return the sum of all surfaces, (n_outputs, n_rows), of tables (n_outputs, n_nodes)."""
        return self.surfaces.scores(np.ascontiguousarray(tables))

    def sums(self, R: Floats, n_threads: int) -> Floats:
        """Return the sums of R by the nodes of all surfaces, (n_outputs, n_nodes)."""
        del n_threads
        return self.backend.numpy(self.surfaces.sums(bare(R, self.backend)))

    def blocks(self, H: Floats, n_threads: int) -> list[list[Floats]]:
        """Return the blocks of sum_i h_i B_i B_i' on the diagonal for each row h of H and group."""
        del n_threads
        found = self.backend.numpy(self.surfaces.blocks(bare(H, self.backend)))
        return [split_blocks(own, self.groups) for own in found]


@dataclass(frozen=True, eq=False)
class DeviceGrids:
    """What `solvers.rows.pair_rows.GridRows` is, where a device holds the rows."""

    backend: Backend
    cells: DeviceArray

    def evidence(self, G: Floats, H: Floats, pairs: AnyArray, n_threads: int) -> Floats:
        """Return how much pairs of features say together, (n_outputs, n_pairs)."""
        del n_threads
        return self.backend.pair_evidence(self.cells, G, H, pairs)


@dataclass(frozen=True, eq=False)
class SentSurfaces:
    """The surfaces of a model, which stay on a device while rows come and go."""

    surfaces: Surfaces
    tables: DeviceArray

    @classmethod
    def of(cls, backend: Backend, model: Model) -> SentSurfaces | None:
        """Send surfaces; None: there are none."""
        groups, n = model.layout.pairs, model.layout.n_of_curves
        if not groups:
            return None
        tables = model.layout.tables(model.parameters)[:, n:]
        there, chains = backend.array(np.ascontiguousarray(tables)), chains_of(groups)
        sent = backend.surfaces(chains, numbered_surfaces(chains, groups), 0, exact=True)
        return cls(sent, there)

    def scores(self, X: DeviceArray) -> DeviceArray:
        """Return what all surfaces add to the scores of rows, (n_outputs, n_rows)."""
        own = self.surfaces.over(len(X), exact=True)
        own.fill(X)
        return own.scores(self.tables)
