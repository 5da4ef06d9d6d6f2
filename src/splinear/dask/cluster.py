"""The workers' parts of the rows, and passes over all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from distributed import Client, Future, wait

from splinear._types import Floats
from splinear.dask.expressions import Done, Node
from splinear.dask.parts import OnValues, Part

__all__ = ["Cluster"]

FAN_IN = 16  # results of parts that are added up at a time, on some worker
LOOK_AFTER = 2.0  # seconds, after which to see whether all workers are still there

Sums = tuple[Floats, ...]


@dataclass(eq=False)
class Cluster:
    """Parts of the rows, which stay where they are, and what is asked of all of them.

    A pass sends a recipe to the workers, and adds up what they return: in the order of the parts,
    in a tree that depends on their number alone. So workers change no bit. Dask computes parts that
    are lost with a worker anew, as it knows what they were made of, and goes on.

    Attributes
    ----------
    client : Client
    parts : list of Future
    sample : Part
        Some rows, drawn at random from all parts, in this process.
    n_passes, n_bytes : int
        Passes so far, and the size of the sums that they returned.
    """

    client: Client
    parts: list[Future[Part]]
    sample: Part
    n_passes: int = 0
    n_bytes: int = 0
    values: list[Future[OnValues]] = field(
        default_factory=list
    )  # what was computed from X itself, per part
    _summed: tuple[Node, Floats] | None = None

    def add_up(self, *nodes: Node) -> list[Floats]:
        """Return the sums of some recipes' values over all parts, in one pass."""
        return list(self._reduced(nodes, _added))

    def largest(self, node: Node) -> float:
        """Return the largest value."""
        return float(self._reduced([node], _largest)[0])

    def row_sums(self, node: Node, summed: Node) -> Floats:
        """Return sums over rows, `summed` on every part, of what `node` is per row."""
        if self._summed is not None and self._summed[0] is node:
            return self._summed[1]
        return self.add_up(summed)[0]

    def remember(self, node: Node, sums: Floats) -> None:
        """Note the sums of a recipe that another pass has computed as well."""
        self._summed = (node, sums)

    def homes(self) -> list[str | None]:
        """Return the worker that holds each part; None while it is being computed."""
        holders = self.client.who_has(self.parts)
        return [min(holders.get(part.key) or (), default=None) for part in self.parts]

    def _reduced(self, nodes: Sequence[Node], reduce: Callable[..., Sums]) -> Sums:
        while True:
            homes = self.homes()
            found = self._submitted(tuple(nodes), homes, reduce)
            if self._is_done(found, homes):
                break
        sums: Sums = self.client.gather(found)
        self.n_passes += 1
        self.n_bytes += sum(own.nbytes for own in sums)
        return sums

    def _submitted(
        self, nodes: tuple[Node, ...], homes: list[str | None], reduce: Callable[..., Sums]
    ) -> Future[Sums]:
        """Ask every part at its home: a part must not travel to where a recipe happens to be."""
        told = self.client.submit(_same, nodes, pure=False)
        more: Sequence[Future[OnValues] | None] = self.values or [None] * len(self.parts)
        found = [
            self.client.submit(_followed, part, told, values, pure=False, workers=home)
            for part, values, home in zip(self.parts, more, homes, strict=True)
        ]
        while len(found) > 1:
            groups = [found[k : k + FAN_IN] for k in range(0, len(found), FAN_IN)]
            found = [self.client.submit(reduce, *group, pure=False) for group in groups]
        return found[0]

    def _is_done(self, found: Future[Sums], homes: list[str | None]) -> bool:
        """Wait for a result; False if a home is gone, whose parts Dask now computes elsewhere."""
        while True:
            try:
                wait(found, timeout=LOOK_AFTER)
            except TimeoutError:
                if not {home for home in homes if home is not None} <= set(self.client.nthreads()):
                    return False
            else:
                return True


def _same(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return the recipes: one task makes them known to all workers."""
    return nodes


def _followed(part: Part, nodes: tuple[Node, ...], values: object) -> Sums:
    """Follow recipes for the rows of a part."""
    done: Done = {}
    own = part.with_values(values)
    return tuple(np.asarray(node.on(own, done), dtype=np.float64) for node in nodes)


def _added(*parts: Sums) -> Sums:
    sums = [np.array(own) for own in parts[0]]
    for part in parts[1:]:
        for total, own in zip(sums, part, strict=True):
            total += own
    return tuple(sums)


def _largest(*parts: Sums) -> Sums:
    return tuple(np.maximum.reduce(list(own)) for own in zip(*parts, strict=True))
