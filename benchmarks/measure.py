"""Measurements, each in a fresh process with one thread: seconds, peak memory, passes, scoring.

`run` starts this file anew, hands it a task as JSON on standard input and reads the answer, JSON on
the last line of standard output.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Task = dict[str, Any]
Answer = dict[str, Any]

ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
    ),
    "1",
)

REPEAT_WITHIN = 15.0  # seconds after which a fit is not repeated again


class MeasurementError(RuntimeError):
    """A measurement that did not end: out of time, out of memory, or an error."""


def run(task: Task, limit: float) -> Answer:
    """Carry out a task in a process of its own, for at most `limit` seconds."""
    try:
        process = subprocess.run(
            [sys.executable, __file__],
            input=json.dumps(task),
            capture_output=True,
            text=True,
            timeout=limit,
            env=os.environ | ONE_THREAD,
        )
    except subprocess.TimeoutExpired:
        raise MeasurementError(f"over {limit:g} s") from None
    if process.returncode != 0:
        said = process.stderr.strip().splitlines()
        raise MeasurementError(said[-1] if said else f"ended with status {process.returncode}")
    answer: Answer = json.loads(process.stdout.strip().splitlines()[-1])
    return answer


# What happens in the fresh process.


def fit(task: Task) -> Answer:
    """Fit a rival to prepared data: median seconds, peak memory beyond the data, quality."""
    import rivals

    folder, positive = Path(task["folder"]), task["positive"]
    rival = rivals.make(task["rival"], rivals.Curves(task["n_bins"], task["order"]))
    kind = "unit" if rival.wants_unit_scale else "values"
    X, y = _load(folder, f"train_{kind}", positive, task["n_rows"])
    rival.fit(*_sample(X, y, 200))  # lazy imports and allocators warmed up
    seconds, memory = _fits(lambda: rival.fit(X, y), task["repeats"])
    found = rival.certificate(X, y)
    X_test, y_test = _load(folder, f"test_{kind}", positive, None)
    return {
        "name": rival.name,
        "n_rows": len(X),
        "seconds": statistics.median(seconds),
        "repeats": len(seconds),
        "memory": memory,
        "objective": found.objective,
        "gap": found.gap,
        "n_iter": found.n_iter,
        "accuracy": float(np.mean((rival.scores(X_test) > 0) == (y_test > 0))),
    }


def probabilities(task: Task) -> Answer:
    """Fit a rival on tables: least seconds, peak memory beyond the data, AUC and log-loss."""
    import tabular_rivals
    from sklearn.metrics import log_loss, roc_auc_score

    folder = Path(task["folder"])
    rival = tabular_rivals.RIVALS[task["rival"]].make()
    X, y = _load_table(folder, "train")
    rival.fit(*_sample(X, y, 200))  # lazy imports and allocators warmed up
    seconds, memory = _fits(lambda: rival.fit(X, y), task["repeats"])
    X_test, y_test = _load_table(folder, "test")
    found = np.asarray(rival.probabilities(X_test), dtype=np.float64)
    return {
        "seconds": min(seconds),
        "repeats": len(seconds),
        "memory": memory,
        "auc": float(roc_auc_score(y_test, found)),
        "log_loss": float(log_loss(y_test, found)),
    }


def solver(task: Task) -> Answer:
    """Minimize one objective by one solver: least seconds, memory, what was reached, steps."""
    import solvers

    rival = solvers.RIVALS[task["rival"]].make()
    X, y = _load_table(Path(task["folder"]), "train", task["positive"])
    rival.fit(*_sample(X, y, 200))  # lazy imports and allocators warmed up
    seconds, memory = _fits(lambda: rival.fit(X, y), task["repeats"])
    return {
        "seconds": min(seconds),
        "memory": memory,
        "objective": rival.objective(X, y),
        "n_iter": rival.n_iter,
    }


def passes(task: Task) -> Answer:
    """Seconds of one pass over rows of noise with random labels, for a list of shapes.

    The shapes take turns, so that a slow moment of the machine does not fall on one of them only;
    each gets its median.
    """
    shapes = [tuple(shape) for shape in task["shapes"]]
    found: dict[tuple[int, ...], list[float]] = {shape: [] for shape in shapes}
    for _ in range(task["repeats"]):
        for shape in found:
            found[shape].append(_seconds_a_pass(*shape))
    return {"seconds": [statistics.median(found[shape]) for shape in shapes]}


def scoring(task: Task) -> Answer:
    """Seconds of decision_function with one and with two threads, and of NumPy's sum."""
    from splinear import AdditiveSVC
    from splinear.terms import Spline

    n_rows, n_columns = task["shape"]
    X, y = _noise(n_rows, n_columns)
    model = AdditiveSVC(Spline(10, knots="uniform"), C=1.0, max_iter=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:1000], y[:1000])
    jobs: dict[str, Callable[[], object]] = {
        "sum": X.sum,
        "one_thread": lambda: model.set_params(n_jobs=1).decision_function(X),
        "two_threads": lambda: model.set_params(n_jobs=2).decision_function(X),
    }
    found: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(1 + task["repeats"]):
        for name, job in jobs.items():
            found[name].append(_seconds(job))
    return {name: statistics.median(seconds[1:]) for name, seconds in found.items()}


