"""What workers do in a pass: follow recipes for the parts that they hold.

A pass is one call per worker, beside Dask's tasks: the scheduler of these would take far longer
than the pass itself.
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
    """There are receipts without their parts: Dask has brought them from another worker."""


def key(name: str, k: int) -> str:
    """Return what Dask calls part number k of some parts."""
    return f"{name}-{k}"


async def follow(
    name: str,
    n: int,
    nodes: tuple[Node, ...],
    largest: bool,
    homes: Mapping[int, str],
    dask_worker: Worker,
) -> list[tuple[Span, Sums]]:
    """Return what some recipes come to over the parts of this worker, out of n.

    `homes` are the workers of parts that are in several places.
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
    """Return threads of a worker's own: as many as it has for tasks, as these wait for passes."""
    if worker not in _POOLS:
        _POOLS[worker] = ThreadPoolExecutor(worker.state.nthreads, "splinear")
    return _POOLS[worker]


def _followed(part: Holding, nodes: tuple[Node, ...]) -> Sums:
    """Follow recipes for the rows of a part."""
    done: Done = {}
    with part.in_use() as own:
        # Copies: what a part keeps must not change with what becomes of the sums.
        return tuple(np.array(node.on(own, done), dtype=np.float64) for node in nodes)
