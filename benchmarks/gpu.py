"""Fits, predictions and kernels on a GPU, against the processor and the GPU's memory.

python benchmarks/gpu.py --quick         small tables: half a minute
python benchmarks/gpu.py                 needs SPLINEAR_DATA: two minutes
python benchmarks/gpu.py --output docs   writes docs/gpu.md, too

Needs an NVIDIA GPU and `pip install 'splinear[cuda]'`. X lies in the GPU's memory before a fit is
timed, and every fit is made once before, so that kernels are compiled; then the median counts.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import command
import numpy as np
import report
import sets
from sklearn.base import BaseEstimator, clone

from splinear import AdditiveClassifier, AdditiveSVC
from splinear.devices.cuda import CudaBackend, CudaCells
from splinear.devices.finding import NoDeviceError, cuda_backend
from splinear.terms import Spline

try:
    cuda_backend("cuda")
    import cupy as cp
except (ImportError, NoDeviceError) as error:
    raise SystemExit(str(error)) from None

N_TIMES, N_FITS = 10, 5
SETS = ("mnist", "covtype")
ROWS, QUICK_ROWS, COLUMNS = 10_000_000, 200_000, 100
LONGEST = 10.0  # seconds that a fit is given, on the GPU or on the processor

INTRODUCTION = """\
Fits and kernels on a GPU ({device}), and the same fits on all cores of the processor in the same
run. `python benchmarks/gpu.py --output docs` writes this page on a machine with a GPU.

