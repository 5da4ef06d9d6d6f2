"""Threads: how many, one for linear algebra, and tasks that run in parallel."""

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

from splinear.objective.watch import Watch

__all__ = ["one_blas_thread", "side_by_side", "thread_count"]

T = TypeVar("T")

FEW_ROWS = 64  # rows that the core scores per batch
MOST_THREADS = 4096  # whatever n_jobs says


def thread_count(n_jobs: int | None, n_rows: int | None = None) -> int:
    """Return the number of threads for `n_jobs`, as in joblib; 1 if there are few rows."""
    if n_rows is not None and n_rows <= FEW_ROWS:
        return 1
    return min(int(effective_n_jobs(n_jobs)), MOST_THREADS)


@cache
def _blas(per_thread: bool) -> ThreadpoolController:
    """Return the BLAS libraries whose thread limits are per thread, or those per process.

    OpenMP keeps one limit per thread; other threading layers have one for the process.
    """
    found = ThreadpoolController().select(user_api="blas")
    paths = [
        library.filepath
        for library in found.lib_controllers
        if (getattr(library, "threading_layer", None) == "openmp") == per_thread
    ]
    return found.select(filepath=paths)


class _SharedLimit:
    """Limits BLAS to one thread, for the whole process, while any fit is running.

    The first fit to enter sets the limit and the last one to leave lifts it. If each fit restored
    the limit it had found, the last could restore that of another fit, permanently.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._n_inside = 0
        self._lift: Callable[[], None] | None = None  # None while there is no limit

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
        """Forget the fits that were running: a forked process does not have their threads.

        Their limit is lifted by the next fit that enters or leaves, not here, because a process
        should not start BLAS threads right after a fork.
        """
        self._lock = Lock()
        self._n_inside = 0

    def _end(self) -> None:
        if self._lift is not None:
            self._take_control()
            self._lift()
            self._lift = None
            self._take_control()  # so that the next fit may set limits

    def _take_control(self) -> None:
        """Let any thread set limits.

        Otherwise threadpoolctl may ignore all threads but the first, and the fit that lifts the
        limit need not be the one that set it.
        """
        for library in _blas(per_thread=False).lib_controllers:
            if hasattr(library, "clear_controlling_thread"):
                library.clear_controlling_thread(force=True)


_SHARED = _SharedLimit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_SHARED.after_fork)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit the linear algebra of NumPy and SciPy to one thread.

    With more threads, results would depend on their number; and the matrices here are small.
    """
    _SHARED.enter()
    try:
        with _blas(per_thread=True).limit(limits=1):
            yield
    finally:
        _SHARED.leave()


def side_by_side(tasks: Sequence[Callable[[], T]], n_threads: int, watch: Watch) -> list[T]:
    """Run tasks on threads, and return their results. Ctrl-C stops all, and is kept in `watch`."""
    if n_threads == 1 or len(tasks) == 1:
        return [task() for task in tasks]
    with ThreadPoolExecutor(n_threads) as pool:
        futures = [pool.submit(task) for task in tasks]
        try:
            wait(futures)
        except BaseException as error:
            watch.fail(error)
        return [future.result() for future in futures]
