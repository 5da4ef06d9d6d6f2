"""Running problems side by side on threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from splinear.solvers.watch import Watch

__all__ = ["one_blas_thread", "side_by_side"]

T = TypeVar("T")


@cache
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep NumPy's and SciPy's linear algebra to one thread.

    With more its results would depend on their number, and its matrices here are small.
    """
    limits: AbstractContextManager[Any] = _thread_pools().limit(limits=1, user_api="blas")
    return limits


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
