"""Parts that a worker keeps outside of Dask, whose results are only receipts for them.

Dask writes results to disk when memory is short, and copies them to other workers. For that a part
would be pickled with all its rows, even if these are in files already, and every pass would read it
again. A receipt is just a name.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from distributed import Worker, get_worker

from splinear._types import Input
from splinear.dask.holding import Holding

__all__ = ["Receipt", "Shelf", "Step", "made", "named"]


@dataclass(frozen=True, eq=False)
class Receipt:
    """Stands for a part on the worker that made it; it is of no use elsewhere."""

    key: str  # of the result in Dask


class Shelf:
    """The parts of a worker, each kept as long as Dask keeps its receipt."""

    def __init__(self, worker: Worker) -> None:
        self._worker = weakref.ref(worker)
        self._parts: dict[str, Holding] = {}

    @classmethod
    def of(cls, worker: Worker) -> Shelf:
        """Return the shelf of a worker."""
        return _SHELVES.setdefault(worker, cls(worker))

    @classmethod
    def here(cls) -> Shelf:
        """Return the shelf of the worker that runs this task."""
        return cls.of(get_worker())

    def get(self, key: str) -> Holding | None:
        """Return a part; None if this worker does not have it."""
        return self._parts.get(key)

    def put(self, key: str, part: Holding) -> Receipt:
        """Keep a part, and return the receipt that becomes Dask's result for this key."""
        self._clear()
        self._parts[key] = part
        receipt = Receipt(key)
        weakref.finalize(receipt, self._released, key, weakref.ref(part)).atexit = False
        return receipt

    def _released(self, key: str, part: weakref.ref[Holding]) -> None:
        """Release a part whose receipt has left memory, unless Dask has it on disk."""
        worker = self._worker()
        is_same = self._parts.get(key) is part()
        if worker is None or (is_same and key not in worker.data):
            self._parts.pop(key, None)

    def _clear(self) -> None:
        """Release parts whose receipts were on disk when Dask released them."""
        worker = self._worker()
        for key in list(self._parts):
            if worker is None or not (key in worker.data or key in worker.state.tasks):
                self._parts.pop(key, None)


_SHELVES: weakref.WeakKeyDictionary[Worker, Shelf] = weakref.WeakKeyDictionary()


class Step(Protocol):
    """A step that extends a part, given its partition."""

    def __call__(
        self, part: Holding | None, X: Input, y: Input, weights: Input, offset: Input
    ) -> Holding:
        """Return the extended part; the first step gets None."""
        ...


def made(
    X: Input,
    y: Input,
    weights: Input,
    offset: Input,
    told: tuple[str, str, int],
    steps: Sequence[Step],
) -> Receipt:
    """Make the part of a partition, and return its receipt.

    `told` holds the receipt's key, the key of an earlier part, and the number of steps applied to
    that, which are skipped if this worker has it.
    """
    key, before, n_done = told
    shelf = Shelf.here()
    part = shelf.get(before)
    for step in steps if part is None else steps[n_done:]:
        part = step(part, X, y, weights, offset)
    assert part is not None
    return shelf.put(key, part)


def named(task: Callable[..., object], k: int, *args: object) -> object:
    """Run a task; its errors name the partition k."""
    try:
        return task(*args)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{error} (in partition {k})") from error
