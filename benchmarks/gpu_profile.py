"""Where the time of a fit on a GPU goes: seconds by function, and how often each was called.

python benchmarks/gpu_profile.py covtype           needs SPLINEAR_DATA and a GPU
python benchmarks/gpu_profile.py mnist --wait      after every call the GPU is waited for

Without --wait, time is that of the host: the GPU's own shows in whatever waits for it. With it,
calls of the backend take what they take, and the fit as a whole longer.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import time
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
import sets
from gpu_fit import cp, fit_seconds  # which says so if there is no GPU
from sklearn.base import BaseEstimator

from splinear import AdditiveClassifier, AdditiveSVC
from splinear.objective.gpu import cuda, steps, whole

CALLS = {
    cuda.CudaBackend: ("array", "numpy", "grams", "inverse_factors", "twice",
                       "class_moments", "class_shift"),
    cuda.CudaCells: ("fill", "some", "expanded", "scores", "sums", "blocks"),
    steps.DesignSteps: ("product", "preconditioned"),
    whole.Inverses: ("at",),
}  # fmt: skip


def model_of(name: str) -> tuple[BaseEstimator, Any, Any]:
    """Return what is fitted, and to what."""
    X, y, *_ = getattr(sets, name)(None)
    X = cp.asarray(np.ascontiguousarray(X, dtype=np.float32))
    made = {"device": "cuda", "n_jobs": -1, "random_state": 0}
    return (AdditiveSVC if name == "mnist" else AdditiveClassifier)(**made), X, y


def waited(spent: dict[str, list[float]], name: str, plain: Callable[..., Any]) -> Any:
    """Return a function that notes how long the GPU takes for a call, too."""

    @wraps(plain)
    def timed(*given: Any, **named: Any) -> Any:
        cp.cuda.Device().synchronize()
        begin = time.perf_counter()
        found = plain(*given, **named)
        cp.cuda.Device().synchronize()
        spent.setdefault(name, []).append(time.perf_counter() - begin)
        return found

    return timed


def main() -> None:
    """Run what was asked for and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=["mnist", "covtype"])
    parser.add_argument("--wait", action="store_true", help="wait for the GPU after every call")
    given = parser.parse_args()
    model, X, y = model_of(given.name)
    for _ in range(3):
        print(
            f"{fit_seconds(model, X, y):.3f} s, {model.n_iter_} passes, gap {model.dual_gap_:.1e}"
        )
    spent: dict[str, list[float]] = {}
    if given.wait:
        for owner, names in CALLS.items():
            for name in names:
                label = f"{getattr(owner, '__name__', owner)}.{name}"
                setattr(owner, name, waited(spent, label, getattr(owner, name)))
        print(f"{fit_seconds(model, X, y):.3f} s, waiting for every call")
        for label, own in sorted(spent.items(), key=lambda pair: -sum(pair[1])):
            print(f"{label:40} {len(own):6} calls {sum(own):8.3f} s {1e3 * np.median(own):8.3f} ms")
        return
    profile = cProfile.Profile()
    profile.enable()
    fit_seconds(model, X, y)
    profile.disable()
    for order in ("cumulative", "tottime"):
        pstats.Stats(profile).sort_stats(order).print_stats(45)


if __name__ == "__main__":
    main()
