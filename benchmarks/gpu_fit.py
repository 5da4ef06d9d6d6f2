"""One fit on a GPU, and on the processor, in a process of its own: what it took, as JSON.

python benchmarks/gpu_fit.py covtype           needs SPLINEAR_DATA and a GPU
python benchmarks/gpu_fit.py long --quick      fewer rows

`gpu.py` starts this for every fit, so that none finds the GPU's memory as another has left it.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import sets
from sklearn.base import BaseEstimator, clone

from splinear import AdditiveClassifier, AdditiveSVC
from splinear.objective.gpu.finding import NoDeviceError, cuda_backend

try:
    cuda_backend("cuda")
    import cupy as cp
except (ImportError, NoDeviceError) as error:
    raise SystemExit(str(error)) from None

N_FITS = 9  # after the first, which compiles kernels
ROWS, QUICK_ROWS, COLUMNS = 10_000_000, 200_000, 100
QUICK_SET = 5_000  # rows of a data set
LONGEST = 10.0  # seconds that a fit is given, on the GPU or on the processor


@dataclass
class Task:
    """What is fitted, and to what."""

    name: str
    model: BaseEstimator
    X: Any
    y: Any
    on_cpu: bool = True


@dataclass
class Fit:
    """A fit on the GPU, and on the processor."""

    name: str
    seconds: float  # the median of all but the first
    least: float
    first: float  # which compiles kernels, unless CuPy has kept them
    gap: float
    n_iter: int
    is_done: bool
    on_cpu: float | None
    difference: float | None  # of the objectives, relative


def fitted(task: Task) -> Fit:
    """Fit on the GPU, the first time to compile kernels, and on the processor."""
    there, spent = cp.asarray(task.X), []
    for _ in range(1 + N_FITS):
        own = clone(task.model).set_params(device="cuda", n_jobs=-1, time_limit=LONGEST)
        spent.append(fit_seconds(own, there, task.y))
    on_cpu = difference = None
    if task.on_cpu:
        here = clone(task.model).set_params(device="cpu", n_jobs=-1, time_limit=LONGEST)
        on_cpu = fit_seconds(here, cp.asnumpy(task.X), task.y)
        difference = float(abs(own.objective_ / here.objective_ - 1))
    seconds, least = float(np.median(spent[1:])), min(spent[1:])
    found = (own.dual_gap_, int(own.n_iter_), bool(own.certified_))
    return Fit(task.name, seconds, least, spent[0], *found, on_cpu, difference)


def fit_seconds(model: BaseEstimator, X: Any, y: Any) -> float:
    """Fit, wait for the GPU, and return seconds."""
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    cp.cuda.Device().synchronize()
    return time.perf_counter() - begin


def n_long(quick: bool) -> int:
    """Return the rows of the long table."""
    return QUICK_ROWS if quick else ROWS


def waves(n: int) -> tuple[Any, Any]:
    """Return rows on the GPU of which some columns say something, and classes."""
    random = cp.random.default_rng(0)
    X = random.random((n, COLUMNS), dtype=np.float32)
    score = sum(cp.sin(6 * X[:, j]) * (1 if j % 3 else -1) for j in range(20))
    noise = cp.log(1.0 / random.random(n) - 1.0)  # logistic
    return X, (score - score.mean() + noise > 0).astype(np.int8).get()


def products(n: int) -> tuple[Any, Any]:
    """Return rows on the GPU of which two products of two columns say something, and classes."""
    random = cp.random.default_rng(0)
    X = random.random((n, 20), dtype=np.float32)
    score = cp.sin(6 * X[:, 0]) + 12 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5)
    score += 12 * (X[:, 2] - 0.5) * (X[:, 3] - 0.5)
    noise = cp.log(1.0 / random.random(n) - 1.0)  # logistic
    return X, (score + noise > 0).astype(np.int8).get()


def mnist(quick: bool) -> Task:
    """Return digits as gradient pyramids, ten classes against the rest."""
    X, y, *_ = sets.mnist(QUICK_SET if quick else None)
    model = AdditiveSVC(C=1.0, tol=1e-2, random_state=0)
    return Task("MNIST pyramids, ten classes, AdditiveSVC", model, X, y)


def covtype(quick: bool) -> Task:
    """Return forest cover, seven classes by softmax."""
    X, y, *_ = sets.covtype(QUICK_SET if quick else None)
    X = np.ascontiguousarray(X, dtype=np.float32)
    name = "covtype, seven classes, AdditiveClassifier"
    return Task(name, AdditiveClassifier(random_state=0), X, y)


def long(quick: bool) -> Task:
    """Return a long table of two classes, which the processor is not given."""
    X, y = waves(n_long(quick))
    name = f"{len(X):,} x {COLUMNS}, two classes, AdditiveClassifier"
    return Task(name, AdditiveClassifier(random_state=0), X, y, on_cpu=False)


def pairs(quick: bool) -> Task:
    """Return a table in which pairs are looked for."""
    X, y = products(n_long(quick) // 10)
    name = f"{len(X):,} x 20, two classes, two pairs of 190 looked for"
    return Task(name, AdditiveClassifier(interactions=2, random_state=0), X, y)


TASKS: dict[str, Callable[[bool], Task]] = {
    "mnist": mnist,
    "covtype": covtype,
    "long": long,
    "pairs": pairs,
}


def main() -> None:
    """Fit what was asked for, and print what it took."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=list(TASKS))
    parser.add_argument("--quick", action="store_true", help="fewer rows")
    given = parser.parse_args()
    print(json.dumps(asdict(fitted(TASKS[given.name](given.quick)))))


if __name__ == "__main__":
    main()
