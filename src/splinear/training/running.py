"""Running problems side by side on threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import TypeVar

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

from splinear.solvers.problems.watch import Watch

__all__ = ["one_blas_thread", "side_by_side", "thread_count"]

T = TypeVar("T")

FEW_ROWS = 64  # that the core scores at a time
MOST_THREADS = 4096  # whatever n_jobs says


def thread_count(n_jobs: int | None, n_rows: int | None = None) -> int:
    """Return how many threads `n_jobs` stands for, as in joblib; 1 where rows are few."""
    if n_rows is not None and n_rows <= FEW_ROWS:
        return 1
    return min(int(effective_n_jobs(n_jobs)), MOST_THREADS)


@cache
def _blas(per_thread: bool) -> ThreadpoolController:
    """Return the libraries of linear algebra whose limits hold per thread, or those of all threads.

    OpenMP keeps a limit per thread; the other ways of threading have one for the process.
    """
    found = ThreadpoolController().select(user_api="blas")
    paths = [
        library.filepath
        for library in found.lib_controllers
        if (getattr(library, "threading_layer", None) == "openmp") == per_thread
    ]
    return found.select(filepath=paths)


class _SharedLimit:
    """One thread for linear algebra, for the whole process, while anybody is inside.

    The first one in sets the limit, the last one out lifts it. If each restored what it had found,
    the last one out might restore another's limit, for good.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._n_inside = 0
        self._lift: Callable[[], None] | None = None  # None: there is no limit

    def enter(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._end()
                self._take_control()
                limits = _blas(per_thread=False).limit(limits=1)
                self._lift = limits.restore_original_limits
            self._n_inside += 1

    def leave(self) -> None:
        with self._lock:
            self._n_inside = max(self._n_inside - 1, 0)
            if self._n_inside == 0:
                self._end()

    def after_fork(self) -> None:
        """Forget the threads that were inside: a forked process does not have them.

        Their limit is lifted by the next one who comes or leaves, not here: a process that has just
        been forked off had better not start the threads of linear algebra.
        """
        self._lock = Lock()
        self._n_inside = 0

    def _end(self) -> None:
        if self._lift is not None:
            self._take_control()
            self._lift()
            self._lift = None
            self._take_control()  # and leave it to the next one

    def _take_control(self) -> None:
        """Let any thread set limits; threadpoolctl may ignore all but the first that has done so.

        The fit that lifts the limit need not be the one that set it.
        """
        for library in _blas(per_thread=False).lib_controllers:
            if hasattr(library, "clear_controlling_thread"):
                library.clear_controlling_thread(force=True)


_SHARED = _SharedLimit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_SHARED.after_fork)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep NumPy's and SciPy's linear algebra to one thread.

    With more its results would depend on their number, and its matrices here are small.
    """
    _SHARED.enter()
    try:
        with _blas(per_thread=True).limit(limits=1):
            yield
    finally:
        _SHARED.leave()


def side_by_side(tasks: Sequence[Callable[[], T]], n_threads: int, watch: Watch) -> list[T]:
    """Run the tasks on threads. Ctrl-C stops all of them, and is kept in the watch."""
    if n_threads == 1 or len(tasks) == 1:
        return [task() for task in tasks]
    with ThreadPoolExecutor(n_threads) as pool:
        futures = [pool.submit(task) for task in tasks]
        try:
            wait(futures)
        except BaseException as error:
            watch.fail(error)
        return [future.result() for future in futures]
