"""One fit, measured, in a process of its own: benchmarks/large.py starts it.

python benchmarks/large_fit.py FOLDER N_ROWS MAX_MEMORY
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from splinear import AdditiveSVC
from splinear.terms import Spline

N_JOBS = 2


class Timed(AdditiveSVC):
    """Notes when the rows were coded."""

    def _prepare(self, *args: Any, **options: Any) -> Any:
        rows = super()._prepare(*args, **options)
        self.coded_ = time.perf_counter()
        self.rows_per_block_ = rows.plan.rows_per_block
        return rows


def status(field: str) -> int:
    """Read bytes from /proc: Linux only. (ru_maxrss would begin with the size of our parent.)"""
    lines = Path("/proc/self/status").read_text().splitlines()
    [line] = [line for line in lines if line.startswith(field)]
    return 1024 * int(line.split()[1])


class PrivateMemory(threading.Thread):
    """Watches the memory that is not a page of a file."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0

    def run(self) -> None:
        """Look ten times a second."""
        while True:
            self.peak = max(self.peak, status("RssAnon"))
            time.sleep(0.1)


def main() -> None:
    """Fit, and print what it took as JSON."""
    folder, n_rows, bound = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    X = np.load(folder / "X.npy", mmap_mode="r")[:n_rows]
    y = np.load(folder / "y.npy", mmap_mode="r")[:n_rows]
    before = status("VmRSS")
    private = PrivateMemory()
    private.start()
    began = time.perf_counter()
    max_memory = None if bound == "None" else bound
    model = Timed(Spline(20), C=1.0, max_memory=max_memory, n_jobs=N_JOBS, random_state=0).fit(X, y)
    ended = time.perf_counter()
    peak = status("VmHWM")
    print(
        json.dumps(
            {
                "coding": model.coded_ - began,
                "training": ended - model.coded_,
                "passes": model.n_iter_,
                "gap": model.dual_gap_,
                "objective": model.objective_,
                "rows_per_block": model.rows_per_block_,
                "peak": peak,
                "before": before,
                "private": private.peak,
                "accuracy": model.score(
                    np.load(folder / "X_test.npy"), np.load(folder / "y_test.npy")
                ),
            }
        )
    )


if __name__ == "__main__":
    main()
