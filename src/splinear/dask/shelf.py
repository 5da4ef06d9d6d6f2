"""Parts that a worker keeps beside Dask's results, which are receipts for them.

Dask writes results to disk when memory is short, and sends them to other workers. A part would be
pickled for that, with all its rows, even if these are in files already; and every pass would read
it again. A receipt is no longer than a name.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass

from distributed import Worker, get_worker

from splinear.dask.holding import Holding

__all__ = ["Receipt", "Shelf"]


@dataclass(frozen=True, eq=False)
class Receipt:
    """Says that the worker that made it has a part; of no use to others."""

    key: str  # of the result in Dask


class Shelf:
    """The parts of a worker, each as long as Dask has its receipt."""

    def __init__(self, worker: Worker) -> None:
        self._worker = weakref.ref(worker)
        self._parts: dict[str, Holding] = {}

    @classmethod
    def of(cls, worker: Worker) -> Shelf:
        """Return that of a worker."""
        return _SHELVES.setdefault(worker, cls(worker))

    @classmethod
    def here(cls) -> Shelf:
        """Return that of the worker whose task this is."""
        return cls.of(get_worker())

    def get(self, key: str) -> Holding | None:
        """Return a part, unless it is elsewhere or was lost."""
        return self._parts.get(key)

    def put(self, key: str, part: Holding) -> Receipt:
        """Keep a part; return the receipt that is to become Dask's result of this key."""
        self._clear()
        self._parts[key] = part
        receipt = Receipt(key)
        weakref.finalize(receipt, self._released, key, weakref.ref(part)).atexit = False
        return receipt

    def _released(self, key: str, part: weakref.ref[Holding]) -> None:
        """Let go of a part whose receipt is gone from memory, unless Dask has it on disk."""
        worker = self._worker()
        is_same = self._parts.get(key) is part()
        if worker is None or (is_same and key not in worker.data):
            self._parts.pop(key, None)

    def _clear(self) -> None:
        """Let go of parts whose receipts were on disk when Dask gave them up."""
        worker = self._worker()
        for key in list(self._parts):
            if worker is None or not (key in worker.data or key in worker.state.tasks):
                self._parts.pop(key, None)


_SHELVES: weakref.WeakKeyDictionary[Worker, Shelf] = weakref.WeakKeyDictionary()
