"""Seeds tried by a process of their own, as a crash would end that of the tests.

The process prints what went wrong, a line each.
"""

from __future__ import annotations

import faulthandler
import os
import resource
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

MOST_BYTES = 8 * 2**30  # of memory
MOST_SECONDS = 60  # of a seed
# Every thread reserves addresses, which count as memory: with one per processor, all there are.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}

Attempt = Callable[[int, Path], str | None]


def run_seeds(script: Path, first: int, last: int, folder: Path) -> None:
    """Let a script try seeds; an AssertionError if one of them went wrong."""
    run = subprocess.run(
        [sys.executable, str(script), str(first), str(last), str(folder)],
        capture_output=True,
        text=True,
        env=os.environ | ONE_THREAD,
    )
    seed = folder / "seed"
    at = seed.read_text() if seed.exists() else "none"
    assert run.returncode == 0, f"seed {at}: {run.stderr[-2000:]}"
    assert run.stdout == ""


def try_seeds(attempt: Attempt, arguments: list[str]) -> None:
    """Try all seeds; the one at hand is in a file, in case that there is a crash.

    `arguments` are the first seed, the one behind the last, and a folder. attempt(seed, folder)
    returns what was wrong.
    """
    first, last, folder = int(arguments[0]), int(arguments[1]), Path(arguments[2])
    faulthandler.enable()
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # which reserves terabytes of addresses
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    signal.signal(signal.SIGALRM, _too_slow)
    warnings.simplefilter("ignore")
    for seed in range(first, last):
        (folder / "seed").write_text(str(seed))
        wrong = attempt(seed, folder)
        if wrong is not None:
            print(f"seed {seed}: {wrong}", flush=True)


@contextmanager
def not_too_long() -> Iterator[None]:
    """End what takes too long by a RuntimeError."""
    signal.alarm(MOST_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)


def _too_slow(*_: object) -> None:
    raise RuntimeError(f"takes more than {MOST_SECONDS} s")
