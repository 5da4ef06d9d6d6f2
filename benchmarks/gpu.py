"""Fits, predictions and kernels on a GPU, against the processor and the GPU's memory.

python benchmarks/gpu.py --quick         small tables: half a minute
python benchmarks/gpu.py                 needs SPLINEAR_DATA: three minutes
python benchmarks/gpu.py --output docs   writes docs/gpu.md, too

Needs an NVIDIA GPU and `pip install 'splinear[cuda]'`. X lies in the GPU's memory before a fit is
timed, and every fit is made once before, so that kernels are compiled; then the median counts. Each
has a process of its own, `gpu_fit.py`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import command
import numpy as np
import report
from gpu_fit import COLUMNS, LONGEST, N_FITS, TASKS, Fit, cp, n_long, waves  # or it says why not

from splinear import AdditiveClassifier, AdditiveSVC
from splinear.objective.gpu.cuda import CudaBackend, CudaCells
from splinear.objective.gpu.finding import cuda_backend
from splinear.terms import Spline

N_TIMES = 10
SETS = ("mnist", "covtype")
MOST_SECONDS = {"mnist": 0.5, "covtype": 0.5, "long": 10.0}

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
and is done once per fit.

The last lines are what solvers do besides passes over rows. For *Hessians of classes*, the
functions of rows are first multiplied by the weights of every class, in half precision; that takes
about as long as the products themselves. *Inverse factors* of small matrices are a chain of steps
that wait for each other."""


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


def fitted(name: str, *, quick: bool) -> Fit:
    """Fit on the GPU and on the processor, in another process."""
    script = Path(__file__).with_name("gpu_fit.py")
    call = [sys.executable, str(script), name, *(["--quick"] if quick else [])]
    run = subprocess.run(call, stdout=subprocess.PIPE, text=True, check=True)
    found = Fit(**json.loads(run.stdout.splitlines()[-1]))
    print(f"{found.name}: {found.seconds:.2f} s, on the processor {found.on_cpu}", flush=True)
    return found


def kernels(name: str, n: int, columns: int, n_bins: int, n_outputs: int, speed: float) -> Any:
    """Return lines of the table of kernels, for rows of one shape."""
    backend, X = cuda_backend("cuda"), cp.random.random((n, columns), dtype=np.float32)
    assert isinstance(backend, CudaBackend)
    some = X[:2_000].get()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AdditiveSVC(Spline(n_bins=n_bins, knots="uniform"), C=1.0, max_iter=1)
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


def solver_kernels(speed: float) -> Any:
    """Return lines of the table for what solvers do besides passes over rows."""
    backend, random = cuda_backend("cuda"), cp.random.default_rng(0)
    m, of_classes, n_classes = 800, 9_600, 7
    design = random.random((of_classes, m), dtype=np.float32)
    weights = random.random((n_classes, of_classes))
    H = (backend.grams(design, weights) + 100.0 * cp.eye(m)).astype(np.float32)
    calls = {
        "Hessians of classes": (
            lambda: backend.grams(design, weights), design.nbytes + H.nbytes, of_classes, n_classes
        ),
        "inverse factors": (
            lambda: backend.inverse_factors(H.copy()), 2 * H.nbytes, m, n_classes
        ),
    }  # fmt: skip
    lines = []
    for kernel, (call, n_bytes, n_rows, n_own) in calls.items():
        spent, bound = timed(call), n_bytes / speed
        numbers = (bound, np.nan, spent, spent / bound)
        shown = (report.number(None if np.isnan(x) else x, ".3g") for x in numbers)
        lines.append([kernel, f"{n_rows:,}", str(n_own), *shown])
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
    asked = command.chosen(parser, given.sets, SETS, SETS)
    fits, bars = [], []
    for name in TASKS:
        if name in SETS and name not in asked:
            continue
        fits.append(fitted(name, quick=given.quick))
        if name in MOST_SECONDS:
            label = f"{fits[-1].name}: seconds"
            bars.append(report.Bar(label, fits[-1].seconds, most=MOST_SECONDS[name]))
    speed, n = bandwidth(), n_long(given.quick)
    rows, target = waves(n)
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
    lines += solver_kernels(speed)
    ratio = scoring / reading
    device = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    table = [
        [
            "fit",
            "GPU, s",
            "least",
            "first",
            "gap",
            "within tol",
            "passes",
            "processor, s",
            "objectives differ by",
        ]
    ]
    table += [
        [
            fit.name,
            f"{fit.seconds:.2f}",
            f"{fit.least:.2f}",
            f"{fit.first:.1f}",
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
            f"Seconds on the GPU are the median of {N_FITS} fits, and beside it the *least* of "
            "them. The *first* fit compiles kernels; CuPy keeps them for later processes. Each "
            "line is measured in a process of its own.",
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
