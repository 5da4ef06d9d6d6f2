"""The workers' parts of the rows, and passes over all parts."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

import numpy as np
from dask.delayed import Delayed, delayed
from distributed import Client, Future

from splinear._types import Floats
from splinear.dask.expressions import Node
from splinear.dask.partitions import Partition
from splinear.dask.parts import Part
from splinear.dask.serving import StrayError, follow, key
from splinear.dask.shelf import Receipt, Step, made, named
from splinear.dask.tree import IncompleteError, Sums, SumTree, runs
from splinear.dask.waiting import Waiting, release

__all__ = ["Cluster"]

PAUSE = 0.05  # seconds to wait until Dask notices that a worker does not answer
MOST_CACHED = 32
MOST_TRIES = 100  # attempts at a pass while Dask says that the workers are there
MOST_LOST = 10  # attempts at a pass after parts were lost


@dataclass(eq=False)
class Cluster:
    """Parts of the rows, which stay on their workers, and passes over all of them.

    A pass sends an expression to the workers and adds up the values that they return, in a tree
    that depends only on the number of parts (`splinear.dask.tree`). So the number of workers does
    not change a bit of the result. Dask recomputes parts that are lost with a worker; those lost
    with all workers are made anew. A pass that misses some parts is repeated.

    Attributes
    ----------
    client : Client
    sample : Part
        A random sample of rows from all parts, in this process.
    partitions : list of tuple
        The index of each partition that has rows, and the partition.
    parts : list of Future
        Receipts for the parts that workers made from the partitions.
    n_passes, n_bytes : int
        Number of passes so far, and the total size of their results.
    n_returned : int
        The total size of what all workers returned.
    has_values : bool
        Whether every part holds X itself as well.
    has_sample : bool
        Whether the sample is a proper subset of the rows.
    tell : callable or None
        Called after every pass with the number of passes and the seconds it took.
    """

    client: Client
    sample: Part
    partitions: Sequence[tuple[int, Partition]]
    parts: list[Future[Receipt]] = field(default_factory=list)
    n_passes: int = 0
    n_bytes: int = 0
    n_returned: int = 0
    has_values: bool = False
    has_sample: bool = False
    tell: Callable[[int, float], None] | None = None
    _name: str = ""  # prefix of the parts' keys in Dask
    _bound: set[str] = field(default_factory=set)  # workers on which parts should be made
    _last: list[Future[Receipt]] = field(default_factory=list)  # parts that new ones are made from
    _steps: list[tuple[type, Delayed]] = field(default_factory=list)
    _homes: dict[str, list[int]] | None = None  # parts by worker; None if not known
    _shared: dict[int, str] = field(default_factory=dict)  # worker of parts that several hold
    _cache: dict[Hashable, dict[str, Floats]] = field(default_factory=dict)

    def hold(self, step: Step, *, persisted: bool = False) -> None:
        """Apply a step to every part on its worker; it replaces an earlier step of its type.

        When parts are first made, workers get neighboring ones, so that few sums must be added up,
        unless the partitions already lie on workers (`persisted`).
        """
        others = [own for own in self._steps if own[0] is not type(step)]
        self._steps = [*others, (type(step), delayed(step, pure=False))]
        self._make(len(others), persisted=persisted)

    def _make(self, n_done: int, *, persisted: bool = False) -> None:
        """Make new parts from the last ones, to which n_done steps were applied, or partitions."""
        before, self._last = self._name, self.parts
        name, n = f"splinear-part-{uuid4().hex}", len(self.partitions)
        steps, make = [step for _, step in self._steps], delayed(named, pure=False)
        parts: dict[int, Future[Receipt]] = {}
        divided = self._divided(n, persisted)
        for worker, own in divided.items():
            tasks = []
            for k in own:
                number, given = self.partitions[k]
                told = key(name, k), key(before, k), n_done
                tasks.append(make(made, number, *given, told, steps, dask_key_name=key(name, k)))
            some = self.client.compute(tasks, workers=worker and [worker], allow_other_workers=True)
            parts.update(zip(own, some, strict=True))
        self.parts, self._name, self._homes = [parts[k] for k in range(n)], name, None
        self._bound = {worker for worker in divided if worker is not None}
        self._known_homes()
        self._last = []  # kept until now, so that workers could reuse these parts

    def release(self) -> None:
        """Let workers forget all parts."""
        release([*self.parts, *self._last])

    def _make_anew(self) -> None:
        """Make all parts after all workers were lost, because Dask would wait for the same ones.

        The old tasks are released first, so that Dask forgets which workers they were meant for.
        """
        self.release()
        self.parts = []
        self._make(len(self._steps))

    def _divided(self, n: int, persisted: bool) -> Mapping[str | None, list[int]]:
        """Return the parts to make on each worker; the key None leaves the choice to Dask."""
        if self.parts:
            known: dict[str | None, list[int]] = {}
            known.update(self._known_homes())
            return known
        workers = sorted(self.client.nthreads())
        if persisted or not workers:
            return {None: list(range(n))}
        spans = zip(workers, runs(n, len(workers)), strict=True)
        return {own: list(range(*span)) for own, span in spans}

    def add_up(self, *nodes: Node) -> list[Floats]:
        """Return the sums of expressions over all parts, in one pass."""
        return list(self._reduced(nodes, largest=False))

    def largest(self, node: Node) -> float:
        """Return the largest value of an expression over all parts."""
        return float(self._reduced([node], largest=True)[0])

    def row_sums(self, node: Node, summed: Node, name: str) -> Floats:
        """Return the sum of `summed`, which reduces `node` over rows, cached under a name."""
        known = self.cached(node.key)
        if name not in known:
            known[name] = self.add_up(summed)[0]
        return known[name].copy()

    def cached(self, key: Hashable) -> dict[str, Floats]:
        """Return the cached results of an expression, by name, as a dict that can be added to.

        Only the expressions used last are kept.
        """
        known = self._cache.pop(key, {})
        self._cache[key] = known
        if len(self._cache) > MOST_CACHED:
            del self._cache[next(iter(self._cache))]
        return known

    def forget(self) -> None:
        """Drop all cached results, because parts have another loss."""
        self._cache.clear()

    def _reduced(self, nodes: Sequence[Node], *, largest: bool) -> Sums:
        began = time.monotonic()
        sums = self._tried(tuple(nodes), largest)
        self.n_passes += 1
        self.n_bytes += sum(own.nbytes for own in sums)
        if self.tell is not None:
            self.tell(self.n_passes, time.monotonic() - began)
        return sums

    def _tried(self, nodes: tuple[Node, ...], largest: bool) -> Sums:
        """Make a pass, and repeat it if workers or parts were lost."""
        n_begun = n_lost = 0
        while True:
            homes, n_begun = self._known_homes(), n_begun + 1
            try:
                return self._asked(nodes, largest)
            except (IncompleteError, OSError) as error:
                if n_begun == MOST_TRIES or n_lost == MOST_LOST:
                    raise RuntimeError(
                        f"A pass over all rows was begun {n_begun} times, and each time workers "
                        "lost some rows or did not answer. They may be short of memory, as their "
                        "logs would say: give them more, or make partitions smaller."
                    ) from error
                is_stray = isinstance(error, StrayError)
            self._homes = None
            if is_stray:
                self._make(len(self._steps))
            else:
                time.sleep(PAUSE)
            n_lost += is_stray or self._known_homes() != homes

    def _asked(self, nodes: tuple[Node, ...], largest: bool) -> Sums:
        """Make a pass once."""
        n, homes = len(self.parts), self._known_homes()
        found = self.client.run(
            follow,
            self._name,
            n,
            nodes,
            largest,
            self._shared,
            workers=list(homes),
            on_error="return",
        )
        tree = SumTree(n, np.maximum if largest else np.add)
        for own in found.values():
            if isinstance(own, BaseException):
                raise own
            self.n_returned += sum(one.nbytes for _, sums in own for one in sums)
            tree.join(own)
        return tree.total()

    def _known_homes(self) -> dict[str, list[int]]:
        """Return the parts of every worker, after waiting until all are computed."""
        waiting = Waiting(self.client)
        while self._homes is None:
            workers = waiting.look(self.parts)
            if workers is not None:
                if workers and self._bound and workers.isdisjoint(self._bound):
                    self._make_anew()
                continue
            for part in self.parts:
                if part.status not in ("finished", "pending", "lost"):
                    part.result()
            holders = self.client.who_has(self.parts)
            each = [sorted(holders.get(part.key) or ()) for part in self.parts]
            if all(each):
                self._shared = {k: own[0] for k, own in enumerate(each) if len(own) > 1}
                self._homes = {}
                for k, own in enumerate(each):
                    self._homes.setdefault(own[0], []).append(k)
            else:  # some were lost, and are being recomputed
                time.sleep(PAUSE)
        return self._homes
