"""Storage of row data on a worker: in memory while there is room, and then in files.

Every pass reads all parts in turn. So some parts always stay in memory, and the others in files
that are written once; if parts took turns in memory, each would be written and read in every pass.
"""

from __future__ import annotations

import mmap
import os
import pickle
import tempfile
import weakref
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar

import numpy as np
from distributed import Worker, get_worker

from splinear import _core
from splinear._types import AnyArray
from splinear.terms.group import TermGroup

__all__ = ["Kept", "Room", "mapped_codes"]

# Share of a worker's memory limit that the process with its parts may use: Dask begins to write
# results to disk at 0.6, and reading X needs the rest.
FULL = 0.4
IN_USE = 2**14  # rows of a memory map that are in memory at a time

T = TypeVar("T")


class Room:
    """A worker's memory for parts, and its folder for files.

    Parameters
    ----------
    n_bytes : float
        Infinite if there is no limit.
    folder : str or None
    """

    def __init__(self, n_bytes: float, folder: str | None) -> None:
        self.left, self.folder, self._lock = n_bytes, folder, Lock()

    @classmethod
    def here(cls) -> Room:
        """Return the room of the worker that runs this task."""
        worker = get_worker()
        if worker not in _ROOMS:
            limit = worker.memory_manager.memory_limit or np.inf
            left = max(0.0, FULL * limit - worker.monitor.get_process_memory())
            own = cls(left, worker.local_directory)
            _ROOMS.setdefault(worker, own)
        return _ROOMS[worker]

    def take(self, n_bytes: int, owner: object) -> bool:
        """Reserve memory until `owner` is deleted; return False if there is not enough."""
        with self._lock:
            if n_bytes > self.left:
                return False
            self.left -= n_bytes
        weakref.finalize(owner, self._give_back, n_bytes)
        return True

    def _give_back(self, n_bytes: int) -> None:
        self.left += n_bytes  # without the lock, which an interrupted thread may hold


_ROOMS: weakref.WeakKeyDictionary[Worker, Room] = weakref.WeakKeyDictionary()


class Kept(Generic[T]):
    """A large object, in memory or in a file from which it is read each time."""

    def __init__(self, value: T, n_bytes: int) -> None:
        room = Room.here()
        self._value: T | None = value
        if not room.take(n_bytes, self):
            self._value, self._path = None, _written(value, room.folder)
            weakref.finalize(self, _removed, self._path)

    @property
    def is_in_memory(self) -> bool:
        """Whether it is in memory and not in a file."""
        return self._value is not None

    def get(self) -> T:
        """Return the object."""
        if self._value is not None:
            return self._value
        value: T = pickle.loads(self._path.read_bytes())
        return value


def _written(value: object, folder: str | None) -> Path:
    number, name = tempfile.mkstemp(dir=folder, prefix="splinear-")
    with os.fdopen(number, "wb") as file:
        pickle.dump(value, file, protocol=5)
    return Path(name)


def _removed(path: Path) -> None:
    path.unlink(missing_ok=True)


def mapped_codes(array: AnyArray, group: TermGroup, room: Room) -> _core.Codes:
    """Return codes (n_rows, n_features) in a memory map of an unnamed file."""
    with tempfile.TemporaryFile(dir=room.folder) as file:
        file.write(np.ascontiguousarray(array).data)
        file.flush()
        pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    there = np.frombuffer(pages, dtype=array.dtype).reshape(array.shape)
    return _core.Codes(there, group.grid, IN_USE)
