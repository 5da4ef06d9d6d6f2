"""The workers' side of a pass: evaluates expressions for the parts that a worker holds.

A pass is one direct call per worker and not a set of Dask tasks, whose scheduling would take far
longer than the pass itself.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from weakref import WeakKeyDictionary

import numpy as np
from distributed import Worker

from splinear.dask.expressions import Done, Node
from splinear.dask.holding import Holding
from splinear.dask.shelf import Shelf
from splinear.dask.tree import IncompleteError, Span, Sums, SumTree

__all__ = ["StrayError", "follow", "key"]

_POOLS: WeakKeyDictionary[Worker, ThreadPoolExecutor] = WeakKeyDictionary()


class StrayError(IncompleteError):
    """A worker has receipts without their parts, because Dask copied them from another worker."""


def key(name: str, k: int) -> str:
    """Return Dask's key of part number k."""
    return f"{name}-{k}"


async def follow(
    name: str,
    n: int,
    nodes: tuple[Node, ...],
    largest: bool,
    homes: Mapping[int, str],
    dask_worker: Worker,
) -> list[tuple[Span, Sums]]:
    """Return the sums of expressions over this worker's parts, out of n, as nodes of a tree.

    `homes` names the responsible worker for parts that several hold.
    """
    here = dask_worker.address
    mine = [k for k in range(n) if key(name, k) in dask_worker.data and homes.get(k, here) == here]
    shelf = Shelf.of(dask_worker)
    parts = {k: part for k in mine if (part := shelf.get(key(name, k))) is not None}
    if len(parts) < len(mine):
        raise StrayError
    tree, waiting = SumTree(n, np.maximum if largest else np.add), deque(mine)
    loop, pool = asyncio.get_running_loop(), _pool(dask_worker)

    async def take_turns() -> None:
        while waiting:
            k = waiting.popleft()
            try:
                sums = await loop.run_in_executor(pool, _followed, parts[k], nodes)
            except BaseException:
                waiting.clear()
                raise
            tree.put((k, k + 1), sums)

    await asyncio.gather(*(take_turns() for _ in range(dask_worker.state.nthreads)))
    return tree.nodes()


def _pool(worker: Worker) -> ThreadPoolExecutor:
    """Return a thread pool for passes, of the size of the worker's own, which is for tasks."""
    if worker not in _POOLS:
        _POOLS[worker] = ThreadPoolExecutor(worker.state.nthreads, "splinear")
    return _POOLS[worker]


def _followed(part: Holding, nodes: tuple[Node, ...]) -> Sums:
    """Return the values of expressions for the rows of a part."""
    done: Done = {}
    with part.in_use() as own:
        # Copies, so that adding to the sums does not change what a part caches.
        return tuple(np.array(node.on(own, done), dtype=np.float64) for node in nodes)
