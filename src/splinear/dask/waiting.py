"""Waiting for workers' results, which ends if there are no workers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, TypeAlias

from distributed import Client, Future, TimeoutError, wait

from splinear._warning import warn

__all__ = ["Waiting", "release"]

Futures: TypeAlias = Sequence[Future[Any]]

POLL = 1.0  # seconds between two looks at the workers
WARNED = 30.0  # seconds without workers before a warning
PATIENCE = 300.0  # seconds without workers before an error


class Waiting:
    """Waits for results while the cluster has workers, or may have some soon."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._empty_since: float | None = None
        self._has_warned = False

    def look(self, futures: Futures) -> set[str] | None:
        """Wait for a moment; return None if all are done or one failed, and else the workers."""
        try:
            wait(futures, timeout=POLL)
        except TimeoutError:
            if any(own.status == "error" for own in futures):
                return None
            workers = set(self.client.nthreads())
            self._check(workers)
            return workers
        return None

    def until_done(self, futures: Futures) -> None:
        """Wait until all are done or one failed."""
        while self.look(futures) is not None:
            pass

    def _check(self, workers: set[str]) -> None:
        """Warn, and later raise, if there are no workers."""
        now = time.monotonic()
        if workers:
            self._empty_since = None
            return
        if self._empty_since is None:
            self._empty_since = now
        seconds = now - self._empty_since
        if seconds >= PATIENCE:
            raise RuntimeError(
                f"The client's cluster has had no workers for {seconds:.0f} seconds. Start some, "
                "as cluster.scale(2) does; the logs of workers that ended say why."
            )
        if seconds >= WARNED and not self._has_warned:
            self._has_warned = True
            warn(
                "The client's cluster has no workers; the fit waits for some. cluster.scale(2), "
                "for example, starts two.",
                UserWarning,
            )


def release(futures: Futures) -> None:
    """Let workers forget results, even if a traceback still refers to them."""
    for own in futures:
        own.release()