class PeakMemory:
    """Bytes by which the process's resident memory rose above where it stood on entry.

    Linux resets the high-water mark on request. Where it does not, the mark of the whole process
    is taken, which may be too high.
    """

    bytes: int | None = None

    def __enter__(self) -> PeakMemory:
        gc.collect()
        try:
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            self._can_reset = False
        else:
            self._can_reset = True
        self._before = _memory_status("VmRSS")
        return self

    def __exit__(self, *exception: object) -> None:
        if self._before is None:
            return
        peak = _memory_status("VmHWM") if self._can_reset else None
        if peak is None:
            peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.bytes = max(0, peak - self._before)


def _seconds_a_pass(n_rows: int, n_columns: int, n_bins: int, n_passes: int = 5) -> float:
    """Fit so few passes that none is the last; the first, with its preparations, is left out."""
    from splinear import AdditiveSVC
    from splinear.terms import Spline

    X, y = _noise(n_rows, n_columns)
    curve = Spline(n_bins, knots="uniform")
    times: list[float] = []
    model = AdditiveSVC(
        curve,
        C=1.0,
        tol=1e-3,
        max_iter=n_passes,
        random_state=0,
        callback=lambda progress: times.append(time.perf_counter()),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return (times[-1] - times[0]) / (len(times) - 1)


def _noise(n_rows: int, n_columns: int) -> tuple[Array, Array]:
    random = np.random.default_rng(0)
    return random.random((n_rows, n_columns), dtype=np.float32), random.integers(0, 2, n_rows)


def _load(folder: Path, name: str, positive: int, n_rows: int | None) -> tuple[Array, Array]:
    """Read the features into memory, and the labels as 1 for the positive class, else -1."""
    X = np.load(folder / f"{name}.npy")
    y = np.where(np.load(folder / f"{name.split('_')[0]}_target.npy") == positive, 1, -1)
    return (X, y) if n_rows is None else _sample(X, y, n_rows)


def _load_table(folder: Path, part: str, positive: int = 1) -> tuple[Array, Array]:
    """Read the features as float64, which every rival takes, and the labels as 0 and 1."""
    X, y = _load(folder, f"{part}_values", positive, None)
    return X.astype(np.float64), (y > 0).astype(np.int64)


def _sample(X: Array, y: Array, n_rows: int) -> tuple[Array, Array]:
    """Take rows at equal distances; rows may be ordered by class."""
    if n_rows >= len(X):
        return X, y
    rows = np.linspace(0, len(X) - 1, n_rows).astype(np.intp)
    return X[rows], y[rows]


def _fits(job: Callable[[], object], repeats: int) -> tuple[list[float], int | None]:
    """Seconds of one fit after the other, fewer when they are long, and bytes of the first."""
    with PeakMemory() as memory:
        seconds = [_seconds(job)]
    while len(seconds) < repeats and sum(seconds) < REPEAT_WITHIN:
        seconds.append(_seconds(job))
    return seconds, memory.bytes


def _seconds(job: Callable[[], object]) -> float:
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def _memory_status(field: str) -> int | None:
    """Read a field of /proc/self/status, in bytes; None where there is no such file."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(field))


if __name__ == "__main__":
    task = json.load(sys.stdin)
    kinds = (fit, probabilities, solver, passes, scoring)
    answer = {kind.__name__: kind for kind in kinds}[task["kind"]](task)
    print("\n" + json.dumps(answer))
