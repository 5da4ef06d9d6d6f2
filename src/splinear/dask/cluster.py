"""The workers' parts of the rows, and passes over all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

import numpy as np
from dask.delayed import Delayed, delayed
from distributed import Client, Future, wait

from splinear._types import Floats
from splinear.dask.expressions import Node
from splinear.dask.making import Step, made, named
from splinear.dask.parts import Part
from splinear.dask.serving import StrayError, follow, key
from splinear.dask.shelf import Receipt
from splinear.dask.tree import IncompleteError, Sums, SumTree, runs

__all__ = ["Cluster"]

PAUSE = 0.05  # seconds, until Dask knows more of a worker that does not answer
MOST_NOTES = 32
MOST_TRIES = 100  # calls in turn that a worker does not answer although Dask says that it is there
MOST_LOST = 10  # times that a pass is made again as parts were lost

Partition = tuple[int, Delayed, Delayed, Delayed | None]


@dataclass(eq=False)
class Cluster:
    """Parts of the rows, which stay where they are, and what is asked of all of them.

    A pass sends a recipe to the workers, and adds up what they return: in a tree of parts that
    depends on their number alone (`splinear.dask.tree`). So workers change no bit. Dask makes parts
    that are lost with a worker anew, as it knows what they were made of; a pass that misses some
    is made again.

    Attributes
    ----------
    client : Client
    sample : Part
        Some rows, drawn at random from all parts, in this process.
    partitions : list of tuple
        The number of each partition that has rows, and its X, y and weights.
    parts : list of Future
        Receipts for what the workers have made of them.
    n_passes, n_bytes : int
        Passes so far, and the size of the sums that they returned, of one worker each.
    n_returned : int
        The size of all sums that workers have returned.
    has_values : bool
        Whether every part has X itself, too.
    has_sample : bool
        Whether the sample are some rows and not all.
    tell : callable or None
        Told after every pass how many there were, and the seconds that it took.
    """

    client: Client
    sample: Part
    partitions: Sequence[Partition]
    parts: list[Future[Receipt]] = field(default_factory=list)
    n_passes: int = 0
    n_bytes: int = 0
    n_returned: int = 0
    has_values: bool = False
    has_sample: bool = False
    tell: Callable[[int, float], None] | None = None
    _name: str = ""  # of the parts, in Dask
    _steps: list[tuple[type, Delayed]] = field(default_factory=list)
    _homes: dict[str, list[int]] | None = None  # None: to be asked for
    _shared: dict[int, str] = field(default_factory=dict)  # homes of parts that several have
    _notes: dict[Hashable, dict[str, Floats]] = field(default_factory=dict)

    def hold(self, step: Step, *, lies: bool = False) -> None:
        """Make one more step with every part, where it is; of a kind of step the last one counts.

        The first parts are divided among workers as neighbors, which makes for few sums to add up,
        unless what they are made of `lies` somewhere.
        """
        others = [own for own in self._steps if own[0] is not type(step)]
        self._steps = [*others, (type(step), delayed(step, pure=False))]
        self._make(len(others), lies=lies)

    def _make(self, n_done: int, *, lies: bool = False) -> None:
        """Have parts made of partitions, or of what is left of the last ones, with n_done steps."""
        before, last = self._name, self.parts
        name, n = f"splinear-part-{uuid4().hex}", len(self.partitions)
        steps, make = [step for _, step in self._steps], delayed(named, pure=False)
        parts: dict[int, Future[Receipt]] = {}
        for worker, own in self._divided(n, lies).items():
            tasks = []
            for k in own:
                number, *given = self.partitions[k]
                told = key(name, k), key(before, k), n_done
                tasks.append(make(made, number, *given, told, steps, dask_key_name=key(name, k)))
            some = self.client.compute(tasks, workers=worker and [worker], allow_other_workers=True)
            parts.update(zip(own, some, strict=True))
        self.parts, self._name, self._homes = [parts[k] for k in range(n)], name, None
        self._known_homes()
        del last  # whose parts are on the shelves until now

    def _divided(self, n: int, lies: bool) -> Mapping[str | None, list[int]]:
        """Return where new parts should be; None: where Dask finds best."""
        if self.parts:
            known: dict[str | None, list[int]] = {}
            known.update(self._known_homes())
            return known
        workers = sorted(self.client.nthreads())
        if lies or not workers:
            return {None: list(range(n))}
        spans = zip(workers, runs(n, len(workers)), strict=True)
        return {own: list(range(*span)) for own, span in spans}

    def add_up(self, *nodes: Node) -> list[Floats]:
        """Return the sums of some recipes' values over all parts, in one pass."""
        return list(self._reduced(nodes, largest=False))

    def largest(self, node: Node) -> float:
        """Return the largest value."""
        return float(self._reduced([node], largest=True)[0])

    def row_sums(self, node: Node, summed: Node, name: str) -> Floats:
        """Return sums over rows, `summed` on every part, of what `node` is per row."""
        known = self.noted(node.key)
        if name not in known:
            known[name] = self.add_up(summed)[0]
        return known[name].copy()

    def noted(self, key: Hashable) -> dict[str, Floats]:
        """Return what is known of the values of some recipe, by names: to look up and to add to.

        Only the recipes that were asked for last are remembered.
        """
        known = self._notes.pop(key, {})
        self._notes[key] = known
        if len(self._notes) > MOST_NOTES:
            del self._notes[next(iter(self._notes))]
        return known

    def _reduced(self, nodes: Sequence[Node], *, largest: bool) -> Sums:
        began = time.monotonic()
        sums = self._tried(tuple(nodes), largest)
        self.n_passes += 1
        self.n_bytes += sum(own.nbytes for own in sums)
        if self.tell is not None:
            self.tell(self.n_passes, time.monotonic() - began)
        return sums

    def _tried(self, nodes: tuple[Node, ...], largest: bool) -> Sums:
        """Ask all workers, again where some are gone, or their parts are."""
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
        """Ask all workers once."""
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
        """Return the parts of every worker, once all are computed."""
        while self._homes is None:
            wait(self.parts)
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
            else:  # some were lost, and are being computed
                time.sleep(PAUSE)
        return self._homes
