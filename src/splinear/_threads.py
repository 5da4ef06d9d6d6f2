"""Work in NumPy that is divided among threads: for functions that let go of Python's lock."""

from __future__ import annotations

import _thread
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

__all__ = ["on_threads"]

Item = TypeVar("Item")
Found = TypeVar("Found")

PAUSE = 5e-5  # seconds, while others end what they have begun


def on_threads(work: Callable[[Item], Found], items: Sequence[Item], n_threads: int) -> list[Found]:
    """Return work(item) of every item, in order. What is found must not depend on the threads.

    This thread works, too, and waits for nobody who has not begun: a thread that cannot be started
    for want of memory would be waited for without end.
    """
    if min(n_threads, len(items)) <= 1:
        return [work(item) for item in items]
    left = deque(enumerate(items))
    found: list[Found | None] = [None] * len(items)
    ended = [False] * len(items)
    errors: list[BaseException] = []

    def help_out() -> None:
        while left and not errors:
            try:
                k, item = left.popleft()
            except IndexError:  # somebody else has just taken the last one
                return
            try:
                found[k] = work(item)
                ended[k] = True
            except BaseException as error:
                errors.append(error)

    for _ in range(min(n_threads, len(items)) - 1):
        try:
            _thread.start_new_thread(help_out, ())
        except (RuntimeError, MemoryError):
            break
    try:
        help_out()
        while not errors and not all(ended):
            time.sleep(PAUSE)
    finally:
        left.clear()
    if errors:
        raise errors[0]
    return found  # type: ignore[return-value]
