"""Work in NumPy that is divided among threads: for functions that let go of Python's lock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["on_threads"]

Item = TypeVar("Item")
Found = TypeVar("Found")


def on_threads(work: Callable[[Item], Found], items: Sequence[Item], n_threads: int) -> list[Found]:
    """Return work(item) of every item, in order. What is found must not depend on the threads."""
    n = min(n_threads, len(items))
    if n <= 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(work, items))
