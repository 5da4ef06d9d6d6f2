"""Surfaces over the rows of all workers, with the interface of PairRows."""

from __future__ import annotations

from dataclasses import dataclass

from splinear._types import Floats
from splinear.dask.cluster import Cluster
from splinear.dask.expressions import PART, Call, Member, bare
from splinear.model.pairs import PairGroup, split_blocks
from splinear.objective.local.pair_rows import PRICE

__all__ = ["RemotePairs"]


@dataclass(frozen=True, eq=False)
class RemotePairs:
    """The counterpart of `objective.local.pair_rows.PairRows` for rows held by workers."""

    cluster: Cluster
    groups: tuple[PairGroup, ...]

    price = PRICE

    @property
    def n_pairs(self) -> int:
        """Number of surfaces."""
        return sum(group.n_pairs for group in self.groups)

    def sums(self, R: Floats, n_threads: int) -> Floats:
        """Return the gradient of sum(R * scores) with respect to tables, (n_outputs, n_nodes)."""
        del n_threads
        return self.cluster.add_up(Call(Member(PART, "surfaces"), "sums", (bare(R), 1)))[0]

    def blocks(self, H: Floats, n_threads: int) -> list[list[Floats]]:
        """Return the diagonal blocks of sum_i h_i B_i B_i' for each row h of H and each group."""
        del n_threads
        [flat] = self.cluster.add_up(Call(PART, "surface_blocks", (bare(H),)))
        return [split_blocks(own, self.groups) for own in flat]
