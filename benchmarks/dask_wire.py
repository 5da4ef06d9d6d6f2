"""What a pass over the rows of a cluster costs: seconds beside the core's own, bytes on the wire.

Bytes are those that distributed itself hands to its connections: its writes are counted in every
worker, and in this process, where client and scheduler are.
"""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import Client
from distributed.comm import tcp

from splinear.dask.losses import RemoteSum
from splinear.dask.passes import RemoteRows
from splinear.dask.serving import _followed, key
from splinear.dask.shelf import Shelf

N_PASSES = 9


@dataclass(frozen=True)
class Pass:
    """A pass that scores all rows anew and adds up the gradient, by tables and in all."""

    seconds: float  # the median
    alone: float  # seconds that the busiest worker takes without Dask
    n_sums: int  # bytes of the sums of one worker
    n_recipe: int  # bytes of the tables that it is sent
    from_workers: int  # bytes on the wire in all
    to_workers: int  # and those that scheduler and client write
    memory: float  # bytes of the largest worker so far


def count_writes() -> None:
    """Count the bytes that this process writes to its connections from now on."""
    if hasattr(tcp.TCP, "n_written"):
        return
    original = tcp.TCP.write

    async def write(self: Any, *args: Any, **kwargs: Any) -> Any:
        n = await original(self, *args, **kwargs)
        tcp.TCP.n_written += n  # type: ignore[attr-defined]
        return n

    tcp.TCP.n_written = 0  # type: ignore[attr-defined]
    tcp.TCP.write = write  # type: ignore[method-assign]


def written() -> int:
    """Return how many there were."""
    return int(getattr(tcp.TCP, "n_written", 0))


def measure(client: Client, cluster: Any, model: Any) -> Pass:
    """Make some passes with a model."""
    client.run(count_writes)
    count_writes()
    like, layout = cluster.sample.sums[0], model._model.layout
    rows, total = RemoteRows(cluster, layout, 1, 1.0, None), RemoteSum(like, cluster, 0)
    before, seconds, sent, alone = cluster.n_returned, [], [], []
    for k in range(N_PASSES):
        R = total.gradient(rows.scores((1.0 + 1e-6 * k) * model._model.parameters))
        there, here, began = sum(client.run(written).values()), written(), time.perf_counter()
        rows.raw_sums(R)
        seconds.append(time.perf_counter() - began)
        own = written() - here
        sent.append((sum(client.run(written).values()) - there, own))
    n_workers = len(client.nthreads())
    n_sums = (cluster.n_returned - before) // (N_PASSES * n_workers)
    for k in range(3):
        R = total.gradient(rows.scores((1.0 + 1e-5 * (k + 1)) * model._model.parameters))
        alone.append(max(client.run(_alone, cluster._name, len(cluster.parts), R.node).values()))
    # Workers tell the scheduler of themselves from time to time: the least is without that.
    up, down = (min(own) for own in zip(*sent, strict=True))
    return Pass(
        seconds=float(np.median(seconds)),
        alone=float(np.median(alone)),
        n_sums=n_sums,
        n_recipe=layout.tables(model._model.parameters).nbytes,
        from_workers=up - _asking(client),
        to_workers=down,
        memory=1024.0 * max(client.run(_peak).values()),
    )


def _asking(client: Client) -> int:
    """Return what workers write when they are asked how much they have written."""
    counts = [sum(client.run(written).values()) for _ in range(N_PASSES)]
    return int(np.diff(counts).min())


def _alone(name: str, n: int, slopes: Any, dask_worker: Any) -> float:
    """Return the seconds of a worker that adds up the same sums, one part after the other."""
    from splinear.dask.expressions import PART, Apply, Call

    nodes = (Call(PART, "raw_sums", (slopes,)), Apply(np.sum, (slopes,), {"axis": 1}))
    began = time.perf_counter()
    shelf = Shelf.of(dask_worker)
    for k in range(n):
        if (part := shelf.get(key(name, k))) is not None:
            _followed(part, nodes)
    return time.perf_counter() - began


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