X is in the memory of the GPU before the clock starts, and an earlier fit has compiled the kernels.
Gaps are certified on X itself in both cases. Each fit may take {longest:g} s; *within tol* says
whether that was enough. *bound* is the time to read and write the bytes that a kernel needs, at the
bandwidth with which the GPU reads an array, {bandwidth:,.0f} GB/s. *ms* is the median of {n_times}
runs, including the copy of tables to the GPU or of sums from it."""

WHY = """\
Codes are small: 2 bytes, for which a kernel looks up, or adds to, two entries of a table per output
(three, for blocks). These tables are in the memory that the threads of a processor share, and
*tables* is the time that their entries take there, at 128 bytes per clock and processor; sums and
blocks read an entry and write it again. With several outputs that, and not the bandwidth of the
bound, is the least that these kernels can take. What they take beyond it are the instructions that
find an entry, and waiting: for sums and blocks every warp has tables of its own, so that numbers
are added up in the same order every time, and few warps have room at once; then the tables of all
warps are added up and sent to the host. *coding* finds the place on an axis in double precision,
and is done once per fit."""


@dataclass
class Fit:
    """A fit on the GPU, and on the processor."""

    name: str
    seconds: float
    gap: float
    n_iter: int
    is_done: bool
    on_cpu: float | None
    difference: float | None  # of the objectives, relative


def timed(call: Callable[[], object], n: int = N_TIMES) -> float:
    """Return milliseconds of the GPU: the median."""
    call()
    begin, end, spent = cp.cuda.Event(), cp.cuda.Event(), []
    for _ in range(n):
        begin.record()
        call()
        end.record()
        end.synchronize()
        spent.append(cp.cuda.get_elapsed_time(begin, end))
    return float(np.median(spent))


def bandwidth() -> float:
    """Return bytes per millisecond at which an array is read."""
    array = cp.ones(2**30, dtype=np.float32)
    return float(array.nbytes / timed(array.sum))


def fitted(name: str, model: BaseEstimator, X: Any, y: Any, cpu: bool = True) -> Fit:
    """Fit on the GPU, the first time to compile kernels, and on the processor."""
    there, spent = cp.asarray(X), []
    for _ in range(1 + N_FITS):
        own = clone(model).set_params(device="cuda", n_jobs=-1, time_limit=LONGEST)
        spent.append(fit_seconds(own, there, y))
    seconds = float(np.median(spent[1:]))
    on_cpu = difference = None
    if cpu:
        here = clone(model).set_params(device="cpu", n_jobs=-1, time_limit=LONGEST)
        on_cpu = fit_seconds(here, cp.asnumpy(X), y)
        difference = abs(own.objective_ / here.objective_ - 1)
    print(f"{name}: {seconds:.2f} s, on the processor {on_cpu}", flush=True)
    return Fit(name, seconds, own.dual_gap_, own.n_iter_, own.certified_, on_cpu, difference)


def fit_seconds(model: BaseEstimator, X: Any, y: Any) -> float:
    """Fit, wait for the GPU, and return seconds."""
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    cp.cuda.Device().synchronize()
    return time.perf_counter() - begin


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


def kernels(name: str, n: int, columns: int, n_bins: int, n_outputs: int, speed: float) -> Any:
    """Return lines of the table of kernels, for rows of one shape."""
    backend, X = cuda_backend("cuda"), cp.random.random((n, columns), dtype=np.float32)
    assert isinstance(backend, CudaBackend)
    some = X[:2_000].get()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AdditiveSVC(Spline(n_bins=n_bins, knots="uniform"), max_iter=1)
        model.fit(some, some[:, 0] > 0.5)
    (group,) = model._model.layout.groups
    cells: CudaCells = backend.coded(group, n)
    places = np.arange(n)
    tables = np.random.default_rng(0).normal(size=(n_outputs, *group.shape))
    curves, R = backend.curves(group, tables), cp.random.random((n_outputs, n))
    codes, rows, entry = 2 * n * columns, 8 * n * n_outputs, 4 * n * columns * n_outputs
    calls = {
        "coding": (lambda: cells.fill(X, places), 4 * n * columns + codes + 8 * n, 0),
        "scores of codes": (lambda: cells.scores(tables), codes + rows, 2 * entry),
        "sums of codes": (lambda: cells.sums(R).get(), codes + rows, 4 * entry),
        "blocks of codes": (lambda: cells.blocks(R).get(), codes + rows, 6 * entry),
        "scores of floats": (lambda: curves.scores(X), 2 * codes + rows, 2 * entry),
    }
    lines = []
    for kernel, (call, n_bytes, shared) in calls.items():
        spent, bound = timed(call), n_bytes / speed
        numbers = (bound, shared / shared_speed(backend), spent, spent / bound)
        lines.append([kernel, name, str(n_outputs), *(f"{value:.3g}" for value in numbers)])
    return lines


def shared_speed(backend: CudaBackend) -> float:
    """Return bytes per millisecond of the memory that threads share, all processors together."""
    clock = cp.cuda.Device().attributes["ClockRate"]  # per millisecond
    return float(128 * clock * backend.n_processors)


def extremes(lines: list[list[str]]) -> str:
    """Say which kernels are nearest to the bound, and farthest from it."""
    ordered = sorted(lines, key=lambda line: float(line[-1]))
    ends = [f"{line[0]} ({line[1]}), {line[-1]} times" for line in (ordered[0], ordered[-1])]
    return f"Nearest to the bound: {ends[0]}. Farthest from it: {ends[1]}."


def predictions(rows: Any, target: Any) -> tuple[float, float]:
    """Return milliseconds of the scores, and of the classes, of rows on the GPU; uniform knots."""
    model = AdditiveClassifier(Spline(n_bins=20, knots="uniform"), C=1e-3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows[:20_000].get(), target[:20_000])
    return timed(lambda: model.decision_function(rows)), timed(lambda: model.predict(rows))


def main() -> None:
    """Run what was asked for and print it."""
    parser = command.make_parser(__doc__, quick="small tables", output="folder for gpu.md")
    parser.add_argument("--sets", help=f"which of {', '.join(SETS)} are fitted; all by default")
    given = parser.parse_args()
    speed, n = bandwidth(), QUICK_ROWS if given.quick else ROWS
    limit = 5_000 if given.quick else None
    asked = command.chosen(parser, given.sets, SETS, SETS)
    fits, bars = [], []
    softmax = AdditiveClassifier(random_state=0)
    if "mnist" in asked:
        X, y, *_ = sets.mnist(limit)
        svc = AdditiveSVC(tol=1e-2, random_state=0)
        fits.append(fitted("MNIST pyramids, ten classes, AdditiveSVC", svc, X, y))
        bars.append(report.Bar(f"{fits[-1].name}: seconds", fits[-1].seconds, most=0.5))
    if "covtype" in asked:
        X, y, *_ = sets.covtype(limit)
        X = np.ascontiguousarray(X, dtype=np.float32)
        fits.append(fitted("covtype, seven classes, AdditiveClassifier", softmax, X, y))
        bars.append(report.Bar(f"{fits[-1].name}: seconds", fits[-1].seconds, most=0.5))
    rows, target = waves(n)
    name = f"{n:,} x {COLUMNS}, two classes, AdditiveClassifier"
    fits.append(fitted(name, softmax, rows, target, cpu=False))
    bars.append(report.Bar(f"{name}: seconds", fits[-1].seconds, most=10.0))
    with_pairs, classes = products(n // 10)
    name = f"{len(with_pairs):,} x 20, two classes, two pairs of 190 looked for"
    pairs = AdditiveClassifier(interactions=2, random_state=0)
    fits.append(fitted(name, pairs, with_pairs, classes))
    (scoring, naming), reading = predictions(rows, target), rows.nbytes / speed
    del rows
    shapes = [
        ("MNIST", 60_000, 2_172, 10, 10),
        ("covtype", 581_012, 54, 20, 7),
        ("long", n, COLUMNS, 20, 1),
    ]
    lines = [["kernel", "rows", "outputs", "bound, ms", "tables, ms", "ms", "to the bound"]]
    for shape in shapes:
        lines += kernels(*shape, speed)
    ratio = scoring / reading
    device = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    table = [
        ["fit", "GPU, s", "gap", "within tol", "passes", "processor, s", "objectives differ by"]
    ]
    table += [
        [
            fit.name,
            f"{fit.seconds:.2f}",
            f"{fit.gap:.1e}",
            "yes" if fit.is_done else "no",
            str(fit.n_iter),
            report.number(fit.on_cpu, ".1f"),
            report.number(fit.difference, ".1e"),
        ]
        for fit in fits
    ]
    bars.append(report.Bar("predictions / reading the values", ratio, most=2.0))
    said = f"`decision_function` of {n:,} x {COLUMNS} float32 values on the GPU, uniform knots: "
    said += f"{scoring:.2f} ms; `predict`: {naming:.2f} ms. Reading them once: {reading:.2f} ms."
    report.publish(
        [
            "# On a GPU",
            INTRODUCTION.format(
                device=device,
                bandwidth=speed / 1e6,
                n_times=N_TIMES,
                longest=LONGEST,
            ),
            report.machine_block(),
            "## Fits",
            report.markdown(table),
            f"Seconds on the GPU are the median of {N_FITS} fits.",
            "## Predictions",
            said,
            "## Kernels",
            report.markdown(lines),
            extremes(lines[1:]),
            WHY,
            "## Bars",
            report.items(bars),
        ],
        given.output,
        "gpu.md",
    )


if __name__ == "__main__":
    main()
